package coordinator

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
	"github.com/coordinatord/coordinatord/protocol"
)

// ErrNotLeading tells that this node does not coordinate groups at present, or could not prove that it does.
var ErrNotLeading = errors.New("coordinator: this node does not lead")

// GroupSummary is one group of a list.
type GroupSummary struct {
	Group        string `json:"group"`
	State        string `json:"state"`
	Type         string `json:"type"`
	ProtocolType string `json:"protocol_type"`
}

// GroupDetail is all of a group that an operator sees.
type GroupDetail struct {
	Group        string         `json:"group"`
	State        string         `json:"state"`
	ProtocolType string         `json:"protocol_type"`
	Protocol     string         `json:"protocol"`
	Generation   int32          `json:"generation"`
	Leader       string         `json:"leader"`
	Members      []MemberDetail `json:"members"`
	Offsets      []OffsetDetail `json:"offsets"` // by topic, then by partition
}

// MemberDetail is a member of a group.
type MemberDetail struct {
	MemberID   string              `json:"member_id"`
	InstanceID *string             `json:"instance_id,omitempty"`
	ClientID   string              `json:"client_id"`
	ClientHost string              `json:"client_host"`
	Assigned   []AssignedPartition `json:"assigned"` // as far as the assignment is one of the consumer protocol
}

// AssignedPartition is one topic of a member's assignment.
type AssignedPartition struct {
	Topic      string  `json:"topic"`
	Partitions []int32 `json:"partitions"`
}

// OffsetDetail is a committed offset.
type OffsetDetail struct {
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	Offset      int64  `json:"offset"`
	LeaderEpoch int32  `json:"leader_epoch"`
	Metadata    string `json:"metadata"`
}

// Groups lists all groups by name.
func (l *Loop) Groups(ctx context.Context) ([]GroupSummary, error) {
	out := new([]GroupSummary) // not a result of this function: the loop may write it after ctx has ended
	code, err := l.ask(ctx, func(id group.ReqID) group.Event { return group.List{Req: id} }, func(res group.Result) group.Code {
		r := res.(group.ListResult)
		*out = make([]GroupSummary, len(r.Groups))
		for i, g := range r.Groups {
			(*out)[i] = GroupSummary{Group: g.Group, State: g.State, Type: g.Type, ProtocolType: g.ProtocolType}
		}
		return r.Code
	})
	if err == nil && code != group.None {
		err = ErrNotLeading
	}
	if err != nil {
		return nil, err
	}
	return *out, nil
}

// Group describes one group; ok is false when there is none.
func (l *Loop) Group(ctx context.Context, name string) (d GroupDetail, ok bool, err error) {
	out := new(GroupDetail)
	code, err := l.ask(ctx, func(id group.ReqID) group.Event {
		// v6 of DescribeGroups tells a missing group from one that is dead.
		return group.Describe{Req: id, Version: 6, Groups: []string{name}}
	}, func(res group.Result) group.Code {
		g := &res.(group.DescribeResult).Groups[0]
		*out = detail(g)
		return g.Code
	})
	switch {
	case err != nil || code == group.GroupIDNotFound:
		return d, false, err
	case code != group.None:
		return d, false, ErrNotLeading
	}
	code, err = l.ask(ctx, func(id group.ReqID) group.Event {
		return group.Fetch{Req: id, Groups: []group.FetchGroup{{Group: name, MemberEpoch: -1, All: true}}}
	}, func(res group.Result) group.Code {
		g := &res.(group.FetchResult).Groups[0]
		for _, t := range protocol.Present(g.Topics, l.cfg.Topics) {
			for _, p := range t.Partitions {
				out.Offsets = append(out.Offsets, OffsetDetail{t.Topic, p.Partition, p.Offset, p.LeaderEpoch, p.Metadata})
			}
		}
		return g.Code
	})
	if err == nil && code != group.None {
		err = ErrNotLeading
	}
	if err != nil {
		return d, false, err
	}
	return *out, true, nil
}

func detail(g *group.DescribedGroup) GroupDetail {
	d := GroupDetail{
		Group: g.Group, State: g.State, ProtocolType: g.ProtocolType, Protocol: g.Protocol,
		Generation: g.Generation, Leader: g.Leader, Members: make([]MemberDetail, len(g.Members)), Offsets: []OffsetDetail{},
	}
	for i, m := range g.Members {
		d.Members[i] = MemberDetail{
			MemberID: m.MemberID, InstanceID: m.InstanceID, ClientID: m.Client.ID, ClientHost: m.Client.Host,
			Assigned: assigned(m.Assignment),
		}
	}
	return d
}

// assigned reads an assignment of the consumer protocol; other protocols have assignments that only they can read.
func assigned(b []byte) []AssignedPartition {
	out := []AssignedPartition{}
	var a kmsg.ConsumerMemberAssignment
	if len(b) == 0 || a.ReadFrom(b) != nil {
		return out
	}
	for _, t := range a.Topics {
		out = append(out, AssignedPartition{Topic: t.Topic, Partitions: t.Partitions})
	}
	return out
}

// ask puts an event of our own to the machine and waits until its result has been read and leadership has been proved.
func (l *Loop) ask(ctx context.Context, ev func(group.ReqID) group.Event, read func(group.Result) group.Code) (group.Code, error) {
	q := &question{event: ev, read: read, done: make(chan struct{})}
	if !l.push(input{req: &Request{Request: q, Key: ownQuestion, To: q, Read: true}}) {
		return 0, ErrClosed
	}
	select {
	case <-q.done:
		return q.code, nil
	case <-ctx.Done():
		return 0, ctx.Err() // the answer goes to q, which nobody reads any more
	}
}

// ownQuestion stands in a [Request] where a client's request has its key.
const ownQuestion = -1

// question is a [Request] that nobody sent.
type question struct {
	event func(group.ReqID) group.Event
	read  func(group.Result) group.Code
	code  group.Code
	done  chan struct{}
}

// Event implements protocol.Request.
func (q *question) Event(id group.ReqID) group.Event { return q.event(id) }

// Answer implements protocol.Request.
func (q *question) Answer(res group.Result) kmsg.Response {
	q.code = q.read(res)
	return nil
}

// Fail implements protocol.Request.
func (q *question) Fail(code group.Code) kmsg.Response {
	q.code = code
	return nil
}

// Reply implements [Replier].
func (q *question) Reply(kmsg.Response) { close(q.done) }
