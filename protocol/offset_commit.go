package protocol

// OffsetCommit, key 8.
//
//	v0   offsets kept in ZooKeeper; gone
//	v1   generation, member id, a timestamp for each partition; gone
//	v2   retention time instead of the timestamps
//	v3   throttle time in the response
//	v4   throttling after the response
//	v5   no retention time (KIP-211)
//	v6   leader epoch (KIP-320)
//	v7   group instance id (KIP-345)
//	v8   flexible
//	v9   the generation may be a member epoch (KIP-848); GROUP_ID_NOT_FOUND for a missing group
//	v10  topic ids instead of names, in both directions

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

const (
	offsetCommitRetentionLast = 4
	offsetCommitTopicIDs      = 10
)

// offsetCommit is on the path that has to be fast: the response is laid out while the request is read, so that the loop
// has nothing to do for a commit that succeeds, and a commit of one topic costs four allocations.
type offsetCommit struct {
	msg  *kmsg.OffsetCommitRequest
	ev   group.Commit
	resp kmsg.OffsetCommitResponse

	// places says where the event's partitions stand in the response, when that is not simply one after another.
	places []*kmsg.OffsetCommitResponseTopicPartition

	topic     [1]group.OffsetTopic
	respTopic [1]kmsg.OffsetCommitResponseTopic
}

func newOffsetCommit(msg *kmsg.OffsetCommitRequest) *offsetCommit {
	c := &offsetCommit{msg: msg}
	c.ev = group.Commit{
		Version:    msg.Version,
		Group:      msg.Group,
		MemberID:   msg.MemberID,
		InstanceID: msg.InstanceID,
		Generation: msg.Generation,
		Retention:  -1,
	}
	if msg.Version <= offsetCommitRetentionLast && msg.RetentionTimeMillis >= 0 {
		c.ev.Retention = retention(msg.RetentionTimeMillis)
	}
	c.resp.Version = msg.Version
	return c
}

// retention turns milliseconds into a duration without overflowing: what does not fit is as good as for ever.
func retention(ms int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(ms, most)) * time.Millisecond
}

func (c *offsetCommit) lookup(known Lookup, t *kmsg.OffsetCommitRequestTopic) (Topic, bool) {
	if c.msg.Version >= offsetCommitTopicIDs {
		return byID(known, t.TopicID)
	}
	return known.ByName(t.Topic)
}

// Missing implements [TopicRequest].
func (c *offsetCommit) Missing(known Lookup) (names []string, ids []group.TopicID) {
	for i := range c.msg.Topics {
		t := &c.msg.Topics[i]
		if topic, ok := c.lookup(known, t); ok && allWithin(t.Partitions, topic.Partitions) {
			continue
		}
		switch {
		case c.msg.Version < offsetCommitTopicIDs:
			names = append(names, t.Topic)
		case t.TopicID != noTopicID: // no topic has it, so nobody need be asked
			ids = append(ids, t.TopicID)
		}
	}
	return names, ids
}

func allWithin(partitions []kmsg.OffsetCommitRequestTopicPartition, count int32) bool {
	for i := range partitions {
		if !within(partitions[i].Partition, count) {
			return false
		}
	}
	return true
}

func within(partition, count int32) bool { return partition >= 0 && partition < count }

// Resolve implements [TopicRequest].
func (c *offsetCommit) Resolve(known Lookup, absent group.Code) {
	c.ev.Topics, c.resp.Topics = c.topic[:0], c.respTopic[:0]
	if len(c.msg.Topics) > 1 {
		c.ev.Topics = make([]group.OffsetTopic, 0, len(c.msg.Topics))
		c.resp.Topics = make([]kmsg.OffsetCommitResponseTopic, 0, len(c.msg.Topics))
	}
	clean := true
	for i := range c.msg.Topics {
		t := &c.msg.Topics[i]
		topic, ok := c.lookup(known, t)
		if !ok || !allWithin(t.Partitions, topic.Partitions) {
			clean = false
			break
		}
		c.accept(t, topic)
	}
	if !clean {
		c.resolveSome(known, absent)
	}
}

// accept takes a topic all of whose partitions exist.
func (c *offsetCommit) accept(t *kmsg.OffsetCommitRequestTopic, topic Topic) {
	if len(t.Partitions) == 0 {
		return
	}
	answers := make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
	c.resp.Topics = append(c.resp.Topics, kmsg.OffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID, Partitions: answers})
	for i := range t.Partitions {
		answers[i].Partition = t.Partitions[i].Partition
	}
	ps := make([]group.OffsetPartition, len(t.Partitions))
	for i := range t.Partitions {
		ps[i] = offsetPartition(&t.Partitions[i])
	}
	c.ev.Topics = append(c.ev.Topics, group.OffsetTopic{Name: topic.Name, ID: topic.ID, Partitions: ps})
}

func offsetPartition(p *kmsg.OffsetCommitRequestTopicPartition) group.OffsetPartition {
	return group.OffsetPartition{
		Partition:   p.Partition,
		LeaderEpoch: p.LeaderEpoch, // kmsg gives -1 before v6
		Offset:      p.Offset,
		Metadata:    orEmpty(p.Metadata),
	}
}

// resolveSome lays the response out as Kafka does when something does not exist: first the partitions that were refused,
// each topic where it was first refused, then the partitions that the group is asked about, joined to their topic.
func (c *offsetCommit) resolveSome(known Lookup, absent group.Code) {
	c.ev.Topics, c.resp.Topics = nil, nil
	type place struct{ topic, partition int }
	var order []place
	at := make(map[respKey]int, len(c.msg.Topics))
	add := func(t *kmsg.OffsetCommitRequestTopic, partition int32, code group.Code) place {
		key := respKey{t.Topic, t.TopicID}
		n, ok := at[key]
		if !ok {
			n = len(c.resp.Topics)
			at[key] = n
			c.resp.Topics = append(c.resp.Topics, kmsg.OffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID})
		}
		out := &c.resp.Topics[n]
		out.Partitions = append(out.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: partition, ErrorCode: int16(code)})
		return place{n, len(out.Partitions) - 1}
	}
	unknown := group.UnknownTopicOrPartition
	if c.msg.Version >= offsetCommitTopicIDs {
		unknown = group.UnknownTopicID
	}
	beyond := group.UnknownTopicOrPartition
	if absent != group.None {
		unknown, beyond = absent, absent
	}
	for i := range c.msg.Topics {
		t := &c.msg.Topics[i]
		topic, ok := c.lookup(known, t)
		for j := range t.Partitions {
			switch {
			case !ok && c.msg.Version >= offsetCommitTopicIDs && t.TopicID == noTopicID:
				add(t, t.Partitions[j].Partition, group.UnknownTopicID)
			case !ok:
				add(t, t.Partitions[j].Partition, unknown)
			case !within(t.Partitions[j].Partition, topic.Partitions):
				add(t, t.Partitions[j].Partition, beyond)
			}
		}
	}
	for i := range c.msg.Topics {
		t := &c.msg.Topics[i]
		topic, ok := c.lookup(known, t)
		if !ok {
			continue
		}
		var ps []group.OffsetPartition
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if within(p.Partition, topic.Partitions) {
				ps = append(ps, offsetPartition(p))
				order = append(order, add(t, p.Partition, group.None))
			}
		}
		if len(ps) > 0 {
			c.ev.Topics = append(c.ev.Topics, group.OffsetTopic{Name: topic.Name, ID: topic.ID, Partitions: ps})
		}
	}
	c.places = make([]*kmsg.OffsetCommitResponseTopicPartition, len(order))
	for i, o := range order {
		c.places[i] = &c.resp.Topics[o.topic].Partitions[o.partition]
	}
}

// Topics calls f for every topic of the event.
func (c *offsetCommit) Topics(f func(name string)) {
	for i := range c.ev.Topics {
		f(c.ev.Topics[i].Name)
	}
}

// Aged implements [NamingRequest].
func (c *offsetCommit) Aged(fresh func(name string) bool) (names []string) {
	if c.msg.Version >= offsetCommitTopicIDs {
		return nil
	}
	for i := range c.msg.Topics {
		if name := c.msg.Topics[i].Topic; !fresh(name) {
			names = append(names, name)
		}
	}
	return names
}

type respKey struct {
	name string
	id   group.TopicID
}

// Event implements [Request]. There is none when no partition exists: the group is then not asked at all.
func (c *offsetCommit) Event(id group.ReqID) group.Event {
	if len(c.ev.Topics) == 0 {
		return nil
	}
	c.ev.Req = id
	return &c.ev
}

// Answer implements [Request].
func (c *offsetCommit) Answer(res group.Result) kmsg.Response {
	r, _ := res.(*group.CommitResult)
	if r == nil || r.Code == group.None && r.Partitions == nil {
		return &c.resp
	}
	n := 0
	c.each(func(p *kmsg.OffsetCommitResponseTopicPartition) {
		code := r.Code
		if code == group.None && n < len(r.Partitions) {
			code = r.Partitions[n]
		}
		p.ErrorCode = int16(code)
		n++
	})
	return &c.resp
}

// each visits the partitions of the event in its order.
func (c *offsetCommit) each(f func(p *kmsg.OffsetCommitResponseTopicPartition)) {
	if c.places != nil {
		for _, p := range c.places {
			f(p)
		}
		return
	}
	for i := range c.resp.Topics {
		ps := c.resp.Topics[i].Partitions
		for j := range ps {
			f(&ps[j])
		}
	}
}

// Fail implements [Request]: the code stands on every partition, for there is no other place.
func (c *offsetCommit) Fail(code group.Code) kmsg.Response {
	c.resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(c.msg.Topics))
	for i := range c.msg.Topics {
		t := &c.msg.Topics[i]
		out := &c.resp.Topics[i]
		out.Topic, out.TopicID = t.Topic, t.TopicID
		out.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			out.Partitions[j].Partition = t.Partitions[j].Partition
			out.Partitions[j].ErrorCode = int16(code)
		}
	}
	return &c.resp
}
