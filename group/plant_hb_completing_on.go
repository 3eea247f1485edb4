//go:build plant_hb_completing

package group

const plantHeartbeatCompleting = true
