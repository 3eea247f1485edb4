//go:build plant_follower_rejoin

package group

const plantFollowerRejoin = true
