package differential

import "github.com/twmb/franz-go/pkg/kmsg"

// commit is one partition of an OffsetCommit.
type commit struct {
	topic     string
	partition int32
	offset    int64
	metadata  *string
	epoch     int32
}

// topicID is the id of a topic of the suite; of an unknown one, an id that no topic has.
func (s *Script) topicID(topic string) [16]byte {
	if id, ok := s.target.Topics[topic]; ok {
		return id
	}
	if topic == s.norm.ownTopic {
		return s.ownID
	}
	var id [16]byte
	copy(id[:], "no such topic...")
	return id
}

// CommitRequest commits one offset.
func (g *Group) CommitRequest(gen int32, member string, instance *string, topic string, partition int32, offset int64) *kmsg.OffsetCommitRequest {
	return g.CommitAll(gen, member, instance, commit{topic: topic, partition: partition, offset: offset, epoch: -1})
}

// CommitAll commits several offsets; neighbours of one topic share its entry.
func (g *Group) CommitAll(gen int32, member string, instance *string, commits ...commit) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version = g.era.of(keyOffsetCommit)
	r.Group, r.Generation, r.MemberID, r.InstanceID = g.ID, gen, member, instance
	for _, c := range commits {
		if n := len(r.Topics); n == 0 || r.Topics[n-1].Topic != c.topic {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic, t.TopicID = c.topic, g.s.topicID(c.topic)
			r.Topics = append(r.Topics, t)
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.Metadata, p.LeaderEpoch = c.partition, c.offset, c.metadata, c.epoch
		t := &r.Topics[len(r.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return r
}

// CommitSimple commits with generation -1 and no member, as tools and assign() users do.
func (g *Group) CommitSimple(c *Conn, topic string, partition int32, offset int64) *Call {
	return c.Send(g.CommitRequest(-1, "", nil, topic, partition, offset))
}

// Commit commits one offset as a member.
func (m *Member) Commit(topic string, partition int32, offset int64) *Call {
	return m.conn.Send(m.g.CommitRequest(m.Gen, m.ID, m.Instance, topic, partition, offset))
}

// tp names partitions of one topic.
type tp struct {
	topic      string
	partitions []int32
}

// FetchRequest asks for the offsets of one group; no topics at all means all of them.
func (g *Group) FetchRequest(topics ...tp) *kmsg.OffsetFetchRequest {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version = g.era.of(keyOffsetFetch)
	r.Group = g.ID
	gr := kmsg.NewOffsetFetchRequestGroup()
	gr.Group = g.ID
	for _, t := range topics {
		old := kmsg.NewOffsetFetchRequestTopic()
		old.Topic, old.Partitions = t.topic, t.partitions
		r.Topics = append(r.Topics, old)
		cur := kmsg.NewOffsetFetchRequestGroupTopic()
		cur.Topic, cur.TopicID, cur.Partitions = t.topic, g.s.topicID(t.topic), t.partitions
		gr.Topics = append(gr.Topics, cur)
	}
	if r.Version == 1 && len(topics) == 0 {
		// Version 1 cannot ask for all topics.
		r.Topics = []kmsg.OffsetFetchRequestTopic{}
	}
	r.Groups = []kmsg.OffsetFetchRequestGroup{gr}
	return r
}

// Fetch records all offsets of the group (in version 1, those of the suite's topics).
func (g *Group) Fetch(c *Conn) kmsg.Response {
	if g.era.of(keyOffsetFetch) == 1 {
		return c.Do(g.FetchRequest(tp{"extra", []int32{0, 1}}, tp{"orders", []int32{0, 1, 2, 3}}))
	}
	return c.Do(g.FetchRequest())
}

// DeleteOffsetsRequest is an OffsetDelete.
func (g *Group) DeleteOffsetsRequest(topics ...tp) *kmsg.OffsetDeleteRequest {
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = g.ID
	for _, t := range topics {
		x := kmsg.NewOffsetDeleteRequestTopic()
		x.Topic = t.topic
		for _, p := range t.partitions {
			y := kmsg.NewOffsetDeleteRequestTopicPartition()
			y.Partition = p
			x.Partitions = append(x.Partitions, y)
		}
		r.Topics = append(r.Topics, x)
	}
	return r
}

// DeleteGroupsRequest is a DeleteGroups of groups by their full names.
func (g *Group) DeleteGroupsRequest(ids ...string) *kmsg.DeleteGroupsRequest {
	r := kmsg.NewPtrDeleteGroupsRequest()
	r.Version = g.era.of(keyDeleteGroups)
	r.Groups = ids
	return r
}
