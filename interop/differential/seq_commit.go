package differential

import (
	"fmt"
	"strings"
	"time"
)

// commitSequences are those of OffsetCommit.
func commitSequences(add adder) {
	for _, e := range eras(2, 10) {
		at := func(name string) string { return fmt.Sprintf("commit/%s/v%d", name, e) }
		both := only(keyOffsetCommit, keyOffsetFetch)
		add(at("simple commit creates the group"), "1.14 2.33 4.1 4.6 4.7 8.69 6.5", only(keyOffsetCommit, keyOffsetFetch, keyListGroups, keyDescribeGroups), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			g.CommitSimple(c, "orders", 1, 42).Want(0)
			g.List(c)
			g.Describe(c)
			g.Fetch(c)
			m := g.Member("m")
			g.Stable(m)
			s.Check(m.Gen == 1, "generation %d", m.Gen)
			g.List(c)
			g.Fetch(c)
		})
		add(at("missing group with a generation"), "2.33 8.68 9.T2", only(keyOffsetCommit), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			want := int16(22)
			if e >= 9 {
				want = 69
			}
			c.Send(g.CommitRequest(0, "", nil, "orders", 0, 1)).Want(want)
			c.Send(g.CommitRequest(1, "someone", nil, "orders", 0, 1)).Want(want)
			// With generation -1 it does not matter who asks.
			c.Send(g.CommitRequest(-1, "someone", nil, "orders", 0, 1)).Want(0)
			g.List(c)
		})
		add(at("empty group"), "2.34 2.35 4.3 8.69 8.71 9.T9", only(keyOffsetCommit), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			g.Stable(m)
			m.Leave().Want(0)
			m.Commit("orders", 0, 5).Want(25)
			m.conn.Send(g.CommitRequest(0, "", nil, "orders", 0, 5)).Want(25)
			m.conn.Send(g.CommitRequest(2, "", nil, "orders", 0, 5)).Want(25)
			m.conn.Send(g.CommitRequest(-1, m.ID, nil, "orders", 0, 6)).Want(0)
			m.conn.Send(g.CommitRequest(-5, "x", nil, "orders", 1, 7)).Want(0)
			if e >= 7 {
				m.conn.Send(g.CommitRequest(-1, "", new("i1"), "orders", 2, 8)).Want(0)
			}
			g.Describe(m.conn)
			g.Fetch(m.conn)
		})
		add(at("stable group"), "2.34 2.35 2.38 4.2 4.3 8.70", both, func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			g.Stable(m)
			m.Commit("orders", 0, 10).Want(0)
			m.Commit("extra", 1, 11).Want(0)
			c := m.conn
			c.Send(g.CommitRequest(-1, "", nil, "orders", 0, 1)).Want(25)
			c.Send(g.CommitRequest(-1, m.ID, nil, "orders", 0, 1)).Want(22)
			c.Send(g.CommitRequest(2, m.ID, nil, "orders", 0, 1)).Want(22)
			c.Send(g.CommitRequest(0, m.ID, nil, "orders", 0, 1)).Want(22)
			c.Send(g.CommitRequest(1, "nobody", nil, "orders", 0, 1)).Want(25)
			c.Send(g.CommitRequest(1, "", nil, "orders", 0, 1)).Want(25)
			c.Send(g.CommitAll(9, m.ID, nil, commit{"orders", 0, 1, nil, -1}, commit{"orders", 3, 1, nil, -1}, commit{"extra", 0, 1, nil, -1})).Want(22, 22, 22)
			if e >= 7 {
				c.Send(g.CommitRequest(1, m.ID, new("unknown"), "orders", 0, 1)).Want(25)
				c.Send(g.CommitRequest(-1, "", new("unknown"), "orders", 0, 1)).Want(25)
			}
			g.Fetch(c)
		})
		if e >= 7 {
			add(at("static member"), "2.34 3.37 3.38 1.P4 9.T20", only(keyOffsetCommit), func(s *Script) {
				g := s.Group("g", e)
				a, b := g.Static("a", "i1"), g.Static("b", "i2")
				g.Stable(a, b)
				a.Commit("orders", 0, 1).Want(0)
				c := a.conn
				c.Send(g.CommitRequest(a.Gen, b.ID, a.Instance, "orders", 0, 2)).Want(82)
				c.Send(g.CommitRequest(a.Gen, "", a.Instance, "orders", 0, 2)).Want(82)
				c.Send(g.CommitRequest(-1, "", a.Instance, "orders", 0, 2)).Want(82)
				c.Send(g.CommitRequest(a.Gen, a.ID, nil, "orders", 0, 3)).Want(0)
				c.Send(g.CommitRequest(7, "nobody", a.Instance, "orders", 0, 2)).Want(82)
				g.Fetch(c)
			})
		}
		add(at("rebalancing"), "2.34 2.35 4.3 8.72 3.28", only(keyOffsetCommit), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			g.Stable(a, b)
			ja := a.Join()
			ja.Silent(lull)
			b.Commit("orders", 0, 3).Want(0)
			b.conn.Send(g.CommitRequest(1, b.ID, nil, "orders", 0, 4)).Want(22)
			b.conn.Send(g.CommitRequest(-1, "", nil, "orders", 0, 4)).Want(25)
			b.Join().Joined()
			ja.Joined()
			a.Commit("orders", 0, 5).Want(27)
			b.conn.Send(g.CommitRequest(2, b.ID, nil, "orders", 0, 6)).Want(22)
			b.conn.Send(g.CommitRequest(3, "nobody", nil, "orders", 0, 6)).Want(25)
			g.SyncAll(a, b)
			a.Commit("orders", 0, 7).Want(0)
			g.Fetch(a.conn)
		})
		add(at("pending member"), "2.34 2.26", only(keyOffsetCommit), func(s *Script) {
			g := s.Group("g", max(e, 4))
			a, p := g.Member("a"), g.Member("p")
			g.Stable(a)
			p.FetchID()
			h := s.Group("g", e)
			p.conn.Send(h.CommitRequest(1, p.ID, nil, "orders", 0, 1)).Want(25)
			p.conn.Send(h.CommitRequest(-1, p.ID, nil, "orders", 0, 1)).Want(25)
		})
		add(at("metadata"), "2.36 4.1 4.8 8.73 8.74 9.T23", both, func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			text := func(t string, n int) *string { return new(strings.Repeat(t, n)) }
			c.Send(g.CommitAll(-1, "", nil,
				commit{"orders", 0, 1, text("x", 4096), -1}, commit{"orders", 1, 1, text("x", 4097), -1},
				commit{"orders", 2, 1, text("é", 4096), -1}, commit{"orders", 3, 1, text("é", 4097), -1},
			)).Want(0, 12, 0, 12)
			// One code point outside the basic plane counts twice.
			c.Send(g.CommitAll(-1, "", nil,
				commit{"extra", 0, 1, text("😀", 2048), -1}, commit{"extra", 1, 1, text("😀", 2049), -1},
				commit{"orders", 1, 1, nil, -1}, commit{"orders", 3, 1, text("", 0), -1},
			)).Want(0, 12, 0, 0)
			g.Fetch(c)
		})
		add(at("unknown topics and partitions"), "2.32 2.39 8.75 9.T22", only(keyOffsetCommit), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			unknown := int16(3)
			if e >= 10 {
				unknown = 100
			}
			c.Send(g.CommitRequest(-1, "", nil, "no-such-topic", 0, 1)).Want(unknown)
			c.Send(g.CommitRequest(5, "nobody", nil, "no-such-topic", 0, 1)).Want(unknown)
			c.Send(g.CommitRequest(-1, "", nil, "orders", 4, 1)).Want(3)
			c.Send(g.CommitRequest(-1, "", nil, "orders", -1, 1)).Want(3)
			c.Send(g.CommitRequest(-1, "", nil, "orders", 1<<31-1, 1)).Want(3)
			g.List(c)
			// Codes in the order of the message are compared, whatever that order is.
			c.Send(g.CommitAll(-1, "", nil,
				commit{"orders", 9, 1, nil, -1}, commit{"orders", 0, 1, nil, -1}, commit{"no-such-topic", 0, 1, nil, -1},
				commit{"extra", 0, 2, nil, -1}, commit{"extra", 7, 2, nil, -1},
			)).Answer()
			g.List(c)
			g.Fetch(c)
			c.Send(g.CommitAll(7, "nobody", nil, commit{"no-such-topic", 0, 1, nil, -1}, commit{"orders", 0, 9, nil, -1})).Answer()
		})
		add(at("unknown topic first and last"), "2.32 8.75", only(keyOffsetCommit), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			c.Send(g.CommitAll(-1, "", nil, commit{"orders", 0, 1, nil, -1}, commit{"no-such-topic", 0, 1, nil, -1})).Answer()
			c.Send(g.CommitAll(-1, "", nil, commit{"no-such-topic", 0, 1, nil, -1}, commit{"orders", 0, 1, nil, -1})).Answer()
			c.Send(g.CommitAll(-1, "", nil, commit{"orders", 0, 1, nil, -1}, commit{"orders", 9, 1, nil, -1})).Answer()
			c.Send(g.CommitAll(-1, "", nil, commit{"extra", 9, 1, nil, -1}, commit{"orders", 0, 1, nil, -1})).Answer()
		})
		add(at("no topics"), "2.32", only(keyOffsetCommit), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			c.Send(g.CommitAll(-1, "", nil)).Answer()
			c.Send(g.CommitAll(5, "nobody", nil)).Answer()
			g.List(c)
			r := g.CommitRequest(-1, "", nil, "orders", 0, 1)
			r.Topics[0].Partitions = nil
			c.Send(r).Answer()
			g.List(c)
		})
		add(at("repeated topics and partitions"), "2.32 2.38", both, func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			c.Send(g.CommitAll(-1, "", nil,
				commit{"orders", 0, 1, nil, -1}, commit{"orders", 0, 2, nil, -1}, commit{"extra", 0, 3, nil, -1},
				commit{"orders", 1, 4, nil, -1}, commit{"orders", 0, 5, nil, -1},
			)).Answer()
			g.Fetch(c)
		})
		add(at("odd offsets"), "2.37 4.8", both, func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			for i, o := range []int64{-1, -2, 1<<63 - 1, 0} {
				g.CommitSimple(c, "orders", int32(i), o).Want(0)
			}
			g.Fetch(c)
			g.CommitSimple(c, "orders", 3, 100).Want(0)
			g.CommitSimple(c, "orders", 3, 50).Want(0)
			g.Fetch(c)
		})
		add(at("leader epoch"), "1.14 1.15 4.1 8.78", both, func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			c.Send(g.CommitAll(-1, "", nil, commit{"orders", 0, 1, nil, 5}, commit{"orders", 1, 1, nil, -1},
				commit{"orders", 2, 1, nil, 0}, commit{"orders", 3, 1, nil, 1<<31 - 1}, commit{"extra", 0, 1, nil, -7})).Want(0)
			g.Fetch(c)
			c.Send(g.CommitAll(-1, "", nil, commit{"orders", 0, 2, nil, -1})).Want(0)
			g.Fetch(c)
		})
		add(at("keeps the session"), "3.48 4.4 8.61", only(keyOffsetCommit), func(s *Script) {
			g := s.Group("g", e)
			a := g.Member("a")
			a.Session = 4000
			g.Stable(a)
			for i := range 4 {
				renewed := time.Now()
				s.Pause(1200 * time.Millisecond)
				c := a.Commit("orders", 0, int64(i))
				s.inTime(c, renewed, 3500*time.Millisecond)
				c.Want(0)
			}
			// Refused for its metadata, it still keeps the session.
			for range 4 {
				renewed := time.Now()
				s.Pause(1200 * time.Millisecond)
				long := strings.Repeat("x", 5000)
				c := a.conn.Send(g.CommitAll(a.Gen, a.ID, nil, commit{"orders", 0, 1, &long, -1}))
				s.inTime(c, renewed, 3500*time.Millisecond)
				c.Want(12)
			}
			a.Heartbeat().Want(0)
		})
		add(at("pipelined"), "3.64 4.5", both, func(s *Script) {
			g := s.Group("g", e)
			a := g.Member("a")
			g.Stable(a)
			var calls []*Call
			for i := range 30 {
				gen := a.Gen
				if i%5 == 4 {
					gen = 9
				}
				calls = append(calls, a.conn.Send(g.CommitRequest(gen, a.ID, nil, "orders", int32(i%4), int64(i))))
			}
			f := a.conn.Send(g.FetchRequest(tp{"orders", []int32{0, 1, 2, 3}}))
			for i, c := range calls {
				if i%5 == 4 {
					c.Want(22)
				} else {
					c.Want(0)
				}
			}
			f.Answer()
		})
	}
}

// emptyNameSequences use the group whose name is empty, which is one and the same for everybody.
func emptyNameSequences(add adder) {
	for _, e := range eras(2, 10) {
		add(fmt.Sprintf("commit/group without a name/v%d", e), "2.6", only(keyOffsetCommit, keyOffsetFetch, keyDescribeGroups, keyDeleteGroups), func(s *Script) {
			g := s.Group("g", e)
			g.ID = ""
			c := s.Conn("c")
			g.CommitSimple(c, "orders", 1, 7).Answer()
			g.Fetch(c)
			g.Describe(c)
			c.Do(g.DeleteGroupsRequest(""))
			g.Fetch(c)
			g.Describe(c)
			c.Do(g.DeleteGroupsRequest(""))
		})
	}
}
