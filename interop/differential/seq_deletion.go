package differential

import (
	"fmt"
	"time"
)

const (
	// promptly is what Kafka needs at most to act on a deleted topic, with room for a loaded machine.
	promptly = 25 * time.Second
	// forgetful bounds how long the daemon may keep the offsets of a deleted topic.
	forgetful = 150 * time.Second
)

// deletionSequences are those of deleted topics. Each has a topic of its own on the broker.
func deletionSequences(add adder) {
	for _, e := range []era{2, 9, 10} {
		at := func(name string) string { return fmt.Sprintf("deletion/%s/v%d", name, e) }
		both := only(keyOffsetCommit, keyOffsetFetch)
		gone := func(s *Script, g *Group, topic string) {
			start := time.Now()
			s.patient("the offsets of the topic to go", forgetful, func() bool {
				return !g.hasTopicOffset(topic, 0) && !g.hasTopicOffset(topic, 1)
			})
			seen := "promptly"
			if time.Since(start) > promptly {
				seen = "after two answers at least 30 s apart"
			}
			s.DivergesAs("D2", "the offsets of the deleted topic go", "promptly", "after two answers at least 30 s apart", seen)
		}
		add(at("offsets go with their topic"), "4.24 8.86", both, func(s *Script) {
			topic := s.ownTopic(2)
			g := s.Group("g", e)
			c := s.Conn("c")
			g.CommitSimple(c, topic, 0, 1).Want(0)
			g.CommitSimple(c, topic, 1, 2).Want(0)
			g.CommitSimple(c, "orders", 0, 3).Want(0)
			g.Fetch(c)
			s.dropTopic(topic)
			unknown := int16(3)
			if e >= 10 {
				unknown = 100
			}
			g.CommitSimple(c, topic, 0, 9).Want(unknown)
			gone(s, g, topic)
			g.Fetch(c)
			g.CommitSimple(c, topic, 0, 9).Want(unknown)
			g.List(c)
		})
		add(at("a live group loses them too"), "4.24 4.22 8.86", both, func(s *Script) {
			topic := s.ownTopic(2)
			g := s.Group("g", e)
			m := g.Member("m")
			m.Session = maxSession
			m.Protos = protos("range", subscription(0, topic, "orders"))
			g.Stable(m)
			m.Commit(topic, 0, 1).Want(0)
			m.Commit("orders", 1, 2).Want(0)
			s.dropTopic(topic)
			s.patient("the offset to go", forgetful, func() bool {
				m.conn.script.ask(m.HeartbeatRequest())
				return !g.hasTopicOffset(topic, 0)
			})
			g.Fetch(m.conn)
			m.Heartbeat().Want(0)
			g.Describe(m.conn)
		})
		add(at("a topic of the same name starts anew"), "4.24 8.86", both, func(s *Script) {
			topic := s.ownTopic(2)
			g := s.Group("g", e)
			c := s.Conn("c")
			g.CommitSimple(c, topic, 0, 1).Want(0)
			g.CommitSimple(c, topic, 1, 2).Want(0)
			s.dropTopic(topic)
			gone(s, g, topic)
			s.createTopic(topic, 2)
			g.Fetch(c)
			s.until("the new topic to be committable", func() bool {
				return codes(s.ask(g.CommitRequest(-1, "", nil, topic, 0, 5)))[0] == 0
			})
			g.Fetch(c)
		})
	}
}

// ownTopic creates a topic for this sequence and this target alone.
func (s *Script) ownTopic(partitions int32) string {
	topic := "own-" + s.prefix[:1] + s.prefix[len(s.prefix)-9:]
	s.createTopic(topic, partitions)
	return topic
}

func (s *Script) createTopic(topic string, partitions int32) {
	ids, err := createTopics(s.target.Broker, map[string]int32{topic: partitions})
	if err != nil {
		s.stop("%v", err)
	}
	s.ownID = ids[topic]
	s.norm.topics[s.ownID] = "the topic of this sequence"
	s.norm.ownTopic = topic
	// The daemon may hear of it a little later.
	g := s.Group("probe", 9)
	s.until("the topic to be known", func() bool {
		return codes(s.ask(g.CommitRequest(-1, "", nil, topic, 0, 0)))[0] == 0
	})
	s.ask(g.DeleteGroupsRequest(g.ID))
}

func (s *Script) dropTopic(topic string) {
	if err := deleteTopic(s.target.Broker, topic); err != nil {
		s.stop("%v", err)
	}
	g := s.Group("probe", 9)
	start := time.Now()
	s.patient("the topic to be unknown", 100*time.Second, func() bool {
		return codes(s.ask(g.CommitRequest(-1, "", nil, topic, 0, 0)))[0] == 3
	})
	seen := "promptly"
	if s.target.Daemon {
		seen = "within a minute"
		if time.Since(start) > time.Minute {
			seen = "later than a minute"
		}
	} else if time.Since(start) > promptly {
		seen = "late"
	}
	s.DivergesAs("D2", "commits to the deleted topic are refused", "promptly", "within a minute", seen)
	s.ask(g.DeleteGroupsRequest(g.ID))
}
