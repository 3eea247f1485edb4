package differential

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// sweepSequences are those of offset expiry; they need the slow profile, where the sweep comes every second and
// offsets are kept for a minute.
func sweepSequences(add adder) {
	gone := func(g *Group) func() bool {
		return func() bool { return g.describe().State == "Dead" }
	}
	for _, e := range eras(2, 4) {
		add(fmt.Sprintf("expiry/explicit retention/v%d", e), "1.14 4.1 4.17 4.18 4.21 8.76", only(keyOffsetCommit), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			commit := func(partition int32, retention int64) {
				r := g.CommitRequest(-1, "", nil, "orders", partition, 7)
				r.RetentionTimeMillis = retention
				c.Send(r).Want(0)
			}
			commit(0, 2500)
			commit(1, -1)
			commit(2, 0)
			commit(3, 3600000)
			g.describeTwice(s)
			s.until("the offset with its own retention to go", func() bool { return !g.hasOffset(0) && !g.hasOffset(2) })
			g.Fetch(c)
			g.Describe(c)
		})
		add(fmt.Sprintf("expiry/explicit retention, all gone/v%d", e), "4.18 4.21 8.85", only(keyOffsetCommit), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			r := g.CommitRequest(-1, "", nil, "orders", 0, 7)
			r.RetentionTimeMillis = 1500
			c.Send(r).Want(0)
			s.until("the group to go", gone(g))
			g.Fetch(c)
			g.Describe(c)
			g.List(c)
		})
		add(fmt.Sprintf("expiry/explicit retention in a live group/v%d", e), "4.17 4.18 4.22 8.84", only(keyOffsetCommit), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.Protos = protos("range", subscription(0, "orders"))
			m.oldJoin().Joined()
			m.Sync(m.ID, "x").Want(0)
			for _, topic := range []string{"orders", "extra"} {
				r := g.CommitRequest(m.Gen, m.ID, nil, topic, 0, 7)
				r.RetentionTimeMillis = 1000
				m.conn.Send(r).Want(0)
			}
			s.Pause(4 * time.Second)
			m.Heartbeat().Want(0)
			g.Fetch(m.conn)
			g.Describe(m.conn)
		})
	}
	for _, e := range []era{0, 5, 9} {
		at := func(name string) string { return fmt.Sprintf("expiry/%s/v%d", name, e) }
		add(at("an empty group without offsets goes"), "4.21 8.85 6.15", only(keyJoinGroup, keyDescribeGroups, keyListGroups), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.oldJoin().Joined()
			m.Sync(m.ID, "x").Want(0)
			s.Pause(2500 * time.Millisecond)
			m.Heartbeat().Want(0)
			m.Leave().Want(0)
			s.until("the group to go", gone(g))
			g.Describe(m.conn)
			g.List(m.conn)
			m.Heartbeat().Want(25)
			n := g.Member("n")
			n.oldJoin().Joined()
			s.Check(n.Gen == 1, "generation %d", n.Gen)
		})
		add(at("offsets of a simple group go a minute after the commit"), "4.17 4.18 4.21 8.84 5.1", only(keyOffsetCommit, keyOffsetFetch), func(s *Script) {
			g := s.Group("g", e)
			c := s.Conn("c")
			g.CommitSimple(c, "orders", 0, 1).Want(0)
			start := time.Now()
			s.Pause(20 * time.Second)
			g.CommitSimple(c, "orders", 1, 2).Want(0)
			s.OnTime(start, 22*time.Second)
			s.patient("the first offset to go", 80*time.Second, func() bool { return !g.hasOffset(0) })
			s.Timed("the retention of the first offset", start, 60*time.Second)
			g.Fetch(c)
			s.patient("the group to go", 40*time.Second, gone(g))
			s.Timed("the retention of the second offset", start, 80*time.Second)
			g.Fetch(c)
		})
		add(at("offsets of an empty group go a minute after it became empty"), "3.5 4.17 4.19 4.21 8.84 9.T12", only(keyOffsetCommit, keyOffsetFetch), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.oldJoin().Joined()
			m.Sync(m.ID, "x").Want(0)
			m.Commit("orders", 0, 1).Want(0)
			m.Leave().Want(0)
			start := time.Now()
			s.Pause(25 * time.Second)
			// A later commit does not extend it.
			g.CommitSimple(m.conn, "orders", 1, 2).Want(0)
			g.Fetch(m.conn)
			s.patient("the group to go", 80*time.Second, gone(g))
			s.Timed("the retention of the empty group", start, 60*time.Second)
			g.Fetch(m.conn)
		})
		add(at("a live group keeps subscribed topics"), "4.17 4.20 4.22 4.25 8.84", only(keyOffsetCommit, keyOffsetFetch), func(s *Script) {
			g := s.Group("g", e)
			m := g.Member("m")
			m.Protos = protos("range", subscription(0, "orders"))
			m.Session = 60000
			m.oldJoin().Joined()
			m.Sync(m.ID, "x").Want(0)
			m.Commit("orders", 0, 1).Want(0)
			m.Commit("extra", 0, 2).Want(0)
			start := time.Now()
			for range 3 {
				s.Pause(15 * time.Second)
				m.Heartbeat().Want(0)
			}
			g.Fetch(m.conn)
			s.patient("the offset of the other topic to go", 60*time.Second, func() bool { return !g.hasTopicOffset("extra", 0) })
			s.Timed("the retention of the other topic", start, 60*time.Second)
			m.Heartbeat().Want(0)
			g.Fetch(m.conn)
			g.Describe(m.conn)
		})
		add(at("unparsable subscriptions and other types keep all"), "4.17 4.20 4.22 8.84", only(keyOffsetCommit, keyOffsetFetch), func(s *Script) {
			var ms []*Member
			for i, kind := range []string{"consumer", "connect"} {
				g := s.Group(fmt.Sprint("g", i), e)
				m := g.Member(fmt.Sprint("m", i))
				m.Type, m.Session = kind, 60000
				m.oldJoin().Joined()
				m.Sync(m.ID, "x").Want(0)
				m.Commit("orders", 0, 1).Want(0)
				ms = append(ms, m)
			}
			for range 4 {
				s.Pause(17 * time.Second)
				for _, m := range ms {
					m.Heartbeat().Want(0)
				}
			}
			for _, m := range ms {
				m.g.Fetch(m.conn)
			}
		})
	}
	add("expiry/a pending member does not hold its group/v9", "4.21 3.51", only(keyJoinGroup), func(s *Script) {
		g := s.Group("g", 9)
		p := g.Member("p")
		p.FetchID()
		s.until("the group to go", gone(g))
		g.Describe(p.conn)
		p.Join().Want(25)
	})
}

// oldJoin joins at version 3 at most: no pending member id, whose group the next sweep could remove.
func (m *Member) oldJoin() *Call {
	r := m.JoinRequest()
	r.Version = min(r.Version, 3)
	c := m.conn.Send(r)
	c.member = m
	return c
}

// describeTwice records the group's description and its offsets while they are all there.
func (g *Group) describeTwice(s *Script) {
	c := s.Conn("look")
	g.Describe(c)
	s.Check(g.hasOffset(1), "no offset")
}

// hasOffset asks, without recording, for the offset of a partition of orders.
func (g *Group) hasOffset(partition int32) bool { return g.hasTopicOffset("orders", partition) }

func (g *Group) hasTopicOffset(topic string, partition int32) bool {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version, r.Group = 5, g.ID
	t := kmsg.NewOffsetFetchRequestTopic()
	t.Topic, t.Partitions = topic, []int32{partition}
	r.Topics = append(r.Topics, t)
	resp := g.s.ask(r).(*kmsg.OffsetFetchResponse)
	return len(resp.Topics) == 1 && len(resp.Topics[0].Partitions) == 1 && resp.Topics[0].Partitions[0].Offset != -1
}
