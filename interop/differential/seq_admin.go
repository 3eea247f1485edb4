package differential

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// adminSequences are those of DescribeGroups, ListGroups and DeleteGroups.
func adminSequences(add adder) {
	for _, e := range eras(0, 6) {
		at := func(name string) string { return fmt.Sprintf("describe/%s/v%d", name, e) }
		describe := func(c *Conn, ops bool, groups ...string) kmsg.Response {
			r := kmsg.NewPtrDescribeGroupsRequest()
			r.Version, r.Groups, r.IncludeAuthorizedOperations = int16(e), groups, ops
			return c.Do(r)
		}
		add(at("missing"), "1.17 2.6 6.8 6.12 6.17 8.88 9.T2 9.T27", only(keyDescribeGroups), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			describe(c, false, g.ID)
			describe(c, true, g.ID, g.ID)
			describe(c, false)
			describe(c, true, "")
		})
		add(at("authorized operations"), "6.16 6.17 8.90", only(keyDescribeGroups), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			g.Stable(m)
			describe(m.conn, true, g.ID, "~"+g.ID, g.ID)
			describe(m.conn, false, g.ID)
		})
		add(at("through the states"), "6.9 6.10 6.11 6.12 6.13 8.88 3.1 9.T21 9.T26", only(keyDescribeGroups), func(s *Script) {
			g := s.Group("g", max(e, 5))
			look := s.Conn("look")
			a, b, c := g.Static("a", "i1"), g.Member("b"), g.Member("c")
			g.Stable(a, b)
			describe(look, false, g.ID)
			jc := c.Enter()
			g.Await("PreparingRebalance", 3)
			describe(look, false, g.ID)
			ja, jb := a.Join(), b.Join()
			ja.Joined()
			jb.Joined()
			jc.Joined()
			describe(look, false, g.ID)
			sb := b.Sync()
			sb.Silent(lull)
			// A rebalance out of the completing state drops the old assignments.
			a.Protos = protos("range", "changed")
			ja = a.Join()
			sb.Want(27)
			describe(look, false, g.ID)
			jb, jc = b.Join(), c.Join()
			ja.Joined()
			jb.Joined()
			jc.Joined()
			g.SyncAll(a, b, c)
			describe(look, true, g.ID)
		})
		add(at("client of the first join"), "6.11 6.13", only(keyDescribeGroups), func(s *Script) {
			g := s.Group("g", 5)
			a := g.Member("a")
			g.Stable(a)
			a.conn = s.Conn("another client id")
			a.Protos = protos("range", "changed")
			a.Join().Joined()
			a.Sync(a.ID, "x").Want(0)
			describe(a.conn, false, g.ID)
		})
		add(at("many groups"), "6.7 6.12", only(keyDescribeGroups), func(s *Script) {
			g, h, i := s.Group("g", 5), s.Group("h", 5), s.Group("i", 5)
			a := g.Member("a")
			g.Stable(a)
			h.CommitSimple(a.conn, "orders", 0, 1).Want(0)
			describe(a.conn, false, i.ID, h.ID, g.ID, h.ID)
		})
	}
	for _, e := range eras(0, 5) {
		at := func(name string) string { return fmt.Sprintf("list/%s/v%d", name, e) }
		add(at("all states"), "1.18 3.60 6.1 6.3 6.4 6.5 6.6 8.87 9.T26", only(keyListGroups), func(s *Script) {
			c := s.Conn("c")
			g := func(name string) *Group { return s.Group(name, 5) }
			g("simple").CommitSimple(c, "orders", 0, 1).Want(0)
			st := g("stable").Member("s")
			st.g.Stable(st)
			em := g("empty").Member("e")
			em.g.Stable(em)
			em.Leave().Want(0)
			co := g("completing").Member("co")
			co.Enter().Joined()
			p1, p2 := g("preparing").Member("p1"), g("preparing").Member("p2")
			p1.g.Stable(p1, p2)
			p1.Join().Silent(lull)
			g("preparing").Await("PreparingRebalance", 2)
			pend := g("pending").Member("pe")
			pend.FetchID()
			g("pending").Await("Empty", 0)
			list := func(states, types []string) {
				r := kmsg.NewPtrListGroupsRequest()
				r.Version, r.StatesFilter, r.TypesFilter = int16(e), states, types
				c.Do(r)
			}
			list(nil, nil)
			if e < 4 {
				return
			}
			for _, f := range [][]string{
				{"Stable"},
				{"stable"},
				{" STABLE "},
				{"Empty", "PreparingRebalance"},
				{"completingrebalance"},
				{"Dead"},
				{"Assigning"},
				{"Reconciling"},
				{"nonsense"},
				{"nonsense", "Empty"},
				{""},
				{"preparing"},
			} {
				list(f, nil)
			}
			if e < 5 {
				return
			}
			for _, f := range [][]string{
				{"classic"},
				{"Classic"},
				{"CLASSIC"},
				{" classic"},
				{"consumer"},
				{"Consumer"},
				{"share"},
				{"streams"},
				{"nonsense"},
				{"nonsense", "classic"},
				{""},
				{"unknown"},
			} {
				list(nil, f)
				list([]string{"Stable"}, f)
			}
		})
	}
	for _, e := range eras(0, 3) {
		at := func(name string) string { return fmt.Sprintf("delete/%s/v%d", name, e) }
		del := func(c *Conn, groups ...string) *Call {
			r := kmsg.NewPtrDeleteGroupsRequest()
			r.Version, r.Groups = int16(e), groups
			return c.Send(r)
		}
		add(at("in every state"), "1.19 2.6 6.14 6.15 8.89 9.T2", only(keyDeleteGroups), func(s *Script) {
			g := s.Group("g", 9)
			a, b := g.Member("a"), g.Member("b")
			c := s.Conn("c")
			del(c, g.ID).Want(69)
			g.Stable(a)
			del(c, g.ID).Want(68)
			jb := b.Enter()
			g.Await("PreparingRebalance", 2)
			del(c, g.ID).Want(68)
			a.Join().Joined()
			jb.Joined()
			del(c, g.ID).Want(68)
			g.SyncAll(a, b)
			a.Commit("orders", 0, 5).Want(0)
			a.Leave().Want(0)
			b.Leave().Want(0)
			del(c, g.ID).Want(0)
			del(c, g.ID).Want(69)
			g.Describe(c)
			g.List(c)
			g.Fetch(c)
			n := g.Member("n")
			g.Stable(n)
			s.Check(n.Gen == 1, "generation %d", n.Gen)
		})
		add(at("many at once"), "6.14 8.89", only(keyDeleteGroups), func(s *Script) {
			c := s.Conn("c")
			g, h, i := s.Group("g", 9), s.Group("h", 9), s.Group("i", 9)
			a := h.Member("a")
			h.Stable(a)
			g.CommitSimple(c, "orders", 0, 1).Want(0)
			del(c, g.ID, h.ID, i.ID, g.ID, i.ID).Answer()
			del(c).Answer()
			g.Fetch(c)
		})
		add(at("simple group"), "6.14 6.15", only(keyDeleteGroups), func(s *Script) {
			c := s.Conn("c")
			g := s.Group("g", 9)
			g.CommitSimple(c, "orders", 0, 1).Want(0)
			del(c, g.ID).Want(0)
			g.Fetch(c)
			g.Describe(c)
			c.Send(g.DeleteOffsetsRequest(tp{"orders", []int32{0}})).Want(69)
			g.CommitSimple(c, "orders", 1, 2).Want(0)
			g.Fetch(c)
		})
		add(at("pending members only"), "6.14 8.89", only(keyDeleteGroups), func(s *Script) {
			g := s.Group("g", 9)
			p := g.Member("p")
			p.FetchID()
			g.Await("Empty", 0)
			del(p.conn, g.ID).Want(0)
			p.Join().Want(25)
			g.List(p.conn)
		})
	}
}
