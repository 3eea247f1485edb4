package differential

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// staticSequences are those of members with a group instance id (KIP-345).
func staticSequences(add adder) {
	for _, e := range eras(5, 9) {
		at := func(name string) string { return fmt.Sprintf("static/%s/v%d", name, e) }
		// back is the same instance in a new process: no member id, another client id.
		back := func(m *Member, name string) *Member {
			n := m.g.Member(name)
			n.Instance, n.Protos = m.Instance, m.Protos
			return n
		}
		add(at("first join gets no 79"), "2.14 3.38 8.3 9.T17 2.17", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a := g.Static("a", "i1")
			r := a.Join().Joined()
			s.Check(r.Generation == 1 && a.ID[:3] == "i1-", "member id %q", a.ID)
			a.Sync(a.ID, "x").Want(0)
			g.Describe(a.conn)
			g.List(a.conn)
		})
		add(at("follower comes back, stable"), "3.30 3.31 3.32 6.13 8.36 8.44", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Static("a", "i1"), g.Static("b", "i2")
			g.Stable(a, b)
			n := back(b, "n")
			r := n.Join().Joined()
			s.Check(r.Generation == 2 && n.ID != b.ID, "generation %d", r.Generation)
			n.Sync().Want(0)
			a.Heartbeat().Want(0)
			n.Heartbeat().Want(0)
			g.Describe(n.conn)
			again := back(b, "again")
			again.Join().Joined()
			again.Sync().Want(0)
			n.Heartbeat().Want(82)
		})
		add(at("leader comes back, stable"), "3.30 3.31 3.32 3.33 8.37 8.38", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Static("a", "i1"), g.Static("b", "i2")
			g.Stable(a, b)
			n := back(a, "n")
			r := n.Join().Joined()
			s.Check(r.Generation == 2, "generation %d", r.Generation)
			if e >= 9 {
				s.Check(r.SkipAssignment && len(r.Members) == 2 && r.LeaderID == n.ID, "skip %v", r.SkipAssignment)
			} else {
				s.Check(len(r.Members) == 0 && r.LeaderID == a.ID, "leader %s, %d members", r.LeaderID, len(r.Members))
			}
			n.Sync().Want(0)
			b.Heartbeat().Want(0)
			g.Describe(n.conn)
			// It leads all the same: its next join rebalances.
			j := n.Join()
			j.Silent(lull)
			jb := b.Join()
			j.Joined()
			jb.Joined()
		})
		add(at("metadata alone changes nothing"), "3.35 3.31", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Static("a", "i1"), g.Static("b", "i2")
			g.Stable(a, b)
			n := back(b, "n")
			n.Protos = protos("range", "other bytes")
			r := n.Join().Joined()
			s.Check(r.Generation == 2, "generation %d", r.Generation)
			n.Sync().Want(0)
			a.Heartbeat().Want(0)
			g.Describe(n.conn)
		})
		add(at("selected protocol changes"), "3.35 8.39", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Static("a", "i1"), g.Static("b", "i2")
			a.Protos = protos("one", "a1", "two", "a2")
			b.Protos = protos("one", "b1", "two", "b2")
			g.Stable(a, b)
			n := back(b, "n")
			n.Protos = protos("two", "n2")
			j := n.Join()
			j.Silent(lull)
			a.Heartbeat().Want(27)
			ja := a.Join()
			r := ja.Joined()
			s.Check(r.Generation == 3 && *r.Protocol == "two", "generation %d", r.Generation)
			j.Joined()
		})
		add(at("comes back while completing"), "3.36 3.27 8.40 8.41 9.T7", only(keyJoinGroup, keySyncGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Static("a", "i1"), g.Static("b", "i2")
			g.completing(a, b)
			sb := b.Sync()
			sb.Silent(lull)
			n := back(b, "n")
			j := n.Join()
			sb.Want(82)
			j.Silent(lull)
			a.Heartbeat().Want(27)
			a.Join().Joined()
			j.Joined()
			s.Check(n.Gen == 3, "generation %d", n.Gen)
		})
		add(at("comes back while preparing"), "3.36 3.30 8.41 8.47 3.41", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b, c := g.Static("a", "i1"), g.Static("b", "i2"), g.Member("c")
			g.Stable(a, b)
			jc := c.Enter()
			g.Await("PreparingRebalance", 3)
			jb := b.Join()
			jb.Silent(lull)
			n := back(b, "n")
			jn := n.Join()
			r := jb.Want(82).(*kmsg.JoinGroupResponse)
			s.Check(r.MemberID == b.ID, "member id %q", r.MemberID)
			jn.Silent(lull)
			ja := a.Join()
			ja.Joined()
			jn.Joined()
			jc.Joined()
		})
		add(at("the old one is fenced"), "3.30 3.39 2.20 2.24 2.29 2.34 1.P4 8.42 9.T20 3.37 3.38", only(keyJoinGroup, keySyncGroup, keyHeartbeat, keyLeaveGroup, keyOffsetCommit), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Static("a", "i1"), g.Static("b", "i2")
			g.Stable(a, b)
			n := back(b, "n")
			n.Join().Joined()
			n.Sync().Want(0)
			b.Heartbeat().Want(82)
			b.Sync().Want(82)
			b.Join().Want(82)
			b.Leave().Want(0, 82)
			commit := g.CommitRequest(b.Gen, b.ID, b.Instance, "orders", 0, 1)
			commit.Version = max(commit.Version, 7)
			b.conn.Send(commit).Want(82)
			// Without the instance id it is merely unknown.
			hb := b.HeartbeatRequest()
			hb.Version, hb.InstanceID = 2, nil
			b.conn.Send(hb).Want(25)
			hb.Version = 4
			b.conn.Send(hb).Want(25)
			// The instance is looked at first, then the member, then the generation.
			hb = n.HeartbeatRequest()
			hb.Generation = 99
			n.conn.Send(hb).Want(22)
			hb.MemberID = "nobody"
			n.conn.Send(hb).Want(82)
			hb.InstanceID = new("no such instance")
			n.conn.Send(hb).Want(25)
			hb.MemberID = n.ID
			n.conn.Send(hb).Want(25)
			n.Heartbeat().Want(0)
		})
		add(at("wrong pairs of id and instance"), "3.37 2.15 8.43 1.P4", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b, d := g.Static("a", "i1"), g.Static("b", "i2"), g.Member("d")
			g.Stable(a, b, d)
			x := g.Static("x", "i1")
			x.ID = "nobody"
			x.Join().Want(82)
			x.ID = b.ID
			x.Join().Want(82)
			x.ID = d.ID
			x.Join().Want(82)
			x.Instance = new("unknown")
			x.Join().Want(25)
			x.ID = a.ID
			x.Join().Want(25)
			x.Instance = nil
			x.ID = b.ID
			// A static member that leaves its instance out is found by its id.
			x.Protos = b.Protos
			x.Join().Answer()
			g.Describe(x.conn)
		})
		add(at("protocols of the one who comes back"), "2.14 2.16", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Static("a", "i1"), g.Static("b", "i2")
			g.Stable(a, b)
			n := back(b, "n")
			n.Protos = protos("nothing in common", "x")
			n.Join().Want(23)
			n.Protos = nil
			n.Join().Want(23)
			b.Heartbeat().Want(0)
		})
		add(at("removed by instance or id alone"), "2.29 2.30 3.40 8.64", only(keyLeaveGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b, c := g.Static("a", "i1"), g.Static("b", "i2"), g.Static("c", "i3")
			g.Stable(a, b, c)
			c.conn.Send(g.LeaveRequest("", "i2")).Want(0, 0)
			b.Heartbeat().Want(25)
			c.Heartbeat().Want(27)
			c.conn.Send(g.LeaveRequest(a.ID, "")).Want(0, 0)
			a.Heartbeat().Want(25)
			c.conn.Send(g.LeaveRequest("", "i2")).Want(0, 25)
			g.Describe(c.conn)
			c.Join().Joined()
			s.Check(c.Gen == 4 && c.Leader == c.ID, "generation %d", c.Gen)
		})
		add(at("a session that expires removes it"), "3.40 3.48 8.45 8.60", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Static("a", "i1"), g.Static("b", "i2")
			b.Session = 3000
			g.Stable(a, b)
			start := g.began
			g.Await("PreparingRebalance", 1)
			s.Timed("the session of b", start, 3*time.Second)
			b.Heartbeat().Want(25)
			a.Join().Joined()
		})
		add(at("not rejoined at the rebalance timeout, stays"), "3.12 3.13 8.45", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b, d := g.Static("a", "i1"), g.Static("b", "i2"), g.Member("d")
			for _, m := range []*Member{a, b, d} {
				m.Rebalance = 4000
			}
			g.Stable(a, b, d)
			start := time.Now()
			ja := a.Join()
			ja.Between(start, 4*time.Second, 4*time.Second)
			x := g.Describe(a.conn)
			s.Check(len(x.Members) == 2, "%d members", len(x.Members))
			d.Heartbeat().Want(25)
			// b is still a member, of a generation that it has not heard of.
			b.Heartbeat().Want(22)
			b.Join().Joined()
		})
		add(at("leader stays away"), "3.13 3.16 8.30", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Static("a", "i1"), g.Static("b", "i2")
			a.Rebalance, b.Rebalance = 4000, 4000
			g.Stable(a, b)
			b.Protos = protos("range", "changed")
			start := time.Now()
			jb := b.Join()
			r := jb.Between(start, 4*time.Second, 4*time.Second).(*kmsg.JoinGroupResponse)
			jb.adopt(r)
			s.Check(r.LeaderID == b.ID && len(r.Members) == 2, "leader %q, %d members", r.LeaderID, len(r.Members))
		})
		add(at("nobody rejoins, the phase goes on"), "3.13 8.31", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b, d := g.Static("a", "i1"), g.Static("b", "i2"), g.Member("d")
			a.Rebalance, b.Rebalance, d.Rebalance = 2500, 2500, 2500
			g.Stable(a, b, d)
			start := time.Now()
			d.Leave().Want(0)
			s.Pause(3500 * time.Millisecond)
			x := g.Describe(d.conn)
			s.Check(x.State == "PreparingRebalance" && len(x.Members) == 2, "state %s, %d members", x.State, len(x.Members))
			ja, jb := a.Join(), b.Join()
			s.inTime(jb, start, 4800*time.Millisecond)
			ja.Joined()
			jb.Joined()
		})
		add(at("the same instance twice at once"), "3.41 8.47", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, d := g.Member("a"), g.Static("d", "i9")
			g.Stable(a)
			first := d.Join()
			g.Await("PreparingRebalance", 2)
			second := back(d, "second")
			js := second.Join()
			first.Want(82)
			js.Silent(lull)
			a.Join().Joined()
			js.Joined()
			g.Describe(a.conn)
		})
		add(at("one id, two groups"), "3.30", only(keyJoinGroup), func(s *Script) {
			g, h := s.Group("g", e), s.Group("h", e)
			a, b := g.Static("a", "i1"), h.Static("b", "i1")
			g.Stable(a)
			h.Stable(b)
			a.Heartbeat().Want(0)
			b.Heartbeat().Want(0)
			x := g.Static("x", "")
			x.Join().Silent(lull)
		})
	}
}

// Timed records whether something that a timer does happened no earlier than after and not much later, counted from
// start.
func (s *Script) Timed(what string, start time.Time, after time.Duration) {
	st := Step{Label: what, Kind: "in time"}
	took := time.Since(start)
	switch {
	case took < after-after/10-50*time.Millisecond:
		st.Kind, st.Mismatch = "too early", fmt.Sprintf("after %v, the timer says %v", took, after)
	case took > after+slack:
		st.Kind, st.Mismatch = "too late", fmt.Sprintf("after %v, the timer says %v", took, after)
	}
	s.steps = append(s.steps, st)
}
