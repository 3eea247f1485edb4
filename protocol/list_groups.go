package protocol

// ListGroups, key 16.
//
//	v0  all groups
//	v1  throttle time in the response
//	v2  throttling after the response
//	v3  flexible
//	v4  filter by state; the state in the response (KIP-518)
//	v5  filter by type; the type in the response (KIP-848)

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

// ListGroups is a ListGroups request.
type ListGroups struct {
	version int16
	ev      group.List
	// Keep says which groups belong into the answer; nil keeps all. An admin client asks every broker for its groups, so
	// each port has to name only its own.
	Keep func(group string) bool
}

func newListGroups(msg *kmsg.ListGroupsRequest) *ListGroups {
	l := &ListGroups{version: msg.Version}
	if len(msg.StatesFilter) > 0 {
		l.ev.States = cloneAll(msg.StatesFilter)
	}
	if len(msg.TypesFilter) > 0 {
		l.ev.Types = cloneAll(msg.TypesFilter)
	}
	return l
}

// Event implements [Request].
func (l *ListGroups) Event(id group.ReqID) group.Event {
	l.ev.Req = id
	return l.ev
}

// Answer implements [Request].
func (l *ListGroups) Answer(res group.Result) kmsg.Response {
	r := res.(group.ListResult)
	resp := kmsg.NewPtrListGroupsResponse()
	resp.Version = l.version
	resp.ErrorCode = int16(r.Code)
	resp.Groups = make([]kmsg.ListGroupsResponseGroup, 0, len(r.Groups))
	for _, g := range r.Groups {
		if l.Keep != nil && !l.Keep(g.Group) {
			continue
		}
		resp.Groups = append(resp.Groups, kmsg.ListGroupsResponseGroup{
			Group: g.Group, ProtocolType: g.ProtocolType, GroupState: g.State, GroupType: g.Type,
		})
	}
	return resp
}

// Fail implements [Request].
func (l *ListGroups) Fail(code group.Code) kmsg.Response {
	resp := kmsg.NewPtrListGroupsResponse()
	resp.Version = l.version
	resp.ErrorCode = int16(code)
	return resp
}
