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
	if !left {
		m.reply(l.Req, r)
		return
	}
	lv := g.live
	if lv.state == stateStable || lv.state == stateCompleting {
		m.prepare(g, "members left") // an issued id that is given back counts too, as in Kafka
	} else {
		m.maybeComplete(g)
	}
	if lv.flight == flightEmptied {
		// Whoever hears that the last member has left may rely on an Empty group: a tool resets its offsets next.
		lv.farewells = append(lv.farewells, farewell{l.Req, r})
		m.parked++
		return
	}
	m.reply(l.Req, r)
	m.settle(g)
}

// farewell is the answer to a LeaveGroup of the last members, kept until the group is Empty for everyone.
type farewell struct {
	req    ReqID
	result LeaveResult
}

// sayFarewell answers those who left last; a code other than None says that this could not be stored.
func (m *Machine) sayFarewell(lv *live, code Code) {
	for _, f := range lv.farewells {
		if code != None {
			f.result = LeaveResult{Code: code}
		}
		m.reply(f.req, f.result)
		m.parked--
	}
	lv.farewells = nil
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
