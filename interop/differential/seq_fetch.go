package differential

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchSequences are those of OffsetFetch.
func fetchSequences(add adder) {
	for _, e := range eras(1, 10) {
		at := func(name string) string { return fmt.Sprintf("fetch/%s/v%d", name, e) }
		add(at("missing group"), "2.41 2.42 4.8 4.9 8.77 1.15 6.15 9.T2", only(keyOffsetFetch), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			c.Send(g.FetchRequest(tp{"orders", []int32{0, 3, 0, 77, -1}}, tp{"extra", nil})).Answer()
			if e > 1 {
				c.Send(g.FetchRequest()).Answer()
			}
			g.List(c)
		})
		add(at("named partitions"), "2.42 4.8 4.9 8.78", only(keyOffsetFetch), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			c.Send(g.CommitAll(-1, "", nil, commit{"orders", 0, 10, new("m"), 3}, commit{"extra", 1, 11, nil, -1})).Want(0)
			c.Send(g.FetchRequest(tp{"orders", []int32{0, 1}}, tp{"extra", []int32{1, 0}})).Answer()
			c.Send(g.FetchRequest(tp{"extra", []int32{1}}, tp{"orders", []int32{0, 0, 50}}, tp{"extra", []int32{1}})).Answer()
			r := g.FetchRequest()
			r.Topics = []kmsg.OffsetFetchRequestTopic{}
			r.Groups[0].Topics = []kmsg.OffsetFetchRequestGroupTopic{}
			c.Send(r).Answer()
			c.Send(g.FetchRequest(tp{"orders", []int32{}})).Answer()
		})
		add(at("unknown topic"), "2.42 2.46", only(keyOffsetFetch), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			c.Send(g.FetchRequest(tp{"no-such-topic", []int32{0, 1}})).Answer()
			g.CommitSimple(c, "orders", 0, 1).Want(0)
			c.Send(g.FetchRequest(tp{"no-such-topic", []int32{0, 1}}, tp{"orders", []int32{0, 9}})).Answer()
			c.Send(g.FetchRequest(tp{"orders", []int32{0}}, tp{"no-such-topic", []int32{0}}, tp{"extra", []int32{0}})).Answer()
		})
		add(at("null topics"), "4.9 8.78", only(keyOffsetFetch), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			if e == 1 {
				// Version 1 cannot say null: what does the server make of the length -1?
				body := []byte{0, 1, 'g', 0xff, 0xff, 0xff, 0xff}
				c.SendRaw(keyOffsetFetch, 1, false, body).Settle(patience)
				return
			}
			c.Send(g.CommitAll(-1, "", nil, commit{"orders", 0, 10, new("m"), 3}, commit{"orders", 2, 12, nil, -1},
				commit{"extra", 1, 11, nil, -1})).Want(0)
			c.Send(g.FetchRequest()).Answer()
		})
		add(at("group id empty"), "2.6 2.40", only(keyOffsetFetch), func(s *Script) {
			g := s.Group("g", e)
			g.ID = ""
			c := s.Conn("c")
			c.Send(g.FetchRequest(tp{"extra", []int32{0}})).Answer()
		})
		add(at("during a rebalance"), "4.12 4.13", only(keyOffsetFetch), func(s *Script) {
			g := s.Group("g", e)
			a, b := g.Member("a"), g.Member("b")
			g.Stable(a, b)
			a.Commit("orders", 1, 5).Want(0)
			j := a.Join()
			j.Silent(lull)
			g.Fetch(b.conn)
			b.Join().Joined()
			g.Fetch(b.conn)
			j.Joined()
		})
		if e >= 7 {
			add(at("require stable"), "4.11 4.12 4.14", only(keyOffsetFetch), func(s *Script) {
				g := s.Group("g", e)
				c := s.Conn("c")
				g.CommitSimple(c, "orders", 1, 5).Want(0)
				r := g.FetchRequest()
				r.RequireStable = true
				c.Send(r).Answer()
				r = g.FetchRequest(tp{"orders", []int32{0, 1}})
				r.RequireStable = true
				c.Send(r).Answer()
				h := s.Group("missing", e)
				r = h.FetchRequest(tp{"orders", []int32{0, 1}})
				r.RequireStable = true
				c.Send(r).Answer()
			})
		}
		if e >= 8 {
			add(at("many groups"), "4.10 8.78 2.41 2.44", only(keyOffsetFetch), func(s *Script) {
				g, h, miss := s.Group("g", e), s.Group("h", e), s.Group("missing", e)
				c := s.Conn("c")
				g.CommitSimple(c, "orders", 1, 5).Want(0)
				h.CommitSimple(c, "extra", 0, 6).Want(0)
				r := h.FetchRequest()
				r.Groups = append(r.Groups, miss.FetchRequest(tp{"orders", []int32{1}}).Groups[0],
					g.FetchRequest(tp{"orders", []int32{1}}, tp{"extra", []int32{0}}).Groups[0], miss.FetchRequest().Groups[0], h.FetchRequest().Groups[0])
				c.Send(r).Answer()
				r.Groups = []kmsg.OffsetFetchRequestGroup{}
				c.Send(r).Answer()
			})
		}
		if e >= 9 {
			add(at("member and epoch of a classic group"), "2.43 1.15", only(keyOffsetFetch), func(s *Script) {
				g := s.Group("g", e)
				a := g.Member("a")
				g.Stable(a)
				a.Commit("orders", 0, 1).Want(0)
				for _, epoch := range []int32{-1, 0, 1, 99} {
					for _, id := range []*string{nil, new(""), new("nobody"), &a.ID} {
						r := g.FetchRequest(tp{"orders", []int32{0}})
						r.Groups[0].MemberID, r.Groups[0].MemberEpoch = id, epoch
						a.conn.Send(r).Want(0)
					}
				}
			})
		}
	}
	add("fetch/topic id zero/v10", "2.46 2.39", only(keyOffsetFetch, keyOffsetCommit), func(s *Script) {
		g := s.Group("g", 10)
		c := s.Conn("c")
		r := g.FetchRequest(tp{"orders", []int32{0}})
		r.Groups[0].Topics[0].TopicID = [16]byte{}
		c.Send(r).Answer()
		w := g.CommitRequest(-1, "", nil, "orders", 0, 1)
		w.Topics[0].TopicID = [16]byte{}
		c.Send(w).Answer()
	})
}

// offsetDeleteSequences are those of OffsetDelete, which has one version.
func offsetDeleteSequences(add adder) {
	e := era(9)
	one := only(keyOffsetDelete)
	all := tp{"orders", []int32{0, 1}}
	add("offset-delete/missing group/v0", "1.16 2.47 2.48 2.49 8.83 9.T2", one, func(s *Script) {
		g := s.Group("g", e)
		c := s.Conn("c")
		c.Send(g.DeleteOffsetsRequest(all)).Want(69)
		c.Send(g.DeleteOffsetsRequest(tp{"no-such-topic", []int32{0}})).Want(69)
		c.Send(g.DeleteOffsetsRequest()).Want(69)
		g.ID = ""
		c.Send(g.DeleteOffsetsRequest(all)).Want(24)
		c.Send(g.DeleteOffsetsRequest(tp{"no-such-topic", []int32{0}})).Want(24)
		c.Send(g.DeleteOffsetsRequest()).Want(24)
	})
	add("offset-delete/simple group/v0", "1.16 2.47 8.83", one, func(s *Script) {
		g := s.Group("g", e)
		c := s.Conn("c")
		g.CommitSimple(c, "orders", 0, 1).Want(0)
		g.CommitSimple(c, "extra", 0, 1).Want(0)
		c.Send(g.DeleteOffsetsRequest(all)).Want(0)
		g.Fetch(c)
		c.Send(g.DeleteOffsetsRequest(all)).Want(0)
		c.Send(g.DeleteOffsetsRequest()).Want(0)
		c.Send(g.DeleteOffsetsRequest(tp{"extra", nil})).Want(0)
		c.Send(g.DeleteOffsetsRequest(tp{"extra", []int32{0, 0}})).Answer()
		g.Fetch(c)
		g.List(c)
	})
	add("offset-delete/unknown topics/v0", "2.47 2.49 8.83 9.T22", one, func(s *Script) {
		g := s.Group("g", e)
		c := s.Conn("c")
		g.CommitSimple(c, "orders", 0, 1).Want(0)
		c.Send(g.DeleteOffsetsRequest(tp{"no-such-topic", []int32{0}})).Want(0, 3)
		c.Send(g.DeleteOffsetsRequest(tp{"orders", []int32{0, 9}}, tp{"no-such-topic", []int32{0}})).Answer()
		c.Send(g.DeleteOffsetsRequest(tp{"orders", []int32{9}}, tp{"extra", []int32{0, 1, 2}})).Answer()
		g.Fetch(c)
	})
	add("offset-delete/group of another type/v0", "2.47 2.48 8.83", one, func(s *Script) {
		g := s.Group("g", e)
		m := g.Member("m")
		m.Type = "connect"
		g.Stable(m)
		m.Commit("orders", 0, 1).Want(0)
		m.conn.Send(g.DeleteOffsetsRequest(all)).Want(68)
		m.conn.Send(g.DeleteOffsetsRequest(tp{"no-such-topic", []int32{0}})).Want(68)
		m.Leave().Want(0)
		m.conn.Send(g.DeleteOffsetsRequest(all)).Want(0)
	})
	add("offset-delete/subscribed/v0", "2.47 4.20 8.83", one, func(s *Script) {
		g := s.Group("g", e)
		m := g.Member("m")
		m.Protos = protos("range", subscription(0, "orders"))
		g.Stable(m)
		m.Commit("orders", 0, 1).Want(0)
		m.Commit("extra", 0, 1).Want(0)
		m.conn.Send(g.DeleteOffsetsRequest(all, tp{"extra", []int32{0}}, tp{"no-such-topic", []int32{0}})).Answer()
		g.Fetch(m.conn)
		j := m.Join()
		j.Joined()
		m.Commit("extra", 0, 1).Want(27)
		m.conn.Send(g.DeleteOffsetsRequest(all, tp{"extra", []int32{0}})).Answer()
		m.Leave().Want(0)
		m.conn.Send(g.DeleteOffsetsRequest(all)).Want(0)
	})
	add("offset-delete/while rebalancing/v0", "2.47 4.20", one, func(s *Script) {
		g := s.Group("g", e)
		a, b := g.Member("a"), g.Member("b")
		a.Protos = protos("range", subscription(0, "orders"))
		b.Protos = protos("range", subscription(1, "orders"))
		g.Stable(a, b)
		a.Commit("orders", 0, 1).Want(0)
		a.Commit("extra", 0, 1).Want(0)
		j := a.Join()
		j.Silent(lull)
		b.conn.Send(g.DeleteOffsetsRequest(all, tp{"extra", []int32{0}})).Answer()
		b.Join().Joined()
		b.conn.Send(g.DeleteOffsetsRequest(all, tp{"extra", []int32{0}})).Answer()
	})
	add("offset-delete/metadata that is no subscription/v0", "2.47 4.20 1.26", one, func(s *Script) {
		g := s.Group("g", e)
		m := g.Member("m")
		g.Stable(m)
		m.Commit("orders", 0, 1).Want(0)
		m.conn.Send(g.DeleteOffsetsRequest(all)).Answer()
		g.Fetch(m.conn)
	})
	for _, v := range []int16{0, 1, 2, 3, 77, -1} {
		add(fmt.Sprintf("offset-delete/subscription marked v%d without later fields/v0", v), "1.26 4.20 2.47", one, func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.Protos = protos("range", subscription(v, "orders"))
			g.Stable(m)
			m.Commit("extra", 0, 1).Want(0)
			m.conn.Send(g.DeleteOffsetsRequest(all, tp{"extra", []int32{0}})).Answer()
		})
	}
	add("offset-delete/union of the members' topics/v0", "4.20 2.47", one, func(s *Script) {
		g := s.Group("g", e)
		a, b := g.Member("a"), g.Member("b")
		a.Protos = protos("range", subscription(0, "orders"), "other", subscription(0, "nothing"))
		b.Protos = protos("range", subscription(0, "extra"), "other", subscription(0, "nothing"))
		g.Stable(a, b)
		a.conn.Send(g.DeleteOffsetsRequest(all, tp{"extra", []int32{0}})).Answer()
		b.Leave().Want(0)
		a.conn.Send(g.DeleteOffsetsRequest(all, tp{"extra", []int32{0}})).Answer()
		a.Join().Joined()
		a.conn.Send(g.DeleteOffsetsRequest(all, tp{"extra", []int32{0}})).Answer()
	})
	add("offset-delete/one member's metadata broken/v0", "4.20 2.47", one, func(s *Script) {
		g := s.Group("g", e)
		a, b := g.Member("a"), g.Member("b")
		a.Protos = protos("range", subscription(0, "orders"))
		b.Protos = protos("range", "\x00")
		g.Stable(a, b)
		a.conn.Send(g.DeleteOffsetsRequest(all, tp{"extra", []int32{0}})).Answer()
	})
}

// subscription is a consumer protocol subscription of version 0 marked with another version.
func subscription(mark int16, topics ...string) string {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = 0, topics
	b := m.AppendTo(nil)
	b[0], b[1] = byte(uint16(mark)>>8), byte(mark)
	return string(b)
}
