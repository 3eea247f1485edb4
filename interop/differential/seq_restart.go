package differential

import (
	"fmt"
	"time"
)

// restartSequences are those that see the coordinator stopped and started again in their middle.
func restartSequences(add adder) {
	all := only(keyJoinGroup, keySyncGroup, keyHeartbeat, keyOffsetCommit, keyOffsetFetch, keyDescribeGroups, keyListGroups, keyLeaveGroup)
	for _, e := range eras(0, 10) {
		at := func(name string) string { return fmt.Sprintf("restart/%s/v%d", name, e) }
		add(at("a stable group goes on"), "3.55 3.56 4.5 8.91 8.95", all, func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			a.Session, b.Session = maxSession, maxSession
			g.Stable(a, b)
			a.Commit("orders", 0, 17).Want(0)
			a.conn.Send(g.CommitAll(a.Gen, a.ID, nil, commit{"orders", 1, 5, new("with metadata"), 3})).Want(0)
			s.Restart()
			a.Again()
			b.Again()
			a.Heartbeat().Want(0)
			b.Heartbeat().Want(0)
			b.Sync().Want(0)
			g.Describe(a.conn)
			g.List(a.conn)
			g.Fetch(a.conn)
			b.Commit("orders", 2, 18).Want(0)
			ja := a.Join()
			ja.Silent(lull)
			b.Heartbeat().Want(27)
			b.Join().Joined()
			ja.Joined()
			s.Check(a.Gen == 3 && a.Leader == a.ID, "generation %d, leader %q", a.Gen, a.Leader)
			g.SyncAll(a, b)
			a.Leave().Want(0)
		})
		add(at("offsets of a simple and of an empty group"), "3.55 4.5 8.95 6.14", all, func(s *Script) {
			g, h, d := s.Group("g", e), s.Group("h", e), s.Group("deleted", e)
			c := s.Conn("c")
			g.CommitSimple(c, "orders", 3, 1<<40).Want(0)
			d.CommitSimple(c, "orders", 0, 1).Want(0)
			c.Send(d.DeleteGroupsRequest(d.ID)).Want(0)
			m := h.Member("m")
			h.Stable(m)
			m.Commit("extra", 1, 3).Want(0)
			m.Commit("orders", 1, 4).Want(0)
			m.Leave().Want(0)
			h.Await("Empty", 0)
			c.Send(h.DeleteOffsetsRequest(tp{"orders", []int32{1}})).Want(0)
			s.Restart()
			c = s.Conn("c'")
			g.List(c)
			for _, x := range []*Group{g, h, d} {
				x.Fetch(c)
				x.Describe(c)
			}
			n := h.Member("n")
			h.Stable(n)
			s.Check(n.Gen == 3, "generation %d", n.Gen)
		})
	}
	for _, e := range []era{0, 3, 4, 9} {
		at := func(name string) string { return fmt.Sprintf("restart/%s/v%d", name, e) }
		add(at("sessions start in full"), "3.56 8.91 3.48", only(keyHeartbeat, keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			a.Session, b.Session = maxSession, maxSession
			g.Stable(a, b)
			b.Session = 15000
			ja, jb := a.Join(), (*Call)(nil)
			g.Await("PreparingRebalance", 2)
			jb = b.Join()
			ja.Joined()
			jb.Joined()
			g.SyncAll(a, b)
			s.keepAlive(b)
			s.Restart()
			start := time.Now()
			a.Again()
			b.Again()
			s.patient("b to be removed", time.Minute, func() bool { return len(g.describe().Members) == 1 })
			// The session starts when the group has been loaded, which is some time before both sides are back. It had run
			// for seconds before the crash, and neither the restart nor what was left of it then may end it early.
			s.Check(time.Since(start) > 5*time.Second, "b was removed %v after the restart", time.Since(start))
			b.Heartbeat().Want(25)
			a.Heartbeat().Want(27)
		})
		add(at("joined but not synced"), "3.55 3.56 8.92", only(keySyncGroup, keyHeartbeat, keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			a.Session, b.Session = maxSession, maxSession
			g.Stable(a, b)
			ja := a.Join()
			g.Await("PreparingRebalance", 2)
			b.Join().Joined()
			ja.Joined()
			s.Restart()
			a.Again()
			b.Again()
			// Kafka has forgotten generation 3, ours has not: nothing may be decided by a number that is handed out twice.
			a.Heartbeat().Diverges("D3", "22", "0", patience)
			// There the leader of generation 2 starts a rebalance; here it is still the same join phase that it asks about.
			a.Join().Diverges("D3", "none", "0", time.Second)
		})
		add(at("parked requests are answered"), "3.59 8.93", only(keyJoinGroup, keySyncGroup), func(s *Script) {
			g, h := s.Group("g", e), s.Group("h", e)
			a, b := g.Member("a"), g.Member("b")
			c, d := h.Member("c"), h.Member("d")
			for _, m := range []*Member{a, b, c, d} {
				m.Session = maxSession
			}
			g.Stable(a, b)
			h.completing(c, d)
			ja, sd := a.Join(), d.Sync()
			ja.Silent(lull)
			sd.Silent(lull)
			s.Restart()
			// Kafka races with itself here: the answers leave only if its listener is still open.
			ja.EitherOf("16", "closed")
			sd.EitherOf("16", "closed")
			a.Again()
			b.Again()
			// The rebalance that had begun is forgotten too.
			b.Heartbeat().Want(0)
			g.Describe(a.conn)
		})
	}
	for _, e := range []era{4, 5, 9} {
		at := func(name string) string { return fmt.Sprintf("restart/%s/v%d", name, e) }
		add(at("pending ids are forgotten"), "3.56 8.94 3.51", only(keyJoinGroup), func(s *Script) {
			g, h := s.Group("g", e), s.Group("h", e)
			p, q, a := g.Member("p"), h.Member("q"), h.Member("a")
			a.Session, p.Session, q.Session = maxSession, maxSession, maxSession
			p.FetchID()
			g.Await("Empty", 0)
			h.Stable(a)
			q.FetchID()
			s.Restart()
			p.Again()
			q.Again()
			p.Join().Want(25)
			q.Join().Want(25)
			g.Describe(p.conn)
			h.Describe(p.conn)
		})
	}
	for _, e := range []era{5, 7, 9} {
		at := func(name string) string { return fmt.Sprintf("restart/%s/v%d", name, e) }
		add(at("static members"), "3.30 3.31 3.55 3.56 8.91 9.T7", only(keyJoinGroup, keyHeartbeat), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Static("a", "i1"), g.Static("b", "i2")
			a.Session, b.Session = maxSession, maxSession
			g.Stable(a, b)
			n := g.Static("n", "i2")
			n.Session, n.Protos = maxSession, b.Protos
			n.Join().Joined()
			s.Restart()
			a.Again()
			b.Again()
			n.Again()
			a.Heartbeat().Want(0)
			n.Heartbeat().Want(0)
			b.Heartbeat().Want(82)
			n.Sync().Want(0)
			g.Describe(a.conn)
			m := g.Static("m", "i1")
			m.Session, m.Protos = maxSession, a.Protos
			m.Join().Joined()
			m.Sync().Want(0)
			a.Heartbeat().Want(82)
		})
	}
	for _, e := range []era{1, 9} {
		add(fmt.Sprintf("restart/only the selected protocol is kept/v%d", e), "3.57", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			a.Session, b.Session = maxSession, maxSession
			a.Protos = protos("one", "a1", "two", "a2")
			b.Protos = protos("one", "b1", "two", "b2")
			g.Stable(a, b)
			s.Restart()
			a.Again()
			b.Again()
			// An unchanged follower: Kafka does not remember its second protocol and rebalances.
			b.Join().Diverges("D4", "none", "0", time.Second)
		})
	}
}

// keepAlive sends one heartbeat, so that a short session starts as late as possible before a restart.
func (s *Script) keepAlive(m *Member) { m.Heartbeat().Want(0) }
