package group

import (
	"maps"
	"slices"
)

// deleteCall is a DeleteGroups request whose groups are decided one by one.
type deleteCall struct {
	req    ReqID
	groups []DeletedGroup
	open   int
}

// deleteOne is the part of a [deleteCall] about one group. It waits in that group's queue.
type deleteOne struct {
	call  *deleteCall
	entry int
}

func (deleteOne) event() {}

// answer takes the code for one group and, with the last one, answers the request.
func (c *deleteCall) answer(m *Machine, entry int, code Code) {
	c.groups[entry].Code = code
	if c.open--; c.open == 0 {
		m.parked--
		m.reply(c.req, DeleteGroupsResult{Groups: c.groups})
	}
}

// deleteGroups answers DeleteGroups (key 42) when all its groups are decided.
func (m *Machine) deleteGroups(d *DeleteGroups) {
	call := &deleteCall{req: d.Req, groups: uniqueGroups(d.Groups)}
	m.parked++
	call.open = len(call.groups) + 1 // one for this function, so that the answer comes last
	for i := range call.groups {
		m.deleteOne(deleteOne{call: call, entry: i})
	}
	if call.open--; call.open == 0 {
		m.parked--
		m.reply(call.req, DeleteGroupsResult{Groups: call.groups})
	}
}

// uniqueGroups lists each name once, in the order of first mention.
func uniqueGroups(names []string) []DeletedGroup {
	var out []DeletedGroup
	seen := make(map[string]struct{}, len(names))
	for _, name := range names {
		if _, ok := seen[name]; !ok {
			seen[name] = struct{}{}
			out = append(out, DeletedGroup{Group: name})
		}
	}
	return out
}

func (m *Machine) deleteOne(d deleteOne) {
	g := m.groups[d.call.groups[d.entry].Group]
	if g != nil && g.live != nil && g.live.flight != flightDone {
		m.enqueue(g.live, d)
		return
	}
	switch {
	case g == nil || g.image == nil:
		d.call.answer(m, d.entry, GroupIDNotFound)
	case g.state() != stateEmpty:
		d.call.answer(m, d.entry, NonEmptyGroup)
	default:
		m.awake(g)
		f := m.proposeMeta(g, flightDrop, &GroupDelete{Group: g.name})
		f.call, f.entry = d.call, d.entry
	}
}

// groupDropped answers for a group that is deleted, or that turned out not to be there or to have members.
func (m *Machine) groupDropped(f *flight, o Outcome) {
	if o.Code == None {
		m.notice(Notice{Kind: GroupDeleted, Group: f.group.name, Reason: "on request", Count: o.Removed})
	}
	f.call.answer(m, f.entry, o.Code)
	if f.group.image == nil {
		m.vanished(f.group)
	}
}

// vanished forgets what is volatile of a group that is gone; ids that it issued are unknown from here on.
func (m *Machine) vanished(g *group) {
	for _, id := range slices.Sorted(maps.Keys(g.live.tickets)) {
		m.useTicket(g.live, g.live.tickets[id])
	}
}

// deleteOffsets answers OffsetDelete (key 47).
func (m *Machine) deleteOffsets(d *DeleteOffsets) {
	if d.Group == "" {
		m.reply(d.Req, DeleteOffsetsResult{Code: InvalidGroupID})
		return
	}
	g := m.find(d.Group)
	if g == nil {
		m.reply(d.Req, DeleteOffsetsResult{Code: GroupIDNotFound})
		return
	}
	var inUse subscribed
	if g.state() != stateEmpty {
		if g.live.protocolType != consumerProtocol {
			m.reply(d.Req, DeleteOffsetsResult{Code: NonEmptyGroup})
			return
		}
		inUse = g.image.subscribed()
	}
	var topics []PartitionSet
	var codes []Code
	refused := false
	for _, t := range d.Topics {
		code := None
		if inUse.has(t.Topic) {
			code, refused = GroupSubscribedToTopic, true
		} else if len(t.Partitions) > 0 {
			topics = append(topics, t)
		}
		for range t.Partitions {
			codes = append(codes, code)
		}
	}
	if !refused {
		codes = nil
	}
	if len(topics) == 0 {
		m.reply(d.Req, DeleteOffsetsResult{Partitions: codes})
		return
	}
	f := m.propose(&OffsetDelete{Group: g.name, Topics: topics})
	f.kind, f.req, f.group, f.codes = flightDelete, d.Req, g, codes
	m.parked++
}

func (m *Machine) offsetsDeleted(f *flight, o Outcome) {
	if o.Removed > 0 {
		m.notice(Notice{Kind: OffsetsDeleted, Group: f.group.name, Count: o.Removed})
	}
	m.reply(f.req, DeleteOffsetsResult{Code: o.Code, Partitions: f.codes})
}
