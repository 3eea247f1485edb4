package differential

import (
	"fmt"
	"time"
)

// heartbeatSequences are those of Heartbeat and of the session timer.
func heartbeatSequences(add adder) {
	for _, e := range eras(0, 4) {
		at := func(name string) string { return fmt.Sprintf("heartbeat/%s/v%d", name, e) }
		add(at("refusals in order"), "2.24 2.6 1.12 8.57 9.T2", only(keyHeartbeat), func(s *Script) {
			g := s.Group("g", e)
			a := g.Member("a")
			a.ID, a.Gen = "nobody", 1
			a.Heartbeat().Want(25)
			r := a.HeartbeatRequest()
			r.Group = ""
			a.conn.Send(r).Want(24)
			a.ID = ""
			g.Stable(a)
			r = a.HeartbeatRequest()
			r.MemberID, r.Generation = "nobody", 9
			a.conn.Send(r).Want(25)
			r.MemberID = ""
			a.conn.Send(r).Want(25)
			for _, gen := range []int32{-1, 0, 2, -1 << 31} {
				r = a.HeartbeatRequest()
				r.Generation = gen
				a.conn.Send(r).Want(22)
			}
			a.Heartbeat().Want(0)
			a.Leave().Want(0)
			a.Heartbeat().Want(25)
		})
		add(at("in every state"), "2.24 3.28 8.58 9.T1", only(keyHeartbeat), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			g.completing(a, b)
			a.Heartbeat().Want(0)
			b.Heartbeat().Want(0)
			r := a.HeartbeatRequest()
			r.Generation = 1
			a.conn.Send(r).Want(22)
			g.SyncAll(a, b)
			a.Heartbeat().Want(0)
			ja := a.Join()
			ja.Silent(lull)
			b.Heartbeat().Want(27)
			r = b.HeartbeatRequest()
			r.Generation = 1
			b.conn.Send(r).Want(22)
		})
		add(at("session expires"), "3.48 3.6 8.19 8.60", only(keyHeartbeat), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			b.Session = 3000
			g.Stable(a, b)
			start := g.began
			g.Await("PreparingRebalance", 1)
			s.Timed("the session of b", start, 3*time.Second)
			b.Heartbeat().Want(25)
			a.Heartbeat().Want(27)
			a.Join().Joined()
			s.Check(a.Gen == 3, "generation %d", a.Gen)
		})
		add(at("keeps the session"), "3.48 2.25 8.58", only(keyHeartbeat), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			b.Session = 4000
			g.Stable(a, b)
			for range 4 {
				renewed := time.Now()
				s.Pause(1200 * time.Millisecond)
				hb := b.Heartbeat()
				s.inTime(hb, renewed, 3500*time.Millisecond)
				hb.Want(0)
			}
			ja := a.Join()
			g.Await("PreparingRebalance", 2)
			// REBALANCE_IN_PROGRESS keeps it as well.
			for range 4 {
				renewed := time.Now()
				s.Pause(1200 * time.Millisecond)
				hb := b.Heartbeat()
				s.inTime(hb, renewed, 3500*time.Millisecond)
				hb.Want(27)
			}
			b.Join().Joined()
			ja.Joined()
		})
		add(at("a parked join outlives the session"), "3.49 8.60 9.T4 3.15", only(keyHeartbeat, keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			a.Session = 3000
			g.Stable(a)
			jb := b.Enter()
			g.Await("PreparingRebalance", 2)
			ja := a.Join()
			ja.Joined()
			jb.Joined()
			a.Sync(a.ID, "x", b.ID, "y").Want(0)
			b.Sync().Want(0)
			a.Heartbeat().Want(0)
			ja = a.Join()
			ja.Silent(4500 * time.Millisecond)
			d := g.Describe(s.Conn("look"))
			s.Check(len(d.Members) == 2, "%d members", len(d.Members))
			b.Join().Joined()
			ja.Joined()
		})
		add(at("pipelined"), "3.64 2.24", only(keyHeartbeat), func(s *Script) {
			g := s.Group("g", e)
			a := g.Member("a")
			g.Stable(a)
			var calls []*Call
			for i := range 40 {
				r := a.HeartbeatRequest()
				if i%3 == 1 {
					r.Generation = 5
				}
				if i%3 == 2 {
					r.MemberID = "nobody"
				}
				calls = append(calls, a.conn.Send(r))
			}
			for i, c := range calls {
				c.Want([]int16{0, 22, 25}[i%3])
			}
		})
	}
	for _, e := range eras(0, 9) {
		at := func(name string) string { return fmt.Sprintf("timer/%s/v%d", name, e) }
		add(at("the absent are dropped at the rebalance timeout"), "3.11 3.12 8.29 1.9 3.54 9.T5", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b, c := g.Member("a"), g.Member("b"), g.Member("c")
			a.Rebalance, b.Rebalance, c.Rebalance = 3000, 4000, 2500
			if e == 0 {
				// Version 0 has no rebalance timeout: the session's serves.
				a.Session, b.Session, c.Session = 5000, 5000, 5000
			}
			g.Stable(a, b, c)
			want := 4 * time.Second
			if e == 0 {
				want = 5 * time.Second
				b.Heartbeat().Want(0)
				c.Heartbeat().Want(0)
			}
			start := time.Now()
			ja := a.Join()
			g.Await("PreparingRebalance", 3)
			if e == 0 {
				s.Pause(1500 * time.Millisecond)
				b.Heartbeat().Want(27)
				c.Heartbeat().Want(27)
				s.OnTime(start, 4500*time.Millisecond)
			}
			r := ja.Between(start, want, want)
			ja.adopt(asJoin(r))
			s.Check(a.Gen == 4 && len(a.Members) == 1, "generation %d, %d members", a.Gen, len(a.Members))
			b.Heartbeat().Want(25)
			c.Heartbeat().Want(25)
		})
		add(at("the leader is dropped, another leads"), "3.12 3.13 3.16 8.30", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			a.Rebalance, b.Rebalance = 4000, 4000
			if e == 0 {
				a.Session, b.Session = 4000, 4000
			}
			g.Stable(a, b)
			b.Protos = protos("range", "changed")
			jb := b.Join()
			jb.adopt(asJoin(jb.Answer()))
			s.Check(b.Leader == b.ID && len(b.Members) == 1, "leader %q, %d members", b.Leader, len(b.Members))
			a.Heartbeat().Want(25)
		})
		add(at("a new member waits longer than its session"), "3.50 3.49 9.T4", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, n := g.Member("a"), g.Member("n")
			n.Session = 3000
			g.Stable(a)
			jn := n.Enter()
			jn.Silent(4500 * time.Millisecond)
			a.Join().Joined()
			jn.Joined()
		})
		add(at("expiry of the absent completes the join phase"), "3.52 9.T6 3.7", only(keyJoinGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			b.Session = 3000
			if e == 0 {
				a.Session = 20000
			}
			g.Stable(a, b)
			start := g.began
			ja := a.Join()
			r := ja.Between(start, 3*time.Second, 3*time.Second)
			ja.adopt(asJoin(r))
			s.Check(len(a.Members) == 1, "%d members", len(a.Members))
			b.Heartbeat().Want(25)
		})
	}
}

// inTime waits for a call's answer and ends this play, to be played again, when that took longer than limit after
// start: by then a timer may have fired.
func (s *Script) inTime(c *Call, start time.Time, limit time.Duration) {
	select {
	case <-c.done:
	case <-time.After(patience):
	}
	s.OnTime(start, limit)
}
