package differential

import "fmt"

// leaveSequences are those of LeaveGroup.
func leaveSequences(add adder) {
	for _, e := range eras(0, 5) {
		at := func(name string) string { return fmt.Sprintf("leave/%s/v%d", name, e) }
		add(at("refusals"), "2.27 2.28 2.29 2.6 1.13 8.62 9.T2 9.T14", only(keyLeaveGroup), func(s *Script) {
			g := s.Group("g", e)
			a := g.Member("a")
			unknown := []int16{25}
			if e >= 3 {
				unknown = []int16{0, 25}
			}
			a.conn.Send(g.LeaveRequest("nobody", "")).Want(unknown...)
			a.conn.Send(g.LeaveRequest("", "")).Want(unknown...)
			r := g.LeaveRequest("nobody", "")
			r.Group = ""
			empty := codes(a.conn.Do(r))
			s.Check(empty[0] == 24, "codes %v", empty)
			g.Stable(a)
			a.conn.Send(g.LeaveRequest("nobody", "")).Want(unknown...)
			a.conn.Send(g.LeaveRequest("", "")).Want(unknown...)
			a.Heartbeat().Want(0)
			a.Leave().Want(0)
			a.Leave().Want(unknown...)
			d := g.Describe(a.conn)
			s.Check(d.State == "Empty", "state %s", d.State)
		})
		add(at("last member"), "3.4 3.6 8.65", only(keyLeaveGroup), func(s *Script) {
			g := s.Group("g", e)
			a := g.Member("a")
			g.Stable(a)
			a.Leave().Want(0)
			g.List(a.conn)
			d := g.Describe(a.conn)
			s.Check(d.State == "Empty" && d.ProtocolType == "consumer", "state %s, type %q", d.State, d.ProtocolType)
			b := g.Member("b")
			b.Enter().Joined()
			s.Check(b.Gen == 3, "generation %d", b.Gen)
		})
		add(at("from a stable group"), "2.29 3.6 3.16 3.28", only(keyLeaveGroup), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			g.Stable(a, b)
			a.Leave().Want(0)
			b.Heartbeat().Want(27)
			a.Heartbeat().Want(25)
			b.Join().Joined()
			s.Check(b.Leader == b.ID, "leader %q", b.Leader)
		})
		if e < 3 {
			continue
		}
		add(at("batch of all kinds"), "2.29 2.30 2.31 8.63 8.64", only(keyLeaveGroup), func(s *Script) {
			g := s.Group("g", max(e, 5))
			a, b, c := g.Static("a", "i1"), g.Static("b", "i2"), g.Member("c")
			g.Stable(a, b, c)
			p := g.Member("p")
			p.FetchID()
			h := s.Group("g", e)
			c.conn.Send(h.LeaveRequest(
				"nobody", "", "nobody", "i1", b.ID, "no such instance", "", "", "", "unknown",
				p.ID, "", b.ID, "i2", b.ID, "i2", "", "i2",
			)).Want(0, 25, 82, 25, 25, 25, 0, 0, 25, 25)
			g.Describe(c.conn)
			c.Heartbeat().Want(27)
			ja := a.Join()
			c.Join().Joined()
			ja.Joined()
			s.Check(a.Gen == 4, "generation %d", a.Gen)
		})
		add(at("all at once"), "2.31 3.4", only(keyLeaveGroup), func(s *Script) {
			g := s.Group("g", max(e, 5))
			a, b, c := g.Member("a"), g.Member("b"), g.Member("c")
			g.Stable(a, b, c)
			h := s.Group("g", e)
			c.conn.Send(h.LeaveRequest(a.ID, "", b.ID, "", c.ID, "")).Want(0, 0, 0, 0)
			d := g.Describe(c.conn)
			s.Check(d.State == "Empty", "state %s", d.State)
			n := g.Member("n")
			n.Enter().Joined()
			s.Check(n.Gen == 5, "generation %d", n.Gen)
		})
		add(at("empty list"), "2.30 2.28", only(keyLeaveGroup), func(s *Script) {
			g := s.Group("g", e)
			a := g.Member("a")
			r := g.LeaveRequest()
			a.conn.Send(r).Answer()
			g.Stable(a)
			a.conn.Send(r).Answer()
			a.Heartbeat().Want(0)
			r.Group = ""
			a.conn.Send(r).Answer()
		})
	}
}
