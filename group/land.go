package group

// landed takes the outcome of a proposal and answers what waited for it.
func (m *Machine) landed(token Token, o Outcome) {
	f := m.flights.land(token)
	switch f.kind {
	case flightDone:
	case flightCommit:
		m.parked--
		m.commitLanded(&f, o)
	case flightDelete:
		m.parked--
		m.offsetsDeleted(&f, o)
	case flightTopic:
		m.topicTold(f.topic)
	case flightTopicDrop:
		if o.Removed > 0 {
			m.notice(Notice{Kind: TopicOffsetsDropped, Reason: f.topic, Count: o.Removed})
		}
	case flightCreate, flightGeneration, flightEmptied, flightAssignment, flightReplace, flightDrop, flightExpire:
		f.group.live.flight = flightDone
		if o.Stale && f.kind != flightDrop && f.kind != flightExpire {
			m.metaStale(&f)
		} else {
			m.metaLanded(&f, o)
		}
		m.drain(f.group)
	}
}

// failed takes the failure of a proposal and answers what waited for it. The record may still be committed later: it
// then advances the image's sequence, and the next proposal is made from there.
func (m *Machine) failed(token Token, code Code) {
	f := m.flights.land(token)
	switch f.kind {
	case flightDone:
	case flightCommit, flightDelete:
		m.parked--
		m.refuseFlight(&f, code)
	case flightTopic:
		m.topicTold(f.topic)
	case flightTopicDrop:
	case flightCreate, flightGeneration, flightEmptied, flightAssignment, flightReplace, flightDrop, flightExpire:
		f.group.live.flight = flightDone
		m.metaFailed(&f, code)
		m.drain(f.group)
	}
}

// metaLanded goes on from a metadata proposal that is committed.
func (m *Machine) metaLanded(f *flight, o Outcome) {
	g := f.group
	switch f.kind {
	case flightCreate:
		m.notice(Notice{Kind: GroupCreated, Group: g.name})
		m.created(g)
	case flightGeneration:
		m.generationBegun(g)
	case flightEmptied:
		m.emptied(g)
	case flightAssignment:
		m.assignmentStored(g)
	case flightReplace:
		m.replaced(g, f.replace)
	case flightDrop:
		m.groupDropped(f, o)
	case flightExpire:
		m.offsetsSwept(g, o)
	case flightDone, flightCommit, flightDelete, flightTopic, flightTopicDrop:
	}
}

// metaStale goes on from a metadata proposal that found the image moved on: an earlier one that was taken for failed has
// been committed after all. What was decided is proposed again on top of it.
func (m *Machine) metaStale(f *flight) {
	g := f.group
	switch f.kind {
	case flightCreate:
		m.created(g)
	case flightGeneration, flightEmptied:
		m.complete(g)
	case flightAssignment:
		m.assignmentFailed(g, RebalanceInProgress)
	case flightReplace:
		m.replaceFailed(g, f.replace, CoordinatorNotAvailable)
	case flightDone, flightCommit, flightDelete, flightTopic, flightTopicDrop, flightDrop, flightExpire:
	}
}

// metaFailed goes on from a metadata proposal that failed, as Kafka does when it cannot append to its log.
func (m *Machine) metaFailed(f *flight, code Code) {
	g := f.group
	switch f.kind {
	case flightCreate:
		if g.image == nil {
			m.creationFailed(g, code)
		} else {
			m.created(g)
		}
	case flightGeneration:
		m.generationFailed(g, code)
	case flightEmptied:
		g.live.initial = false
		m.sayFarewell(g.live, code)
		m.timers.arm(&g.live.joinEnd, m.now+retryDelay)
	case flightAssignment:
		m.assignmentFailed(g, code)
	case flightReplace:
		m.replaceFailed(g, f.replace, code)
	case flightDrop:
		f.call.answer(m, f.entry, code)
	case flightDone, flightCommit, flightDelete, flightTopic, flightTopicDrop, flightExpire:
	}
}

// created goes on from the image of a group that was to be created, by whichever record it was.
func (m *Machine) created(g *group) {
	if g.image == nil || len(g.image.members) == 0 {
		g.live.adopt(g.image)
		return
	}
	queue := g.live.queue
	g.live = nil
	m.resume(g)
	g.live.queue = queue
}

// creationFailed answers the joins that waited for a group that could not be stored.
func (m *Machine) creationFailed(g *group, code Code) {
	lv := g.live
	rest := lv.queue[:0]
	for _, ev := range lv.queue {
		if _, ok := ev.(Join); ok {
			m.refuseQueued(ev, code)
			m.parked--
		} else {
			rest = append(rest, ev)
		}
	}
	clear(lv.queue[len(rest):])
	lv.queue = rest
}

// drain takes up what waited for the group's proposal, in order, until one of it makes another proposal. Events find
// their group anew: it may be gone, or another one of the same name.
func (m *Machine) drain(g *group) {
	if lv := g.live; lv != nil {
		queue, overdueNow := lv.queue, lv.overdue
		lv.queue, lv.overdue = nil, nil
		m.settle(g)
		for _, ev := range queue {
			m.parked -= requests(ev)
			m.dispatch(ev)
		}
		for _, d := range overdueNow {
			if d.pos == overdue {
				d.pos = 0
				if g.live == lv {
					m.fire(d)
				}
			}
		}
	}
	m.settle(g)
}

// refuseFlight answers the client of a proposal that did not make it.
func (m *Machine) refuseFlight(f *flight, code Code) {
	switch f.kind {
	case flightCommit:
		m.reply(f.req, commitResult(code))
	case flightDelete:
		m.reply(f.req, DeleteOffsetsResult{Code: code})
	case flightDrop:
		f.call.answer(m, f.entry, code)
	case flightDone, flightCreate, flightGeneration, flightEmptied, flightAssignment, flightReplace, flightExpire,
		flightTopic, flightTopicDrop: // the members' parked requests are answered by the member
	}
}

// refuseQueued answers a request that waits for a group.
func (m *Machine) refuseQueued(ev Event, code Code) {
	switch ev := ev.(type) {
	case Join:
		m.reply(ev.Req, refusedJoin(code, ev.MemberID))
	case Leave:
		m.reply(ev.Req, LeaveResult{Code: code})
	case deleteOne:
		ev.call.answer(m, ev.entry, code)
	}
}
