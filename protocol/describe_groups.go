package protocol

// DescribeGroups, key 15.
//
//	v0  group ids
//	v1  throttle time in the response
//	v2  throttling after the response
//	v3  authorized operations, when asked for (KIP-430)
//	v4  group instance ids of the members (KIP-345)
//	v5  flexible
//	v6  an error message for each group; a missing group is GROUP_ID_NOT_FOUND rather than "Dead" (KIP-1043)

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

const (
	describeGroupsMessage = 6
	describeGroupsOps     = 3

	// allGroupOperations has a bit for each operation on groups: READ 3, DELETE 6, DESCRIBE 8, DESCRIBE_CONFIGS 10 and
	// ALTER_CONFIGS 11. Kafka 4.x gives it when it has no authorizer.
	allGroupOperations = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11
	// noOperations stands for "not asked".
	noOperations = math.MinInt32
)

type describeGroups struct {
	version    int16
	operations bool
	ev         group.Describe
}

func newDescribeGroups(msg *kmsg.DescribeGroupsRequest) *describeGroups {
	return &describeGroups{
		version:    msg.Version,
		operations: msg.Version >= describeGroupsOps && msg.IncludeAuthorizedOperations,
		ev:         group.Describe{Version: msg.Version, Groups: cloneAll(msg.Groups)},
	}
}

func (d *describeGroups) Event(id group.ReqID) group.Event {
	d.ev.Req = id
	return d.ev
}

func (d *describeGroups) Answer(res group.Result) kmsg.Response {
	r := res.(group.DescribeResult)
	resp := kmsg.NewPtrDescribeGroupsResponse()
	resp.Version = d.version
	resp.Groups = make([]kmsg.DescribeGroupsResponseGroup, len(r.Groups))
	for i := range r.Groups {
		resp.Groups[i] = d.group(&r.Groups[i])
	}
	return resp
}

func (d *describeGroups) group(g *group.DescribedGroup) kmsg.DescribeGroupsResponseGroup {
	out := kmsg.DescribeGroupsResponseGroup{
		ErrorCode:            int16(g.Code),
		Group:                g.Group,
		State:                g.State,
		ProtocolType:         g.ProtocolType,
		Protocol:             g.Protocol,
		Members:              make([]kmsg.DescribeGroupsResponseGroupMember, len(g.Members)),
		AuthorizedOperations: noOperations,
	}
	if d.version >= describeGroupsMessage && g.Message != "" {
		out.ErrorMessage = &g.Message
	}
	if d.operations && g.Code == group.None {
		out.AuthorizedOperations = allGroupOperations
	}
	for i, m := range g.Members {
		out.Members[i] = kmsg.DescribeGroupsResponseGroupMember{
			MemberID:         m.MemberID,
			InstanceID:       m.InstanceID,
			ClientID:         m.Client.ID,
			ClientHost:       m.Client.Host,
			ProtocolMetadata: m.Metadata,
			MemberAssignment: m.Assignment,
		}
	}
	return out
}

func (d *describeGroups) Fail(code group.Code) kmsg.Response {
	r := group.DescribeResult{Groups: make([]group.DescribedGroup, len(d.ev.Groups))}
	for i, name := range d.ev.Groups {
		r.Groups[i] = group.DescribedGroup{Group: name, Code: code}
	}
	return d.Answer(r)
}
