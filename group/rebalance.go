package group

import (
	"slices"
	"time"
)

// retryDelay is how long a join phase that could not end waits at least before it is tried again.
const retryDelay = time.Second

// prepareOrComplete begins a rebalance, or ends the join phase if it was the last one missing.
func (m *Machine) prepareOrComplete(g *group, why string) {
	if g.live.state == statePreparing {
		m.maybeComplete(g)
		return
	}
	m.prepare(g, why)
}

// prepare begins the join phase of the next generation.
func (m *Machine) prepare(g *group, why string) {
	lv := g.live
	if lv.state == stateCompleting {
		m.failSyncs(lv, RebalanceInProgress)
	}
	for _, mb := range lv.members {
		lv.owe(mb, false)
	}
	m.timers.disarm(&lv.syncEnd)
	lv.initial = lv.state == stateEmpty
	lv.set(statePreparing)
	m.notice(Notice{Kind: RebalanceStarted, Group: g.name, Generation: lv.generation, Reason: why, Count: len(lv.members)})
	if lv.initial {
		lv.extended = false
		lv.delay = m.cfg.InitialRebalanceDelay
		lv.budget = max(0, lv.rebalanceTimeout()-lv.delay)
		m.timers.arm(&lv.joinEnd, m.now+lv.delay)
		return
	}
	if lv.allJoined() {
		m.complete(g)
		return
	}
	m.timers.arm(&lv.joinEnd, m.now+lv.rebalanceTimeout())
}

// maybeComplete ends the join phase early when all have joined. The first one after Empty waits for its whole delay.
func (m *Machine) maybeComplete(g *group) {
	lv := g.live
	if lv.state == statePreparing && !lv.initial && lv.flight == flightDone && lv.allJoined() {
		m.complete(g)
	}
}

// joinTimeout ends the join phase, or extends the initial delay (KIP-134).
func (m *Machine) joinTimeout(g *group) {
	lv := g.live
	if lv.state != statePreparing {
		return
	}
	if lv.initial && lv.extended && lv.budget > 0 {
		lv.extended = false
		delay := min(m.cfg.InitialRebalanceDelay, lv.budget)
		lv.budget = max(0, lv.budget-lv.delay)
		lv.delay = delay
		m.timers.arm(&lv.joinEnd, m.now+delay)
		return
	}
	m.complete(g)
}

// complete ends the join phase: the members that joined, and the static ones whether they did or not, make the next
// generation. It is committed before anyone hears of it, so that a generation is never handed out twice.
func (m *Machine) complete(g *group) {
	lv := g.live
	m.timers.disarm(&lv.joinEnd)
	if lv.joins < len(lv.members) {
		lv.removeAll(func(mb *member) bool {
			if mb.join != 0 || mb.instance != nil {
				return false
			}
			m.timers.disarm(&mb.expiry)
			m.notice(Notice{
				Kind: MemberExpired, Group: g.name, Generation: lv.generation, Member: mb.id,
				Reason: "did not join again within the rebalance timeout",
			})
			return true
		})
	}
	next := &GroupMeta{
		Group:        g.name,
		Sequence:     g.nextSequence(),
		Generation:   g.nextGeneration(),
		ProtocolType: lv.protocolType,
		StateTime:    m.wall,
	}
	if len(lv.members) == 0 {
		m.proposeMeta(g, flightEmptied, next)
		return
	}
	if !lv.electJoined() {
		m.timers.arm(&lv.joinEnd, m.now+max(lv.rebalanceTimeout(), retryDelay))
		return
	}
	next.Phase = PhaseCompleting
	next.Protocol = lv.vote()
	next.Leader = lv.leader
	next.Members = lv.memberImages()
	m.proposeMeta(g, flightGeneration, next)
}

// electJoined makes sure that the leader is one that has joined, and tells whether there is any.
func (lv *live) electJoined() bool {
	if mb := lv.byID[lv.leader]; mb != nil && mb.join != 0 {
		return true
	}
	i := slices.IndexFunc(lv.members, func(mb *member) bool { return mb.join != 0 })
	if i < 0 {
		return false
	}
	lv.leader = lv.members[i].id
	return true
}

func (lv *live) memberImages() []MemberImage {
	images := make([]MemberImage, len(lv.members))
	for i, mb := range lv.members {
		images[i] = mb.image()
	}
	return images
}

// nextSequence is the sequence of the next GroupMeta.
func (g *group) nextSequence() uint64 {
	if g.image == nil {
		return 1
	}
	return g.image.sequence + 1
}

// nextGeneration is larger than any that was committed or handed out.
func (g *group) nextGeneration() int32 {
	next := g.live.generation
	if g.image != nil {
		next = max(next, g.image.generation)
	}
	return next + 1
}

// generationBegun answers the joins of a generation that is committed.
func (m *Machine) generationBegun(g *group) {
	lv := g.live
	lv.adopt(g.image)
	lv.share(g.image)
	lv.set(stateCompleting)
	lv.initial = false
	m.notice(Notice{Kind: GenerationBegun, Group: g.name, Generation: lv.generation, Member: lv.leader, Count: len(lv.members)})
	for _, mb := range lv.members {
		mb.fresh = false
		lv.owe(mb, true)
		m.renew(mb)
		m.answerJoin(lv, mb, lv.joined(mb, mb.id == lv.leader, false))
	}
	m.timers.arm(&lv.syncEnd, m.now+lv.rebalanceTimeout())
}

// generationFailed answers the joins of a generation that was not committed. The members stay and are waited for anew.
func (m *Machine) generationFailed(g *group, code Code) {
	lv := g.live
	lv.initial = false
	for _, mb := range lv.members {
		if mb.join != 0 {
			m.renew(mb)
			m.answerJoin(lv, mb, refusedJoin(code, mb.id))
		}
	}
	m.timers.arm(&lv.joinEnd, m.now+max(lv.rebalanceTimeout(), retryDelay))
}

// emptied makes the group Empty once that is committed.
func (m *Machine) emptied(g *group) {
	lv := g.live
	lv.adopt(g.image)
	lv.set(stateEmpty)
	lv.initial = false
	m.notice(Notice{Kind: GroupEmptied, Group: g.name, Generation: lv.generation})
	m.sayFarewell(lv, None)
}

// remove takes a member out of the group. A client that still waits is told that it is unknown, so that it joins anew.
func (m *Machine) remove(lv *live, mb *member) {
	m.answerJoin(lv, mb, refusedJoin(UnknownMemberID, ""))
	m.answerSync(mb, SyncResult{Code: UnknownMemberID})
	m.timers.disarm(&mb.expiry)
	lv.remove(mb)
}

// expireMember removes a member whose session has ended, unless it waits for us.
func (m *Machine) expireMember(g *group, mb *member) {
	if mb.parked() && !mb.fresh {
		return
	}
	lv := g.live
	why := "session timed out"
	if mb.fresh {
		why = "did not complete its first join in time"
	}
	m.notice(Notice{Kind: MemberExpired, Group: g.name, Generation: lv.generation, Member: mb.id, Reason: why})
	m.remove(lv, mb)
	if lv.state == statePreparing {
		m.completeWithout(g)
		return
	}
	m.prepare(g, "member "+mb.id+" "+why)
}

// completeWithout ends the join phase if it was only waiting for one that has expired, even before the initial delay has
// passed, as Kafka does.
func (m *Machine) completeWithout(g *group) {
	if g.live.state == statePreparing && g.live.allJoined() {
		m.complete(g)
	}
}

// expireTicket forgets an issued member id that was not used.
func (m *Machine) expireTicket(g *group, t *ticket) {
	m.useTicket(g.live, t)
	m.notice(Notice{
		Kind: MemberIDExpired, Group: g.name, Generation: g.live.generation, Member: t.id,
		Reason: "did not use its member id in time",
	})
	m.completeWithout(g)
}
