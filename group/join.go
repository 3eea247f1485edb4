package group

import "strings"

// join answers JoinGroup (key 11) or parks it.
func (m *Machine) join(j *Join) {
	if j.Group == "" {
		m.refuseJoin(j, InvalidGroupID, j.MemberID)
		return
	}
	if j.SessionTimeout < m.cfg.MinSessionTimeout || j.SessionTimeout > m.cfg.MaxSessionTimeout {
		m.refuseJoin(j, InvalidSessionTimeout, j.MemberID)
		return
	}
	g := m.groups[j.Group]
	if g == nil || g.image == nil && g.live == nil {
		if j.MemberID != "" {
			m.refuseJoin(j, UnknownMemberID, j.MemberID)
			return
		}
		g = m.create(j.Group)
	}
	lv := m.awake(g)
	if lv.flight != flightDone {
		m.enqueue(lv, *j)
		return
	}
	m.admit(g, j)
	m.settle(g)
}

// create begins a group. Kafka too stores a new group, Empty, before anyone hears of it; what comes of the join that
// caused it is decided afterwards.
func (m *Machine) create(name string) *group {
	g := m.ensure(name)
	m.awake(g)
	m.proposeMeta(g, flightCreate, &GroupMeta{Group: g.name, Sequence: g.nextSequence(), Phase: PhaseEmpty, StateTime: m.wall})
	return g
}

// enqueue keeps an event until the group's proposal has landed.
func (m *Machine) enqueue(lv *live, ev Event) {
	lv.queue = append(lv.queue, ev)
	m.parked += requests(ev)
}

// requests is how many client requests a queued event stands for: a part of a DeleteGroups is counted with its whole.
func requests(ev Event) int {
	if _, ok := ev.(deleteOne); ok {
		return 0
	}
	return 1
}

// admit decides about a join when nothing of the group is in flight.
func (m *Machine) admit(g *group, j *Join) {
	lv := g.live
	if !m.hasRoom(lv, j.MemberID) {
		if mb := lv.byID[j.MemberID]; mb != nil {
			m.remove(lv, mb)
			// Whether it was the last one that the join phase waited for is not looked at, as in Kafka: its timer will tell.
			m.notice(Notice{Kind: MemberLeft, Group: g.name, Member: mb.id, Reason: "group is full"})
		}
		m.refuseJoin(j, GroupMaxSizeReached, "")
		return
	}
	if !lv.supports(j.ProtocolType, j.Protocols) {
		m.refuseJoin(j, InconsistentGroupProtocol, j.MemberID)
		return
	}
	if j.MemberID == "" {
		m.admitNew(g, j)
		return
	}
	if lv.tickets[j.MemberID] != nil {
		if j.InstanceID != nil {
			// Kafka issues no such ids to static members and calls this a server error.
			m.refuseJoin(j, UnknownServerError, "")
			return
		}
		m.addMember(g, j, j.MemberID)
		return
	}
	mb, code := lv.check(j.MemberID, j.InstanceID)
	if code != None {
		m.refuseJoin(j, code, j.MemberID)
		return
	}
	m.rejoin(g, mb, j)
}

// hasRoom is the check of group.max.size. While a rebalance is prepared, those who come first stay.
func (m *Machine) hasRoom(lv *live, id string) bool {
	mb := lv.byID[id]
	switch lv.state {
	case statePreparing:
		return mb != nil && mb.join != 0 || lv.joins < m.cfg.MaxSize
	case stateCompleting, stateStable:
		return mb != nil || len(lv.members) < m.cfg.MaxSize
	case stateEmpty:
	}
	return true
}

func (m *Machine) admitNew(g *group, j *Join) {
	if j.InstanceID != nil {
		id := *j.InstanceID + "-" + j.FreshID
		if old := g.live.byInstance[*j.InstanceID]; old != nil {
			m.replaceStatic(g, old, id, j)
		} else {
			m.addMember(g, j, id)
		}
		return
	}
	id := j.Client.ID + "-" + j.FreshID
	if j.Version >= 4 || plantJoinV3 { // KIP-394
		m.issueTicket(g, j, id)
		return
	}
	m.addMember(g, j, id)
}

func (m *Machine) issueTicket(g *group, j *Join, id string) {
	t := &ticket{id: id}
	t.expiry = deadline{kind: ticketDeadline, group: g, ticket: t}
	g.live.tickets[id] = t
	m.timers.arm(&t.expiry, m.now+j.SessionTimeout)
	m.notice(Notice{Kind: MemberIDIssued, Group: g.name, Generation: g.live.generation, Member: id})
	m.reply(j.Req, refusedJoin(MemberIDRequired, id))
}

// useTicket takes an issued id out.
func (m *Machine) useTicket(lv *live, t *ticket) {
	m.timers.disarm(&t.expiry)
	delete(lv.tickets, t.id)
}

// addMember takes in a member and parks its join.
func (m *Machine) addMember(g *group, j *Join, id string) {
	lv := g.live
	mb := &member{
		id:        strings.Clone(id),
		instance:  cloneInstance(j.InstanceID),
		client:    Client{ID: strings.Clone(j.Client.ID), Host: strings.Clone(j.Client.Host)},
		session:   j.SessionTimeout,
		rebalance: j.RebalanceTimeout,
		protocols: cloneProtocols(j.Protocols),
		fresh:     true,
	}
	mb.expiry = deadline{kind: sessionDeadline, group: g, member: mb}
	lv.add(mb, strings.Clone(j.ProtocolType))
	m.parkJoin(lv, mb, j)
	if lv.state == statePreparing && lv.initial {
		lv.extended = true
	}
	// Until its first join is answered the member may be slow: it gets a fixed time, whatever session it asked for.
	m.timers.arm(&mb.expiry, m.now+NewMemberJoinTimeout)
	if t := lv.tickets[id]; t != nil {
		m.useTicket(lv, t)
	}
	m.notice(Notice{Kind: MemberJoined, Group: g.name, Generation: lv.generation, Member: mb.id, Reason: reason(j.Reason)})
	m.prepareOrComplete(g, "member "+mb.id+" joined")
}

// rejoin is the join of a member that the group has.
func (m *Machine) rejoin(g *group, mb *member, j *Join) {
	lv := g.live
	same := equalProtocols(mb.protocols, j.Protocols)
	switch lv.state {
	case statePreparing:
		m.updateMember(lv, mb, j)
		m.maybeComplete(g)
	case stateCompleting:
		if same { // the answer was lost; it did not see the assignment yet
			m.reply(j.Req, lv.joined(mb, lv.leader == mb.id, false))
			return
		}
		m.updateMember(lv, mb, j)
		m.prepare(g, "member "+mb.id+" changed its protocols: "+reason(j.Reason))
	case stateStable:
		if same && lv.leader != mb.id && !plantFollowerRejoin {
			m.reply(j.Req, lv.joined(mb, false, false))
			return
		}
		m.updateMember(lv, mb, j)
		m.prepare(g, "member "+mb.id+" joined again: "+reason(j.Reason))
	case stateEmpty:
		m.refuseJoin(j, UnknownMemberID, j.MemberID)
	}
}

func (m *Machine) updateMember(lv *live, mb *member, j *Join) {
	if !equalProtocols(mb.protocols, j.Protocols) {
		lv.replaceProtocols(mb, cloneProtocols(j.Protocols))
	}
	mb.session, mb.rebalance = j.SessionTimeout, j.RebalanceTimeout
	m.parkJoin(lv, mb, j)
}

// parkJoin keeps a join until the phase ends. One that the member sent before is superseded.
func (m *Machine) parkJoin(lv *live, mb *member, j *Join) {
	if mb.join != 0 {
		m.answerJoin(lv, mb, refusedJoin(NotCoordinator, mb.id))
	}
	mb.join, mb.joinVersion = j.Req, j.Version
	lv.joins++
	m.parked++
}

// answerJoin answers the parked join of a member, if there is one.
func (m *Machine) answerJoin(lv *live, mb *member, r JoinResult) {
	if mb.join == 0 {
		return
	}
	m.reply(mb.join, r)
	mb.join = 0
	lv.joins--
	m.parked--
}

// joined is the answer to a member of the current generation.
func (lv *live) joined(mb *member, withMembers, skipAssignment bool) JoinResult {
	r := JoinResult{
		Generation:     lv.generation,
		ProtocolType:   lv.answerType,
		ProtocolName:   lv.answerProtocol,
		Leader:         lv.leader,
		SkipAssignment: skipAssignment,
		MemberID:       mb.id,
	}
	if withMembers {
		r.Members = lv.joinMembers()
	}
	return r
}

func refusedJoin(code Code, memberID string) JoinResult {
	return JoinResult{Code: code, Generation: -1, MemberID: memberID}
}

func (m *Machine) refuseJoin(j *Join, code Code, memberID string) {
	if code == FencedInstanceID {
		m.notice(Notice{Kind: MemberFenced, Group: j.Group, Member: memberID, Reason: "join"})
	} else {
		m.notice(Notice{Kind: RequestRefused, Group: j.Group, Member: memberID, Reason: "join: " + code.String()})
	}
	m.reply(j.Req, refusedJoin(code, memberID))
}

// reason is the client's own reason (KIP-800), for logs.
func reason(given string) string {
	if given == "" {
		return "not provided"
	}
	return strings.Clone(given)
}

func cloneInstance(id *string) *string {
	if id == nil {
		return nil
	}
	clone := strings.Clone(*id)
	return &clone
}
