//go:build !plant_join_v3_79

package group

// plantJoinV3 is a deviation that the differential test has to catch; see interop/differential.
const plantJoinV3 = false
