//go:build !plant_nosync

package raftstore

// plantNoSync is the planted fault of build tag plant_nosync: a log that is not synced.
const plantNoSync = false
