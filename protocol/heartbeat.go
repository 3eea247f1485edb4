package protocol

// Heartbeat, key 12.
//
//	v0  group, generation, member id
//	v1  throttle time in the response
//	v2  throttling after the response
//	v3  group instance id (KIP-345)
//	v4  flexible

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

type heartbeat struct {
	msg  *kmsg.HeartbeatRequest
	resp kmsg.HeartbeatResponse
}

func newHeartbeat(msg *kmsg.HeartbeatRequest) *heartbeat {
	h := &heartbeat{msg: msg}
	h.resp.Version = msg.Version
	return h
}

func (h *heartbeat) Event(id group.ReqID) group.Event {
	return group.Heartbeat{
		Req:        id,
		Group:      h.msg.Group,
		MemberID:   h.msg.MemberID,
		InstanceID: h.msg.InstanceID,
		Generation: h.msg.Generation,
	}
}

func (h *heartbeat) Answer(res group.Result) kmsg.Response {
	return h.Fail(res.(group.HeartbeatResult).Code)
}

func (h *heartbeat) Fail(code group.Code) kmsg.Response {
	h.resp.ErrorCode = int16(code)
	return &h.resp
}
