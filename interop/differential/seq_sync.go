package differential

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// syncSequences are those of SyncGroup.
func syncSequences(add adder) {
	for _, e := range eras(0, 5) {
		at := func(name string) string { return fmt.Sprintf("sync/%s/v%d", name, e) }
		add(at("refusals in order"), "2.20 2.6 1.11 8.48 8.57 9.T2", only(keySyncGroup), func(s *Script) {
			g := s.Group("g", e)
			a := g.Member("a")
			a.ID, a.Gen = "nobody", 1
			a.Sync().Want(25)
			r := a.SyncRequest()
			r.Group = ""
			a.conn.Send(r).Want(24)
			a.ID = ""
			g.Stable(a)
			r = a.SyncRequest()
			r.MemberID, r.Generation = "nobody", 7
			a.conn.Send(r).Want(25)
			for _, gen := range []int32{-1, 0, 2, 1 << 30} {
				r = a.SyncRequest()
				r.Generation = gen
				a.conn.Send(r).Want(22)
			}
			r = a.SyncRequest()
			r.MemberID = ""
			a.conn.Send(r).Want(25)
			a.Leave().Want(0)
			a.Sync().Want(25)
		})
		add(at("generation before state while preparing"), "2.20 2.22 8.50 3.28", only(keySyncGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			g.Stable(a, b)
			ja := a.Join()
			ja.Silent(lull)
			b.Sync().Want(27)
			r := b.SyncRequest()
			r.Generation = 1
			b.conn.Send(r).Want(22)
			r.Generation = 3
			b.conn.Send(r).Want(22)
		})
		add(at("follower first"), "2.20 2.23 3.42 3.45 3.47 8.51 8.55", only(keySyncGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			g.completing(a, b)
			sb := b.Sync(a.ID, "not yours", b.ID, "nor yours")
			sb.Silent(lull)
			sa := a.Sync(a.ID, "for a", b.ID, "for b")
			r := sa.Want(0).(*kmsg.SyncGroupResponse)
			s.Check(string(r.MemberAssignment) == "for a", "assignment %q", r.MemberAssignment)
			r = sb.Want(0).(*kmsg.SyncGroupResponse)
			s.Check(string(r.MemberAssignment) == "for b", "assignment %q", r.MemberAssignment)
			r = a.Sync(a.ID, "changed").Want(0).(*kmsg.SyncGroupResponse)
			s.Check(string(r.MemberAssignment) == "for a", "assignment %q", r.MemberAssignment)
			b.Sync().Want(0)
			g.Describe(a.conn)
		})
		add(at("leader first"), "3.42 3.45 8.51", only(keySyncGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			g.completing(a, b)
			a.Sync(a.ID, "for a", b.ID, "for b").Want(0)
			g.Describe(a.conn)
			b.Sync(b.ID, "ignored").Want(0)
		})
		add(at("assignments missing, unknown, empty"), "2.23 8.52 9.T15 9.T16", only(keySyncGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b, c := g.Member("a"), g.Member("b"), g.Member("c")
			g.Stable(a)
			jb := b.Enter()
			g.Await("PreparingRebalance", 2)
			jc := c.Enter()
			g.Await("PreparingRebalance", 3)
			a.Join().Joined()
			jb.Joined()
			jc.Joined()
			a.Sync("stranger", "x", c.ID, "", a.ID, "first", a.ID, "second").Want(0)
			b.Sync().Want(0)
			c.Sync().Want(0)
			g.Describe(a.conn)
		})
		add(at("leader without assignments"), "2.23 8.52", only(keySyncGroup), func(s *Script) {
			g := s.Group("g", e)
			a := g.Member("a")
			a.Enter().Joined()
			a.Sync().Want(0)
			a.Heartbeat().Want(0)
			g.Describe(a.conn)
		})
		add(at("leader fails, members hear of the next rebalance"), "3.27 8.53 3.48 3.52", only(keySyncGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			a.Session = 4000
			if e == 0 {
				a.Rebalance, b.Rebalance = 4000, 60000
			}
			g.completing(a, b)
			sb := b.Sync()
			sb.Silent(lull)
			sb.Want(27)
			d := g.Describe(b.conn)
			s.Check(d.State == "PreparingRebalance" && len(d.Members) == 1, "state %s, %d members", d.State, len(d.Members))
			b.Join().Joined()
			s.Check(b.Leader == b.ID && b.Gen == 3, "leader %q", b.Leader)
		})
		add(at("leader leaves while completing"), "3.6 3.16 3.27", only(keySyncGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			g.completing(a, b)
			sb := b.Sync()
			sb.Silent(lull)
			a.Leave().Want(0)
			sb.Want(27)
			b.Join().Joined()
			s.Check(b.Leader == b.ID, "leader %q", b.Leader)
		})
		if e > 0 {
			add(at("those who do not sync are removed"), "3.46 8.54", only(keySyncGroup), func(s *Script) {
				g := s.Group("g", e)
				a, b := g.Member("a"), g.Member("b")
				a.Rebalance, b.Rebalance = 4000, 4000
				g.completing(a, b)
				start := g.began
				a.Sync(a.ID, "x", b.ID, "y").Want(0)
				a.Heartbeat().Want(0)
				g.Await("PreparingRebalance", 1)
				gone := time.Now()
				s.Timed("the time to sync", start, 4*time.Second)
				a.Heartbeat().Want(27)
				b.Heartbeat().Want(25)
				b.Sync().Want(25)
				ja := a.Join()
				s.inTime(ja, gone, 3500*time.Millisecond)
				ja.Joined()
			})
			add(at("nobody syncs"), "3.46 8.54 3.4", only(keySyncGroup), func(s *Script) {
				g := s.Group("g", e)
				a, b := g.Member("a"), g.Member("b")
				a.Rebalance, b.Rebalance = 4000, 4000
				g.completing(a, b)
				start := g.began
				g.Await("Empty", 0)
				s.Timed("the time to sync", start, 4*time.Second)
				a.Sync().Want(25)
				n := g.Member("n")
				n.Enter().Joined()
				s.Check(n.Gen == 4, "generation %d", n.Gen)
			})
			add(at("the leader does not sync"), "3.46 8.54", only(keySyncGroup), func(s *Script) {
				g := s.Group("g", e)
				a, b := g.Member("a"), g.Member("b")
				a.Rebalance, b.Rebalance = 4000, 4000
				g.completing(a, b)
				start := g.began
				sb := b.Sync()
				sb.Between(start, 4*time.Second, 4*time.Second)
				a.Heartbeat().Want(25)
				b.Join().Joined()
				s.Check(b.Leader == b.ID, "leader %q", b.Leader)
			})
			add(at("all synced, the timer is off"), "3.46 8.55", only(keySyncGroup), func(s *Script) {
				g := s.Group("g", e)
				a, b := g.Member("a"), g.Member("b")
				a.Rebalance, b.Rebalance = 3000, 3000
				g.Stable(a, b)
				s.Pause(4 * time.Second)
				a.Heartbeat().Want(0)
				b.Heartbeat().Want(0)
			})
		}
		if e < 5 {
			add(at("protocol is not checked"), "2.21 8.49", only(keySyncGroup), func(s *Script) {
				g := s.Group("g", e)
				a := g.Member("a")
				a.Enter().Joined()
				r := a.SyncRequest(a.ID, "x")
				r.Protocol, r.ProtocolType = new("wrong"), nil
				a.conn.Send(r).Want(0)
			})
		}
	}
	add("sync/protocol is checked/v5", "2.20 2.5 1.11 8.49", only(keySyncGroup), func(s *Script) {
		g := s.Group("g", 5)
		a := g.Member("a")
		a.Enter().Joined()
		send := func(ptype, name *string, change func(*kmsg.SyncGroupRequest)) *Call {
			r := a.SyncRequest(a.ID, "x")
			r.ProtocolType, r.Protocol = ptype, name
			if change != nil {
				change(r)
			}
			return a.conn.Send(r)
		}
		right, name := new("consumer"), new("range")
		nowhere := func(r *kmsg.SyncGroupRequest) { r.Group, r.MemberID = "", "nobody" }
		send(nil, name, nil).Want(23)
		send(right, nil, nil).Want(23)
		send(nil, nil, nowhere).Want(23)
		send(right, name, nowhere).Want(24)
		send(new("connect"), name, nil).Want(23)
		send(right, new("other"), nil).Want(23)
		send(new(""), new(""), nil).Want(23)
		send(new("connect"), name, func(r *kmsg.SyncGroupRequest) { r.Generation = 9 }).Want(22)
		send(right, name, nil).Want(0)
		send(new("connect"), name, nil).Want(23)
		send(right, new("other"), nil).Want(23)
	})
}
