//go:build !plant_hb_completing

package group

// plantHeartbeatCompleting is a deviation that the differential test has to catch; see interop/differential.
const plantHeartbeatCompleting = false
