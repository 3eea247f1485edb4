package differential

import "fmt"

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
