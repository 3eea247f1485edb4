package group

// heartbeat answers Heartbeat (key 12). One that is told to join again renews its session all the same.
func (m *Machine) heartbeat(h *Heartbeat) {
	m.reply(h.Req, HeartbeatResult{Code: m.heard(h)})
}

func (m *Machine) heard(h *Heartbeat) Code {
	if h.Group == "" {
		return InvalidGroupID
	}
	g := m.groups[h.Group]
	if g == nil || g.live == nil {
		return UnknownMemberID
	}
	lv := g.live
	mb, code := lv.check(h.MemberID, h.InstanceID)
	if code != None {
		if code == FencedInstanceID {
			m.notice(Notice{Kind: MemberFenced, Group: g.name, Generation: h.Generation, Member: h.MemberID, Reason: "heartbeat"})
		}
		return code
	}
	if h.Generation != lv.generation {
		return IllegalGeneration
	}
	m.renew(mb)
	if plantHeartbeatCompleting && lv.state == stateCompleting {
		return RebalanceInProgress
	}
	switch lv.state {
	case statePreparing:
		return RebalanceInProgress
	case stateCompleting, stateStable:
		return None
	case stateEmpty:
	}
	return UnknownMemberID
}
