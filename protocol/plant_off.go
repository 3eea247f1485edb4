//go:build !plant_leave_member_code

package protocol

// plantLeaveMemberCode is a deviation that the differential test has to catch; see interop/differential.
const plantLeaveMemberCode = false
