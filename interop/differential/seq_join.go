package differential

import (
	"fmt"
	"strings"
)

// adder registers a sequence: name, numbered lines (separated by spaces), the APIs they are about, and the script.
type adder func(name, lines string, focus []int16, run func(*Script))

func only(keys ...int16) []int16 { return keys }

// joinSequences are those of a first or a refused JoinGroup.
func joinSequences(add adder) {
	for _, e := range eras(0, 9) {
		at := func(name string) string { return fmt.Sprintf("join/%s/v%d", name, e) }
		add(at("first member"), "1.1 1.9 1.10 1.11 1.12 1.13 1.17 1.18 2.9 2.11 2.14 2.17 3.1 3.2 3.3 3.14 3.16 6.9 6.10 8.1 8.2 8.27 9.T8",
			only(keyJoinGroup, keySyncGroup, keyHeartbeat, keyLeaveGroup, keyDescribeGroups, keyListGroups), func(s *Script) {
				g := s.Group("g", e)
				look := s.Conn("look")
				m := g.Member("m")
				if e >= 4 {
					m.FetchID()
					s.Check(strings.HasPrefix(m.ID, "m-"), "member id %q", m.ID)
					g.Await("Empty", 0)
					g.Describe(look)
					g.List(look)
				}
				r := m.Join().Joined()
				s.Check(r.Generation == 1 && r.LeaderID == r.MemberID && len(r.Members) == 1, "generation %d, leader %q, %d members", r.Generation, r.LeaderID, len(r.Members))
				d := g.Describe(look)
				s.Check(d.State == "CompletingRebalance", "state %s", d.State)
				g.List(look)
				m.Sync(m.ID, "mine").Want(0)
				d = g.Describe(look)
				s.Check(d.State == "Stable", "state %s", d.State)
				g.List(look)
				m.Heartbeat().Want(0)
				m.Leave().Want(0)
				d = g.Describe(look)
				s.Check(d.State == "Empty", "state %s", d.State)
			})
		add(at("unknown member, missing group"), "2.10 2.18 1.10 8.4 8.26 9.T2", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.ID = "never-issued"
			m.Join().Want(25)
			s.Check(len(g.List(m.conn)) == 0, "the group was created")
		})
		add(at("empty group id"), "2.6 2.9 2.18", only(keyJoinGroup), func(s *Script) {
			m := s.Group("g", e).Member("m")
			r := m.JoinRequest()
			r.Group = ""
			m.conn.Send(r).Want(24)
			r.SessionTimeoutMillis = 1
			m.conn.Send(r).Want(24)
			r.MemberID = "x"
			m.conn.Send(r).Want(24)
		})
		add(at("session timeout bounds"), "2.9 2.18 8.10", only(keyJoinGroup), func(s *Script) {
			for _, ms := range []int32{-1, 0, minSession - 1, minSession, maxSession, maxSession + 1, 1 << 30} {
				g := s.Group(fmt.Sprint("g", ms), e)
				m := g.Member("m")
				m.Session = ms
				switch c := m.Join(); {
				case ms < minSession || ms > maxSession:
					c.Want(26)
				case e >= 4:
					c.Want(79)
				default:
					c.Want(0)
				}
			}
			m := s.Group("missing", e).Member("m")
			m.Session, m.ID = 1, "never-issued"
			m.Join().Want(26)
		})
		add(at("empty protocol type"), "2.11 2.16 2.14 8.5 8.9 8.26", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.Type = ""
			m.Join().Want(23)
			// The refusal does not wait until the new group is on disk and visible.
			g.Await("Empty", 0)
			g.List(m.conn)
			g.Describe(m.conn)
		})
		add(at("empty protocol list"), "2.11 2.16 2.14 8.6 8.9 8.26", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.Protos = nil
			m.Join().Want(23)
			// The refusal does not wait until the new group is on disk and visible.
			g.Await("Empty", 0)
			g.List(m.conn)
			g.Describe(m.conn)
		})
		add(at("other protocol type"), "2.14 2.15 2.16 2.18 8.7", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			g.Stable(a)
			b.Type = "connect"
			b.Join().Want(23)
			a.Type = "connect"
			a.Join().Want(23)
			a.Type = ""
			a.Join().Want(23)
			g.Describe(b.conn)
		})
		add(at("no common protocol"), "2.14 2.15 2.16 2.18 8.8", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b, c := g.Member("a"), g.Member("b"), g.Member("c")
			a.Protos = protos("range", "r", "sticky", "s")
			b.Protos = protos("sticky", "s", "other", "o")
			g.Stable(a, b)
			c.Protos = protos("range", "r", "other", "o")
			c.Join().Want(23)
			c.Protos = nil
			c.Join().Want(23)
			a.Protos = protos("nothing", "n")
			a.Join().Want(23)
			a.Protos = nil
			a.Join().Want(23)
			g.Describe(c.conn)
			g.List(c.conn)
		})
		add(at("unknown member, known group"), "2.15 2.18 3.24 1.P4", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			g.Stable(a)
			b.ID = "never-issued"
			b.Join().Want(25)
			a.Leave().Want(0)
			b.Join().Want(25)
			a.Join().Want(25)
			g.Describe(b.conn)
		})
		add(at("null client id"), "2.17 6.11", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.conn = s.AnonymousConn("null")
			if e >= 4 {
				m.FetchID()
			}
			m.Join().Joined()
			g.Describe(m.conn)
		})
		add(at("empty client id, odd bytes"), "2.17 6.11", only(keyJoinGroup), func(s *Script) {
			empty, odd := "", "ä-日本 %s"
			for i, id := range []*string{&empty, &odd} {
				g := s.Group(fmt.Sprint("g", i), e)
				m := g.Member("m")
				m.conn = s.dial(s.target.Addr(), fmt.Sprint("c", i), id)
				if e >= 4 {
					m.FetchID()
				}
				m.Join().Joined()
				g.Describe(m.conn)
			}
		})
		add(at("timeouts taken literally"), "3.54 1.9", only(keyJoinGroup), func(s *Script) {
			for _, ms := range []int32{-1, 0} {
				g := s.Group(fmt.Sprint("g", ms), e)
				m := g.Member("m")
				m.Rebalance = ms
				m.Enter().Joined()
				if e == 0 {
					continue
				}
				// The time to sync is the rebalance timeout too: the member is gone at once.
				g.Await("Empty", 0)
				m.Heartbeat().Want(25)
				g.Describe(m.conn)
			}
		})
		add(at("protocol type may change when empty"), "3.19 3.5 2.16", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			g.Stable(a)
			a.Leave().Want(0)
			g.List(a.conn)
			b.Type, b.Protos = "connect", protos("compatible", "x")
			g.Stable(b)
			s.Check(b.Gen == 3, "generation %d", b.Gen)
			g.Describe(b.conn)
		})
		add(at("vote"), "3.17 3.18 8.28", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b, c := g.Member("a"), g.Member("b"), g.Member("c")
			a.Protos = protos("one", "1a", "two", "2a", "only a", "x")
			b.Protos = protos("two", "2b", "one", "1b")
			c.Protos = protos("two", "2c", "one", "1c", "three", "3")
			g.Stable(a, b, c)
			d := g.Describe(c.conn)
			s.Check(d.Protocol == "two", "protocol %q", d.Protocol)
		})
		add(at("rolling change of the assignor"), "3.18", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			a.Protos = protos("old", "oa")
			b.Protos = protos("new", "nb", "old", "ob")
			g.Stable(a, b)
			d := g.Describe(a.conn)
			s.Check(d.Protocol == "old", "protocol %q", d.Protocol)
			a.Protos = protos("new", "na", "old", "oa")
			ca := a.Join()
			g.Await("PreparingRebalance", 2)
			cb := b.Join()
			ca.Joined()
			cb.Joined()
			g.SyncAll(a, b)
			d = g.Describe(a.conn)
			s.Check(d.Protocol == "new", "protocol %q", d.Protocol)
		})
		add(at("generation grows"), "3.4 8.25 3.6 8.65", only(keyJoinGroup, keyLeaveGroup), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.Enter().Joined()
			for want := int32(2); want < 6; want++ {
				m.Sync(m.ID, "x").Want(0)
				m.Join().Joined()
				s.Check(m.Gen == want, "generation %d", m.Gen)
			}
			m.Leave().Want(0)
			n := g.Member("n")
			n.Enter().Joined()
			s.Check(n.Gen == 7, "generation %d", n.Gen)
		})
	}
	for _, e := range eras(8, 9) {
		add(fmt.Sprintf("join/reason/v%d", e), "3.61 1.9", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.FetchID()
			for _, reason := range []string{"", "because", strings.Repeat("long ", 2000)} {
				m.Reason = new(reason)
				m.Join().Joined()
				m.Sync(m.ID, "x").Want(0)
			}
		})
	}
}
