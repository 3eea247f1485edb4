//go:build !plant_fetch_missing_group

package group

// plantFetchMissingGroup is a deviation that the differential test has to catch; see interop/differential.
const plantFetchMissingGroup = false
