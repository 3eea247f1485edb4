package protocol

// JoinGroup, key 11.
//
//	v0  group, session timeout, member id, protocol type, protocols; the rebalance timeout is the session timeout
//	v1  rebalance timeout
//	v2  throttle time in the response
//	v3  throttling after the response
//	v4  a dynamic member without an id is answered MEMBER_ID_REQUIRED (KIP-394)
//	v5  group instance id, also of the members in the response (KIP-345)
//	v6  flexible
//	v7  protocol type in the response; the protocol name there is nullable, and null where there is none
//	v8  reason (KIP-800)
//	v9  skip assignment in the response (KIP-814)

import (
	"bytes"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

type joinGroup struct {
	version int16
	ev      group.Join
}

func newJoinGroup(msg *kmsg.JoinGroupRequest, client group.Client, freshID string) *joinGroup {
	rebalance := msg.RebalanceTimeoutMillis
	if msg.Version == 0 {
		rebalance = msg.SessionTimeoutMillis
	}
	ev := group.Join{
		Version:          msg.Version,
		Group:            strings.Clone(msg.Group),
		MemberID:         strings.Clone(msg.MemberID),
		InstanceID:       clone(msg.InstanceID),
		Client:           group.Client{ID: strings.Clone(client.ID), Host: strings.Clone(client.Host)},
		SessionTimeout:   millis(msg.SessionTimeoutMillis),
		RebalanceTimeout: millis(rebalance),
		ProtocolType:     strings.Clone(msg.ProtocolType),
		Protocols:        make([]group.Protocol, len(msg.Protocols)),
		Reason:           strings.Clone(orEmpty(msg.Reason)),
		FreshID:          freshID,
	}
	for i, p := range msg.Protocols {
		ev.Protocols[i] = group.Protocol{Name: strings.Clone(p.Name), Metadata: bytes.Clone(p.Metadata)}
	}
	return &joinGroup{version: msg.Version, ev: ev}
}

func (j *joinGroup) Event(id group.ReqID) group.Event {
	j.ev.Req = id
	return j.ev
}

func (j *joinGroup) Answer(res group.Result) kmsg.Response {
	r := res.(group.JoinResult)
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Version = j.version
	resp.ErrorCode = int16(r.Code)
	resp.Generation = r.Generation
	resp.ProtocolType = r.ProtocolType
	resp.Protocol = r.ProtocolName
	if resp.Protocol != nil && *resp.Protocol == "" {
		resp.Protocol = nil // null from v7; kmsg writes "" before
	}
	resp.LeaderID = r.Leader
	resp.SkipAssignment = r.SkipAssignment
	resp.MemberID = r.MemberID
	resp.Members = make([]kmsg.JoinGroupResponseMember, len(r.Members))
	for i, m := range r.Members {
		resp.Members[i] = kmsg.JoinGroupResponseMember{MemberID: m.MemberID, InstanceID: m.InstanceID, ProtocolMetadata: m.Metadata}
	}
	return resp
}

func (j *joinGroup) Fail(code group.Code) kmsg.Response {
	return j.Answer(group.JoinResult{Code: code, Generation: -1, MemberID: j.ev.MemberID})
}
