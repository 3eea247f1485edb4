//go:build plant_join_v3_79

package group

const plantJoinV3 = true
