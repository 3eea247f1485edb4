package differential

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// delaySequences are those of the initial rebalance delay; they need the slow profile. An offset keeps their groups
// from being swept before the first member is in.
func delaySequences(add adder) {
	const d = initialDelay
	for _, e := range eras(0, 9) {
		at := func(name string) string { return fmt.Sprintf("delay/%s/v%d", name, e) }
		group := func(s *Script) *Group {
			g := s.Group("g", e)
			g.CommitSimple(s.Conn("keep"), "orders", 0, 1).Want(0)
			return g
		}
		add(at("one member"), "3.8 3.10 8.11 9.T18", only(keyJoinGroup), func(s *Script) {
			g := group(s)
			a := g.Member("a")
			a.ready()
			start := time.Now()
			j := a.Join()
			r := asJoin(j.Between(start, d, d))
			s.Check(r.Generation == 1, "generation %d", r.Generation)
		})
		add(at("extended by new members"), "3.8 3.10 8.12", only(keyJoinGroup), func(s *Script) {
			g := group(s)
			a, b, c := g.Member("a"), g.Member("b"), g.Member("c")
			for _, m := range []*Member{a, b, c} {
				m.ready()
			}
			start := time.Now()
			ja := a.Join()
			g.Await("PreparingRebalance", 1)
			began := time.Now()
			s.Pause(d / 4)
			jb := b.Join()
			g.Await("PreparingRebalance", 2)
			s.OnTime(start, d)
			// Within the second window, which b's arrival gave: it begins d after the first join at the earliest.
			s.Pause(d + d/4 - time.Since(began))
			jc := c.Join()
			g.Await("PreparingRebalance", 3)
			s.OnTime(start, 2*d)
			r := asJoin(ja.Between(start, 3*d, 3*d))
			ja.adopt(r)
			s.Check(len(r.Members) == 3 && r.Generation == 1, "%d members, generation %d", len(r.Members), r.Generation)
			jb.Joined()
			jc.Joined()
		})
		if e > 0 {
			add(at("capped by the rebalance timeout"), "3.8 8.12", only(keyJoinGroup), func(s *Script) {
				g := group(s)
				a, b := g.Member("a"), g.Member("b")
				a.Rebalance, b.Rebalance = int32((d + d/2).Milliseconds()), 100
				a.ready()
				b.ready()
				start := time.Now()
				ja := a.Join()
				g.Await("PreparingRebalance", 1)
				jb := b.Join()
				g.Await("PreparingRebalance", 2)
				s.OnTime(start, d)
				r := asJoin(ja.Between(start, d+d/2, d+d/2))
				s.Check(len(r.Members) == 2, "%d members", len(r.Members))
				jb.Joined()
			})
			add(at("rebalance timeout below the delay"), "3.8", only(keyJoinGroup), func(s *Script) {
				g := group(s)
				a := g.Member("a")
				a.Rebalance = int32((d / 4).Milliseconds())
				a.ready()
				start := time.Now()
				j := a.Join()
				j.Between(start, d/4, d)
			})
		}
		add(at("applies again after empty"), "3.9 8.13 9.T18", only(keyJoinGroup), func(s *Script) {
			g := group(s)
			a := g.Member("a")
			a.Enter().Joined()
			a.Sync(a.ID, "x").Want(0)
			a.Leave().Want(0)
			b := g.Member("b")
			b.ready()
			start := time.Now()
			j := b.Join()
			r := asJoin(j.Between(start, d, d))
			s.Check(r.Generation == 3, "generation %d", r.Generation)
		})
		add(at("not in later rebalances"), "3.11 3.8", only(keyJoinGroup), func(s *Script) {
			g := group(s)
			a, b := g.Member("a"), g.Member("b")
			a.Enter().Joined()
			a.Sync(a.ID, "x").Want(0)
			jb := b.Enter()
			g.Await("PreparingRebalance", 2)
			start := time.Now()
			a.Join().Joined()
			// Had the delay applied, it would have taken that long; if it did not, a slow machine does not matter.
			if time.Since(start) >= d {
				panic(errSlow)
			}
			jb.Joined()
		})
		add(at("leave during the window"), "3.8 3.29 3.6", only(keyJoinGroup, keyLeaveGroup), func(s *Script) {
			g := group(s)
			a, b := g.Member("a"), g.Member("b")
			a.ready()
			b.ready()
			start := time.Now()
			ja := a.Join()
			g.Await("PreparingRebalance", 1)
			jb := b.Join()
			g.Await("PreparingRebalance", 2)
			s.OnTime(start, d)
			if e >= 4 {
				s.Conn("admin").Send(g.LeaveRequest(a.ID, "")).Want(0)
				ja.Want(25)
			} else {
				ja.Silent(0)
			}
			r := asJoin(jb.Between(start, 2*d, 2*d))
			s.Check(r.Generation == 1, "generation %d", r.Generation)
		})
		add(at("an early sync and heartbeat"), "3.8 2.20 2.24", only(keyJoinGroup), func(s *Script) {
			g := group(s)
			a := g.Member("a")
			start := time.Now()
			j := a.Enter()
			g.Await("PreparingRebalance", 1)
			other := s.Conn("other")
			id := a.ID
			if e < 4 {
				id = g.describe().Members[0].MemberID
			}
			hb := a.HeartbeatRequest()
			for _, gen := range []int32{0, 1, -1} {
				hb.MemberID, hb.Generation = id, gen
				other.Send(hb).Answer()
			}
			sy := a.SyncRequest()
			sy.MemberID, sy.Generation = id, 0
			other.Send(sy).Answer()
			other.Send(g.CommitRequest(0, id, nil, "orders", 0, 9)).Answer()
			other.Send(g.CommitRequest(-1, "", nil, "orders", 0, 9)).Answer()
			g.Describe(other)
			g.List(other)
			s.OnTime(start, d)
			j.Joined()
		})
	}
}

// ready fetches the member id that a dynamic member needs from version 4 on.
func (m *Member) ready() {
	if m.ID == "" && m.Instance == nil && m.g.era.of(keyJoinGroup) >= 4 {
		m.FetchID()
	}
}

// sweepSequences are those of offset expiry; they need the slow profile, where the sweep comes every second and
// offsets are kept for a minute.
func sweepSequences(add adder) {
	gone := func(g *Group) func() bool {
		return func() bool { return g.describe().State == "Dead" }
	}
	for _, e := range eras(2, 4) {
		add(fmt.Sprintf("expiry/explicit retention/v%d", e), "1.14 4.1 4.17 4.18 4.21 8.76", only(keyOffsetCommit), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			commit := func(partition int32, retention int64) {
				r := g.CommitRequest(-1, "", nil, "orders", partition, 7)
				r.RetentionTimeMillis = retention
				c.Send(r).Want(0)
			}
			commit(0, 2500)
			commit(1, -1)
			commit(2, 0)
			commit(3, 3600000)
			g.describeTwice(s)
			s.until("the offset with its own retention to go", func() bool { return !g.hasOffset(0) && !g.hasOffset(2) })
			g.Fetch(c)
			g.Describe(c)
		})
		add(fmt.Sprintf("expiry/explicit retention, all gone/v%d", e), "4.18 4.21 8.85", only(keyOffsetCommit), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			r := g.CommitRequest(-1, "", nil, "orders", 0, 7)
			r.RetentionTimeMillis = 1500
			c.Send(r).Want(0)
			s.until("the group to go", gone(g))
			g.Fetch(c)
			g.Describe(c)
			g.List(c)
		})
		add(fmt.Sprintf("expiry/explicit retention in a live group/v%d", e), "4.17 4.18 4.22 8.84", only(keyOffsetCommit), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.Protos = protos("range", subscription(0, "orders"))
			m.oldJoin().Joined()
			m.Sync(m.ID, "x").Want(0)
			for _, topic := range []string{"orders", "extra"} {
				r := g.CommitRequest(m.Gen, m.ID, nil, topic, 0, 7)
				r.RetentionTimeMillis = 1000
				m.conn.Send(r).Want(0)
			}
			s.Pause(4 * time.Second)
			m.Heartbeat().Want(0)
			g.Fetch(m.conn)
			g.Describe(m.conn)
		})
	}
	for _, e := range []era{0, 5, 9} {
		at := func(name string) string { return fmt.Sprintf("expiry/%s/v%d", name, e) }
		add(at("an empty group without offsets goes"), "4.21 8.85 6.15", only(keyJoinGroup, keyDescribeGroups, keyListGroups), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.oldJoin().Joined()
			m.Sync(m.ID, "x").Want(0)
			s.Pause(2500 * time.Millisecond)
			m.Heartbeat().Want(0)
			m.Leave().Want(0)
			s.until("the group to go", gone(g))
			g.Describe(m.conn)
			g.List(m.conn)
			m.Heartbeat().Want(25)
			n := g.Member("n")
			n.oldJoin().Joined()
			s.Check(n.Gen == 1, "generation %d", n.Gen)
		})
		add(at("offsets of a simple group go a minute after the commit"), "4.17 4.18 4.21 8.84 5.1", only(keyOffsetCommit, keyOffsetFetch), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			g.CommitSimple(c, "orders", 0, 1).Want(0)
			start := time.Now()
			s.Pause(20 * time.Second)
			g.CommitSimple(c, "orders", 1, 2).Want(0)
			s.OnTime(start, 22*time.Second)
			s.patient("the first offset to go", 80*time.Second, func() bool { return !g.hasOffset(0) })
			s.Timed("the retention of the first offset", start, 60*time.Second)
			g.Fetch(c)
			s.patient("the group to go", 40*time.Second, gone(g))
			s.Timed("the retention of the second offset", start, 80*time.Second)
			g.Fetch(c)
		})
		add(at("offsets of an empty group go a minute after it became empty"), "3.5 4.17 4.19 4.21 8.84 9.T12", only(keyOffsetCommit, keyOffsetFetch), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.oldJoin().Joined()
			m.Sync(m.ID, "x").Want(0)
			m.Commit("orders", 0, 1).Want(0)
			m.Leave().Want(0)
			start := time.Now()
			s.Pause(25 * time.Second)
			// A later commit does not extend it.
			g.CommitSimple(m.conn, "orders", 1, 2).Want(0)
			g.Fetch(m.conn)
			s.patient("the group to go", 80*time.Second, gone(g))
			s.Timed("the retention of the empty group", start, 60*time.Second)
			g.Fetch(m.conn)
		})
		add(at("a live group keeps subscribed topics"), "4.17 4.20 4.22 4.25 8.84", only(keyOffsetCommit, keyOffsetFetch), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.Protos = protos("range", subscription(0, "orders"))
			m.Session = 60000
			m.oldJoin().Joined()
			m.Sync(m.ID, "x").Want(0)
			m.Commit("orders", 0, 1).Want(0)
			m.Commit("extra", 0, 2).Want(0)
			start := time.Now()
			for range 3 {
				s.Pause(15 * time.Second)
				m.Heartbeat().Want(0)
			}
			g.Fetch(m.conn)
			s.patient("the offset of the other topic to go", 60*time.Second, func() bool { return !g.hasTopicOffset("extra", 0) })
			s.Timed("the retention of the other topic", start, 60*time.Second)
			m.Heartbeat().Want(0)
			g.Fetch(m.conn)
			g.Describe(m.conn)
		})
		add(at("unparsable subscriptions and other types keep all"), "4.17 4.20 4.22 8.84", only(keyOffsetCommit, keyOffsetFetch), func(s *Script) {
			var ms []*Member
			for i, kind := range []string{"consumer", "connect"} {
				g := s.Group(fmt.Sprint("g", i), e)
				m := g.Member(fmt.Sprint("m", i))
				m.Type, m.Session = kind, 60000
				m.oldJoin().Joined()
				m.Sync(m.ID, "x").Want(0)
				m.Commit("orders", 0, 1).Want(0)
				ms = append(ms, m)
			}
			for range 4 {
				s.Pause(17 * time.Second)
				for _, m := range ms {
					m.Heartbeat().Want(0)
				}
			}
			for _, m := range ms {
				m.g.Fetch(m.conn)
			}
		})
	}
	add("expiry/a pending member does not hold its group/v9", "4.21 3.51", only(keyJoinGroup), func(s *Script) {
		g := s.Group("g", 9)
		p := g.Member("p")
		p.FetchID()
		s.until("the group to go", gone(g))
		g.Describe(p.conn)
		p.Join().Want(25)
	})
}

// oldJoin joins at version 3 at most: no pending member id, whose group the next sweep could remove.
func (m *Member) oldJoin() *Call {
	r := m.JoinRequest()
	r.Version = min(r.Version, 3)
	c := m.conn.Send(r)
	c.member = m
	return c
}

// describeTwice records the group's description and its offsets while they are all there.
func (g *Group) describeTwice(s *Script) {
	c := s.Conn("look")
	g.Describe(c)
	s.Check(g.hasOffset(1), "no offset")
}

// hasOffset asks, without recording, for the offset of a partition of orders.
func (g *Group) hasOffset(partition int32) bool { return g.hasTopicOffset("orders", partition) }

func (g *Group) hasTopicOffset(topic string, partition int32) bool {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version, r.Group = 5, g.ID
	t := kmsg.NewOffsetFetchRequestTopic()
	t.Topic, t.Partitions = topic, []int32{partition}
	r.Topics = append(r.Topics, t)
	resp := g.s.ask(r).(*kmsg.OffsetFetchResponse)
	return len(resp.Topics) == 1 && len(resp.Topics[0].Partitions) == 1 && resp.Topics[0].Partitions[0].Offset != -1
}

// sizeSequences are those of group.max.size, which is four.
func sizeSequences(add adder) {
	for _, e := range eras(0, 9) {
		at := func(name string) string { return fmt.Sprintf("size/%s/v%d", name, e) }
		four := func(g *Group) []*Member {
			var ms []*Member
			for i := range maxMembers {
				ms = append(ms, g.Member(fmt.Sprint("m", i)))
			}
			g.Stable(ms...)
			return ms
		}
		add(at("full and stable"), "2.12 2.18 8.32", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			ms := four(g)
			n := g.Member("n")
			n.Join().Want(81)
			// Before the protocols are looked at.
			n.Protos = protos("nothing in common", "x")
			n.Join().Want(81)
			n.Protos = nil
			n.Join().Want(81)
			n.ID = "nobody"
			n.Join().Want(81)
			if e >= 5 {
				x := g.Static("x", "i1")
				x.Join().Want(81)
			}
			ms[1].Join().Joined()
			ms[0].Heartbeat().Want(0)
			ms[3].Leave().Want(0)
			n = g.Member("n2")
			if e >= 4 {
				n.Join().Want(79)
			}
		})
		add(at("existing members rejoin while preparing"), "2.12 8.33", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			ms := four(g)
			var calls []*Call
			for i, m := range ms[:3] {
				if i == 1 {
					g.Await("PreparingRebalance", 4)
				}
				calls = append(calls, m.Join())
			}
			calls[2].Silent(lull)
			n := g.Member("n")
			if e >= 4 {
				n.FetchID()
				// Only three joins are parked: the newcomer takes the place of the slow one.
				jn := n.Join()
				jn.Silent(lull)
				g.Await("PreparingRebalance", 5)
				// Now four are, and the slow one is one too many: it is removed. Kafka does not look whether that completes
				// the phase; the next removal or the timer does.
				ms[3].Join().Want(81)
				ms[3].Heartbeat().Want(25)
				calls[0].Silent(lull)
				look := s.Conn("look")
				g.Describe(look)
				look.Send(g.LeaveRequest(ms[2].ID, "")).Want(0)
				calls[2].Want(25)
				calls[0].Joined()
				calls[1].Joined()
				jn.member = n
				jn.Joined()
				g.Describe(look)
			} else {
				calls = append(calls, ms[3].Join())
				for _, c := range calls {
					c.Joined()
				}
			}
		})
		add(at("full while completing"), "2.12 8.32", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			ms := four(g)
			var calls []*Call
			for i, m := range ms {
				calls = append(calls, m.Join())
				if i == 0 {
					g.Await("PreparingRebalance", 4)
				}
			}
			for _, c := range calls {
				c.Joined()
			}
			n := g.Member("n")
			n.Join().Want(81)
			ms[2].Join().Joined()
			g.Describe(n.conn)
		})
		if e >= 4 {
			add(at("pending ids do not count"), "2.13 8.32", only(keyJoinGroup), func(s *Script) {
				g := s.Group("g", e)
				ms := []*Member{g.Member("m0"), g.Member("m1"), g.Member("m2")}
				g.Stable(ms...)
				var pend []*Member
				for i := range 3 {
					p := g.Member(fmt.Sprint("p", i))
					p.FetchID()
					pend = append(pend, p)
				}
				j := pend[0].Join()
				g.Await("PreparingRebalance", 4)
				// Fewer joins are parked than members allowed.
				pend[1].Join().Silent(lull)
				j.Silent(0)
				g.Describe(s.Conn("look"))
			})
		}
	}
}
