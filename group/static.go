package group

import (
	"strings"
	"time"
)

// replacement is what a static member was before a process that came back took its place (KIP-345).
type replacement struct {
	member    *member
	oldID     string
	oldLeader string
	protocols []Protocol
	session   time.Duration
	rebalance time.Duration
}

// replaceStatic gives the place of a static member, with its assignment, to a new member id.
func (m *Machine) replaceStatic(g *group, mb *member, id string, j *Join) {
	lv := g.live
	was := &replacement{
		member: mb, oldID: mb.id, oldLeader: lv.leader,
		protocols: mb.protocols, session: mb.session, rebalance: mb.rebalance,
	}
	m.answerJoin(lv, mb, refusedJoin(FencedInstanceID, mb.id))
	m.answerSync(mb, SyncResult{Code: FencedInstanceID})
	lv.rename(mb, strings.Clone(id))
	m.notice(Notice{Kind: MemberReplaced, Group: g.name, Generation: lv.generation, Member: mb.id, Reason: "in place of " + was.oldID})
	m.updateMember(lv, mb, j)
	m.renew(mb)
	switch lv.state {
	case stateStable:
		if lv.vote() != lv.protocol {
			m.prepare(g, "static member "+mb.id+" changed the protocol of the group")
			return
		}
		m.proposeMeta(g, flightReplace, &GroupMeta{
			Group:        g.name,
			Sequence:     g.nextSequence(),
			Phase:        PhaseStable,
			Generation:   lv.generation,
			ProtocolType: lv.protocolType,
			Protocol:     lv.protocol,
			Leader:       lv.leader,
			StateTime:    g.image.stateTime,
			Members:      lv.memberImages(),
		}).replace = was
	case stateCompleting:
		m.prepare(g, "static member "+mb.id+" came back while assignments were awaited")
	case statePreparing, stateEmpty:
		m.maybeComplete(g)
	}
}

// rename gives a member another id; if it led, it leads on.
func (lv *live) rename(mb *member, id string) {
	delete(lv.byID, mb.id)
	if lv.leader == mb.id {
		lv.leader = id
	}
	mb.id, mb.durable = id, false
	lv.byID[id] = mb
}

// replaced answers the join of a static member that took its place without a rebalance.
func (m *Machine) replaced(g *group, was *replacement) {
	lv, mb := g.live, was.member
	lv.adopt(g.image)
	lv.share(g.image)
	m.renew(mb)
	r := lv.joined(mb, false, false)
	if mb.joinVersion >= 9 { // KIP-814: the leader is told that it leads, and that there is nothing to assign
		if lv.leader == mb.id {
			r = lv.joined(mb, true, true)
		}
	} else {
		// An older client that finds itself the leader would assign anew; with the id from before it acts as a follower.
		r.Leader = was.oldLeader
	}
	m.answerJoin(lv, mb, r)
}

// replaceFailed puts the member back as it was.
func (m *Machine) replaceFailed(g *group, was *replacement, code Code) {
	lv, mb := g.live, was.member
	lv.rename(mb, was.oldID)
	lv.replaceProtocols(mb, was.protocols)
	mb.session, mb.rebalance, mb.durable = was.session, was.rebalance, true
	m.renew(mb)
	r := lv.joined(mb, false, false)
	r.Code, r.MemberID, r.Leader = code, "", was.oldLeader
	m.answerJoin(lv, mb, r)
}
