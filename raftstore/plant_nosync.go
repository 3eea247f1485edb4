//go:build plant_nosync

package raftstore

// plantNoSync is a planted fault: the log is not synced, and `make durability` must notice.
const plantNoSync = true
