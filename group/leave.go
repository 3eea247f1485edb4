package group

// leave answers LeaveGroup (key 13). However many members leave, one rebalance begins.
func (m *Machine) leave(l *Leave) {
	if l.Group == "" {
		m.reply(l.Req, LeaveResult{Code: InvalidGroupID})
		return
	}
	g := m.groups[l.Group]
	if g != nil && g.live != nil && g.live.flight != flightDone {
		m.enqueue(g.live, *l)
		return
	}
	r := LeaveResult{Members: make([]LeaveMemberResult, len(l.Members))}
	left := false
	for i := range l.Members {
		lm := &l.Members[i]
		code := UnknownMemberID
		if g != nil && g.live != nil {
			code = m.leaveOne(g, lm)
		}
		left = left || code == None
		r.Members[i] = LeaveMemberResult{MemberID: lm.MemberID, InstanceID: lm.InstanceID, Code: code}
	}
	m.reply(l.Req, r)
	if !left {
		return
	}
	if lv := g.live; lv.state == stateStable || lv.state == stateCompleting {
		m.prepare(g, "members left") // an issued id that is given back counts too, as in Kafka
	} else {
		m.maybeComplete(g)
	}
	m.settle(g)
}

func (m *Machine) leaveOne(g *group, l *LeaveMember) Code {
	lv := g.live
	var mb *member
	switch t := lv.tickets[l.MemberID]; {
	case l.MemberID == "":
		if l.InstanceID != nil {
			mb = lv.byInstance[*l.InstanceID]
		}
		if mb == nil {
			return UnknownMemberID
		}
	case t != nil:
		m.useTicket(lv, t)
		m.notice(Notice{Kind: MemberLeft, Group: g.name, Generation: lv.generation, Member: t.id, Reason: reason(l.Reason)})
		return None
	default:
		var code Code
		if mb, code = lv.check(l.MemberID, l.InstanceID); code != None {
			if code == FencedInstanceID {
				m.notice(Notice{Kind: MemberFenced, Group: g.name, Generation: lv.generation, Member: l.MemberID, Reason: "leave"})
			}
			return code
		}
	}
	m.notice(Notice{Kind: MemberLeft, Group: g.name, Generation: lv.generation, Member: mb.id, Reason: reason(l.Reason)})
	m.remove(lv, mb)
	return None
}
