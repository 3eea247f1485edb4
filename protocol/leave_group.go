package protocol

// LeaveGroup, key 13.
//
//	v0  group, one member id; its error is the top-level error
//	v1  throttle time in the response
//	v2  throttling after the response
//	v3  a list of members, each with its instance id and its own error (KIP-345)
//	v4  flexible
//	v5  a reason for each member (KIP-800)

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

const leaveGroupBatched = 3

type leaveGroup struct {
	version int16
	ev      group.Leave
}

func newLeaveGroup(msg *kmsg.LeaveGroupRequest) *leaveGroup {
	ev := group.Leave{Version: msg.Version, Group: strings.Clone(msg.Group)}
	if msg.Version < leaveGroupBatched {
		ev.Members = []group.LeaveMember{{MemberID: strings.Clone(msg.MemberID)}}
		return &leaveGroup{version: msg.Version, ev: ev}
	}
	ev.Members = make([]group.LeaveMember, len(msg.Members))
	for i, m := range msg.Members {
		ev.Members[i] = group.LeaveMember{
			MemberID:   strings.Clone(m.MemberID),
			InstanceID: clone(m.InstanceID),
			Reason:     strings.Clone(orEmpty(m.Reason)),
		}
	}
	return &leaveGroup{version: msg.Version, ev: ev}
}

func (l *leaveGroup) Event(id group.ReqID) group.Event {
	l.ev.Req = id
	return l.ev
}

func (l *leaveGroup) Answer(res group.Result) kmsg.Response {
	r := res.(group.LeaveResult)
	resp := kmsg.NewPtrLeaveGroupResponse()
	resp.Version = l.version
	resp.ErrorCode = int16(r.Code)
	if l.version < leaveGroupBatched {
		if r.Code == group.None && len(r.Members) > 0 {
			resp.ErrorCode = int16(r.Members[0].Code)
		}
		return resp
	}
	if plantLeaveMemberCode && len(r.Members) > 0 {
		resp.ErrorCode = int16(r.Members[0].Code)
	}
	resp.Members = make([]kmsg.LeaveGroupResponseMember, len(r.Members))
	for i, m := range r.Members {
		resp.Members[i] = kmsg.LeaveGroupResponseMember{MemberID: m.MemberID, InstanceID: m.InstanceID, ErrorCode: int16(m.Code)}
	}
	return resp
}

func (l *leaveGroup) Fail(code group.Code) kmsg.Response {
	return l.Answer(group.LeaveResult{Code: code})
}
