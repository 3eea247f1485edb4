package protocol

// SyncGroup, key 14.
//
//	v0  group, generation, member id, the leader's assignments
//	v1  throttle time in the response
//	v2  throttling after the response
//	v3  group instance id (KIP-345)
//	v4  flexible
//	v5  protocol type and name, in the request and in the response (null on an error)

import (
	"bytes"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

type syncGroup struct {
	version int16
	ev      group.Sync
}

func newSyncGroup(msg *kmsg.SyncGroupRequest) *syncGroup {
	ev := group.Sync{
		Version:      msg.Version,
		Group:        strings.Clone(msg.Group),
		MemberID:     strings.Clone(msg.MemberID),
		InstanceID:   clone(msg.InstanceID),
		Generation:   msg.Generation,
		ProtocolType: clone(msg.ProtocolType),
		ProtocolName: clone(msg.Protocol),
	}
	if len(msg.GroupAssignment) > 0 {
		ev.Assignments = make([]group.Assignment, len(msg.GroupAssignment))
	}
	for i, a := range msg.GroupAssignment {
		ev.Assignments[i] = group.Assignment{MemberID: strings.Clone(a.MemberID), Bytes: bytes.Clone(a.MemberAssignment)}
	}
	return &syncGroup{version: msg.Version, ev: ev}
}

func (s *syncGroup) Event(id group.ReqID) group.Event {
	s.ev.Req = id
	return s.ev
}

func (s *syncGroup) Answer(res group.Result) kmsg.Response {
	r := res.(group.SyncResult)
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.Version = s.version
	resp.ErrorCode = int16(r.Code)
	resp.ProtocolType = r.ProtocolType
	resp.Protocol = r.ProtocolName
	resp.MemberAssignment = r.Assignment
	return resp
}

func (s *syncGroup) Fail(code group.Code) kmsg.Response {
	return s.Answer(group.SyncResult{Code: code})
}
