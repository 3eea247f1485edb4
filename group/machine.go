package group

import (
	"slices"
	"strings"
	"time"
)

// Effects is what a step asks for, in order. The slices belong to the machine and are valid until its next call.
type Effects struct {
	Replies   []Reply
	Proposals []Proposal
	Notices   []Notice
}

// Machine is the coordinator of all groups of a shard. It is not safe for concurrent use: one goroutine owns it.
type Machine struct {
	cfg    Config
	groups map[string]*group
	order  []*group // all groups, so that they can be walked without the order of a map
	topics map[string]*topic
	names  []*topic // all topics, likewise

	committed int // groups that have an image
	members   int // in the images
	offsets   int // in the images
	untold    int // topics of groups that are held under the zero id

	dirty       []string // names of groups
	dirtyTopics []string
	scratch     GroupImage

	leading bool
	epoch   time.Time     // the instant that now counts from
	now     time.Duration // the machine's clock, which never goes back
	wall    int64         // Unix milliseconds of the last step
	timers  deadlines
	sweep   deadline
	sweeps  []string // groups that the current sweep has yet to look at
	flights flights
	parked  int

	fx        Effects
	unchecked int // calls since the invariants were last checked, under their build tag
}

// New returns a machine with an empty image that does not lead.
func New(cfg Config) *Machine {
	m := &Machine{cfg: cfg, groups: make(map[string]*group), topics: make(map[string]*topic)}
	m.sweep.kind = sweepDeadline
	m.flights.first, m.flights.next = 1, 1
	return m
}

// Lead begins leadership with a clean volatile half: every known member gets a full session from now.
// Before it, and after Resign, Step answers every request as a coordinator does that is loading
// (docs: Heartbeat 0, SyncGroup 27, others 14).
func (m *Machine) Lead(now time.Time) Effects {
	m.begin()
	if m.leading {
		m.resign()
	}
	m.leading, m.epoch, m.now, m.wall = true, now, 0, now.UnixMilli()
	m.timers.arm(&m.sweep, m.cfg.RetentionCheckInterval)
	for _, g := range slices.Clone(m.order) {
		m.resume(g)
	}
	return m.end()
}

// resume builds the volatile half of a group that has members in its image.
func (m *Machine) resume(g *group) {
	if g.live != nil || g.image == nil || len(g.image.members) == 0 {
		return
	}
	lv := newLive(g)
	g.live = lv
	for i := range g.image.members {
		mi := &g.image.members[i]
		mb := &member{
			id:         mi.MemberID,
			instance:   mi.InstanceID,
			client:     mi.Client,
			session:    time.Duration(mi.SessionTimeout) * time.Millisecond,
			rebalance:  time.Duration(mi.RebalanceTimeout) * time.Millisecond,
			protocols:  mi.Protocols,
			assignment: mi.Assignment,
			durable:    true,
		}
		mb.expiry = deadline{kind: sessionDeadline, group: g, member: mb}
		lv.add(mb, g.image.protocolType)
		lv.owe(mb, lv.state == stateCompleting)
		m.renew(mb)
	}
	lv.adopt(g.image)
	if lv.state == stateCompleting {
		m.timers.arm(&lv.syncEnd, m.now+lv.rebalanceTimeout())
	}
	if len(lv.members) > m.cfg.MaxSize {
		m.prepare(g, "group is larger than group.max.size")
	}
}

// Resign ends leadership: parked requests are answered with NotCoordinator, proposals in flight are forgotten.
func (m *Machine) Resign() Effects {
	m.begin()
	if m.leading {
		m.resign()
	}
	return m.end()
}

func (m *Machine) resign() {
	m.flights.each(func(f *flight) { m.refuseFlight(f, NotCoordinator) })
	m.flights.forget()
	for _, g := range slices.Clone(m.order) {
		lv := g.live
		if lv == nil {
			continue
		}
		for _, mb := range lv.members {
			if mb.join != 0 {
				m.answerJoin(lv, mb, refusedJoin(NotCoordinator, mb.id))
			}
			if mb.sync != 0 {
				m.answerSync(mb, SyncResult{Code: NotCoordinator})
			}
		}
		for _, ev := range lv.queue {
			m.refuseQueued(ev, NotCoordinator)
		}
		m.sayFarewell(lv, NotCoordinator)
		g.live = nil
		m.release(g)
	}
	for _, t := range slices.Clone(m.names) {
		t.asked = false
		m.forgetTopic(t)
	}
	m.timers.reset()
	m.sweeps = nil
	m.leading = false
	m.parked = 0
}

// Step decides. It changes volatile state only. Heartbeat and Committed may be given as pointers too, which costs the
// caller no allocation; they are not kept.
func (m *Machine) Step(now time.Time, ev Event) Effects {
	m.begin()
	if m.leading {
		m.now = max(m.now, now.Sub(m.epoch))
		m.wall = now.UnixMilli()
		m.dispatch(ev)
	} else {
		m.answerLoading(ev)
	}
	return m.end()
}

// dispatch hands an event to its verb.
func (m *Machine) dispatch(ev Event) {
	switch ev := ev.(type) {
	case *Heartbeat:
		m.heartbeat(ev)
	case *Commit:
		m.commit(ev)
	case *Committed:
		m.landed(ev.Token, ev.Outcome)
	case Heartbeat:
		m.heartbeat(&ev)
	case Committed:
		m.landed(ev.Token, ev.Outcome)
	case ProposalFailed:
		m.failed(ev.Token, ev.Err)
	case Join:
		m.join(&ev)
	case Sync:
		m.sync(&ev)
	case Leave:
		m.leave(&ev)
	case Fetch:
		m.fetch(&ev)
	case DeleteOffsets:
		m.deleteOffsets(&ev)
	case Describe:
		m.describe(&ev)
	case List:
		m.list(&ev)
	case DeleteGroups:
		m.deleteGroups(&ev)
	case deleteOne:
		m.deleteOne(ev)
	case TopicSeen:
		m.topicSeen(&ev)
	case TopicGone:
		m.topicGone(&ev)
	case Tick:
		m.tick()
	}
}

// NextDeadline says when Step(now, Tick{}) is next worth calling.
func (m *Machine) NextDeadline() (time.Time, bool) {
	d := m.timers.next()
	if d == nil {
		return time.Time{}, false
	}
	return m.epoch.Add(d.due), true
}

// tick lets the deadlines that have come take effect, in their order. The ones that these arm for the same instant wait
// for the next tick.
func (m *Machine) tick() {
	var due []*deadline
	for d := m.timers.expired(m.now); d != nil; d = m.timers.expired(m.now) {
		due = append(due, d)
		d.pos = overdue
	}
	for _, d := range due {
		if d.pos == overdue {
			d.pos = 0
			m.fire(d)
		}
	}
}

// fire lets one deadline take effect, or keeps it until the group's proposal has landed.
func (m *Machine) fire(d *deadline) {
	if d.kind == sweepDeadline {
		m.expireOffsets()
		return
	}
	g := d.group
	lv := g.live
	if lv.flight != flightDone {
		d.pos = overdue
		lv.overdue = append(lv.overdue, d)
		return
	}
	switch d.kind {
	case sessionDeadline:
		m.expireMember(g, d.member)
	case ticketDeadline:
		m.expireTicket(g, d.ticket)
	case joinDeadline:
		m.joinTimeout(g)
	case syncDeadline:
		m.syncTimeout(g)
	case sweepDeadline:
	}
	m.settle(g)
}

func (m *Machine) begin() {
	clear(m.fx.Replies)
	clear(m.fx.Proposals)
	clear(m.fx.Notices)
	m.fx.Replies, m.fx.Proposals, m.fx.Notices = m.fx.Replies[:0], m.fx.Proposals[:0], m.fx.Notices[:0]
}

func (m *Machine) end() Effects {
	if invariantsEnabled {
		m.mustHold()
	}
	return m.fx
}

func (m *Machine) reply(req ReqID, r Result) {
	m.fx.Replies = append(m.fx.Replies, Reply{Req: req, Result: r})
}

func (m *Machine) notice(n Notice) { m.fx.Notices = append(m.fx.Notices, n) }

// propose asks for a record and returns the flight to be filled in.
func (m *Machine) propose(r Record) *flight {
	f, token := m.flights.add()
	m.fx.Proposals = append(m.fx.Proposals, Proposal{Token: token, Record: r})
	return f
}

// proposeMeta asks for a record that only one of may be in flight for a group.
func (m *Machine) proposeMeta(g *group, kind flightKind, r Record) *flight {
	g.live.flight = kind
	f := m.propose(r)
	f.kind, f.group = kind, g
	return f
}

// renew gives a member a full session from now, be that later or sooner than what it had.
func (m *Machine) renew(mb *member) { m.timers.arm(&mb.expiry, m.now+mb.session) }

// find returns the group that clients see, or nil.
func (m *Machine) find(name string) *group {
	g := m.groups[name]
	if g == nil || g.image == nil {
		return nil
	}
	return g
}

// ensure returns the group of this name, new if need be.
func (m *Machine) ensure(name string) *group {
	g := m.groups[name]
	if g == nil {
		g = &group{name: strings.Clone(name), place: len(m.order)}
		m.groups[g.name] = g
		m.order = append(m.order, g)
	}
	return g
}

// awake returns the volatile half of a group, new if it was idle.
func (m *Machine) awake(g *group) *live {
	if m.resume(g); g.live == nil {
		g.live = newLive(g)
	}
	return g.live
}

// settle lets go of the volatile half of a group when it has become idle, and of the group when nothing is left.
func (m *Machine) settle(g *group) {
	if g.live != nil && g.live.idle() {
		m.timers.disarm(&g.live.joinEnd)
		m.timers.disarm(&g.live.syncEnd)
		g.live = nil
	}
	m.release(g)
}

func (m *Machine) release(g *group) {
	if g.image != nil || g.live != nil || m.groups[g.name] != g {
		return
	}
	delete(m.groups, g.name)
	last := len(m.order) - 1
	m.order[last].place = g.place
	m.order[g.place] = m.order[last]
	m.order[last] = nil
	m.order = m.order[:last]
}
