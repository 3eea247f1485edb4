package protocol

// DeleteGroups, key 42.
//
//	v0  group ids; throttle time in the response
//	v1  throttling after the response
//	v2  flexible
//	v3  an error message for each group, which Kafka 4.4 leaves null whatever the error is

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

type deleteGroups struct {
	version int16
	ev      group.DeleteGroups
}

func newDeleteGroups(msg *kmsg.DeleteGroupsRequest) *deleteGroups {
	return &deleteGroups{version: msg.Version, ev: group.DeleteGroups{Groups: cloneAll(msg.Groups)}}
}

func (d *deleteGroups) Event(id group.ReqID) group.Event {
	d.ev.Req = id
	return d.ev
}

func (d *deleteGroups) Answer(res group.Result) kmsg.Response {
	r := res.(group.DeleteGroupsResult)
	resp := kmsg.NewPtrDeleteGroupsResponse()
	resp.Version = d.version
	resp.Groups = make([]kmsg.DeleteGroupsResponseGroup, len(r.Groups))
	for i, g := range r.Groups {
		resp.Groups[i] = kmsg.DeleteGroupsResponseGroup{Group: g.Group, ErrorCode: int16(g.Code)}
	}
	return resp
}

func (d *deleteGroups) Fail(code group.Code) kmsg.Response {
	r := group.DeleteGroupsResult{}
	seen := make(map[string]bool, len(d.ev.Groups))
	for _, name := range d.ev.Groups {
		if !seen[name] {
			seen[name] = true
			r.Groups = append(r.Groups, group.DeletedGroup{Group: name, Code: code})
		}
	}
	return d.Answer(r)
}
