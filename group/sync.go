package group

import "slices"

// sync answers SyncGroup (key 14) or parks it until the leader's assignment is committed.
func (m *Machine) sync(s *Sync) {
	g, mb, code := m.checkSync(s)
	if code != None {
		if code == FencedInstanceID {
			m.notice(Notice{Kind: MemberFenced, Group: s.Group, Generation: s.Generation, Member: s.MemberID, Reason: "sync"})
		}
		m.reply(s.Req, SyncResult{Code: code})
		return
	}
	lv := g.live
	lv.owe(mb, false)
	if lv.unsynced == 0 {
		m.timers.disarm(&lv.syncEnd)
	}
	if lv.state == stateStable {
		m.reply(s.Req, lv.assigned(mb))
		return
	}
	m.answerSync(mb, SyncResult{Code: NotCoordinator}) // one that the member sent before is superseded
	mb.sync = s.Req
	m.parked++
	if mb.id == lv.leader && lv.flight == flightDone {
		m.assign(g, s.Assignments)
	}
}

func (m *Machine) checkSync(s *Sync) (*group, *member, Code) {
	if s.Version >= 5 && (s.ProtocolType == nil || s.ProtocolName == nil) {
		return nil, nil, InconsistentGroupProtocol
	}
	if s.Group == "" {
		return nil, nil, InvalidGroupID
	}
	g := m.groups[s.Group]
	if g == nil || g.state() == stateEmpty {
		return nil, nil, UnknownMemberID
	}
	lv := g.live
	mb, code := lv.check(s.MemberID, s.InstanceID)
	switch {
	case code != None:
		return nil, nil, code
	case s.Generation != lv.generation:
		return nil, nil, IllegalGeneration
	case s.ProtocolType != nil && *s.ProtocolType != lv.protocolType,
		s.ProtocolName != nil && lv.protocol != "" && *s.ProtocolName != lv.protocol:
		return nil, nil, InconsistentGroupProtocol
	case lv.state == statePreparing:
		return nil, nil, RebalanceInProgress
	}
	return g, mb, None
}

// assign asks to store what the leader assigned. Members that it left out get nothing; ids that it made up are ignored.
func (m *Machine) assign(g *group, given []Assignment) {
	lv := g.live
	images := lv.memberImages()
	place := make(map[string]int, len(images))
	for i := range images {
		images[i].Assignment = nil
		place[images[i].MemberID] = i
	}
	for _, a := range given {
		if i, ok := place[a.MemberID]; ok {
			images[i].Assignment = slices.Clone(a.Bytes)
		}
	}
	m.proposeMeta(g, flightAssignment, &GroupMeta{
		Group:        g.name,
		Sequence:     g.nextSequence(),
		Phase:        PhaseStable,
		Generation:   lv.generation,
		ProtocolType: lv.protocolType,
		Protocol:     lv.protocol,
		Leader:       lv.leader,
		StateTime:    m.wall,
		Members:      images,
	})
}

// assignmentStored answers the syncs of a generation whose assignment is committed.
func (m *Machine) assignmentStored(g *group) {
	lv := g.live
	lv.adopt(g.image)
	lv.share(g.image)
	lv.set(stateStable)
	m.notice(Notice{Kind: AssignmentStored, Group: g.name, Generation: lv.generation, Member: lv.leader, Count: len(lv.members)})
	for _, mb := range lv.members {
		if mb.sync != 0 {
			m.renew(mb)
			m.answerSync(mb, lv.assigned(mb))
		}
	}
}

// assignmentFailed answers the syncs of a generation whose assignment was not committed, and rebalances.
func (m *Machine) assignmentFailed(g *group, code Code) {
	m.failSyncs(g.live, code)
	m.prepare(g, "the assignment could not be stored: "+code.String())
}

// failSyncs answers all parked syncs with a code and forgets the assignments.
func (m *Machine) failSyncs(lv *live, code Code) {
	for _, mb := range lv.members {
		mb.assignment = nil
		if mb.sync != 0 {
			m.renew(mb)
			m.answerSync(mb, SyncResult{Code: code})
		}
	}
}

// answerSync answers the parked sync of a member, if there is one.
func (m *Machine) answerSync(mb *member, r SyncResult) {
	if mb.sync == 0 {
		return
	}
	m.reply(mb.sync, r)
	mb.sync = 0
	m.parked--
}

func (lv *live) assigned(mb *member) SyncResult {
	return SyncResult{ProtocolType: lv.answerType, ProtocolName: lv.answerProtocol, Assignment: mb.assignment}
}

// syncTimeout removes the members of a generation that did not ask for their assignment in time.
func (m *Machine) syncTimeout(g *group) {
	lv := g.live
	if lv.state != stateCompleting && lv.state != stateStable || lv.unsynced == 0 {
		return
	}
	for _, mb := range lv.members {
		if !mb.unsynced {
			continue
		}
		m.timers.disarm(&mb.expiry)
		m.notice(Notice{
			Kind: MemberExpired, Group: g.name, Generation: lv.generation, Member: mb.id,
			Reason: "did not sync within the rebalance timeout",
		})
	}
	lv.removeAll(func(mb *member) bool { return mb.unsynced })
	m.prepare(g, "members did not sync in time")
}
