//go:build !plant_follower_rejoin

package group

// plantFollowerRejoin is a deviation that the differential test has to catch; see interop/differential.
const plantFollowerRejoin = false
