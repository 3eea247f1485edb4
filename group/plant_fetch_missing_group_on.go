//go:build plant_fetch_missing_group

package group

const plantFetchMissingGroup = true
