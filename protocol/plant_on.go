//go:build plant_leave_member_code

package protocol

const plantLeaveMemberCode = true
