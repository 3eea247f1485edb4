package differential

import (
	"fmt"
	"time"
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
