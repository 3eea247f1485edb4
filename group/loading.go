package group

// answerLoading answers a request before this node leads. Java has no branch for COORDINATOR_LOAD_IN_PROGRESS in its
// SyncGroup and Heartbeat handlers and would fail; what it gets instead makes it try again.
func (m *Machine) answerLoading(ev Event) {
	const code = CoordinatorLoadInProgress
	switch ev := ev.(type) {
	case *Heartbeat:
		m.reply(ev.Req, HeartbeatResult{Code: noGroup(ev.Group, None)})
	case Heartbeat:
		m.reply(ev.Req, HeartbeatResult{Code: noGroup(ev.Group, None)})
	case Join:
		switch {
		case ev.Group == "":
			m.reply(ev.Req, refusedJoin(InvalidGroupID, ev.MemberID))
		case ev.SessionTimeout < m.cfg.MinSessionTimeout || ev.SessionTimeout > m.cfg.MaxSessionTimeout:
			m.reply(ev.Req, refusedJoin(InvalidSessionTimeout, ev.MemberID))
		default:
			m.reply(ev.Req, refusedJoin(code, ev.MemberID))
		}
	case Sync:
		if ev.Version >= 5 && (ev.ProtocolType == nil || ev.ProtocolName == nil) {
			m.reply(ev.Req, SyncResult{Code: InconsistentGroupProtocol})
			return
		}
		m.reply(ev.Req, SyncResult{Code: noGroup(ev.Group, RebalanceInProgress)})
	case Leave:
		m.reply(ev.Req, LeaveResult{Code: noGroup(ev.Group, code)})
	case *Commit:
		m.reply(ev.Req, commitResult(code))
	case Fetch:
		r := FetchResult{Groups: make([]FetchedGroup, len(ev.Groups))}
		for i := range ev.Groups {
			r.Groups[i] = FetchedGroup{Group: ev.Groups[i].Group, Code: code}
		}
		m.reply(ev.Req, r)
	case DeleteOffsets:
		m.reply(ev.Req, DeleteOffsetsResult{Code: noGroup(ev.Group, code)})
	case Describe:
		r := DescribeResult{Groups: make([]DescribedGroup, len(ev.Groups))}
		for i, name := range ev.Groups {
			r.Groups[i] = DescribedGroup{Group: name, Code: code}
		}
		m.reply(ev.Req, r)
	case List:
		m.reply(ev.Req, ListResult{Code: code})
	case DeleteGroups:
		call := uniqueGroups(ev.Groups)
		for i := range call {
			call[i].Code = code
		}
		m.reply(ev.Req, DeleteGroupsResult{Groups: call})
	}
}

// noGroup is the code for a request that needs a group id.
func noGroup(id string, otherwise Code) Code {
	if id == "" {
		return InvalidGroupID
	}
	return otherwise
}
