package group

import (
	"cmp"
	"slices"
)

// fetch answers OffsetFetch (key 9) from the image. A group that does not exist has no offsets, which is no error. Like
// [Machine.describe] it does not list everything of the same group without end.
func (m *Machine) fetch(f *Fetch) {
	r := FetchResult{Groups: make([]FetchedGroup, len(f.Groups))}
	again := repeats{room: repeatedItems}
	for i := range f.Groups {
		from := &f.Groups[i]
		to := &r.Groups[i]
		to.Group = from.Group
		var im *image
		if g := m.find(from.Group); g != nil {
			im = g.image
		}
		switch {
		case plantFetchMissingGroup && im == nil:
			to.Code = GroupIDNotFound
		case !from.All:
			to.Topics = m.fetchTopics(im, from.Topics, from.IDs)
		case im != nil:
			twice := again.named(from.Group)
			if twice && again.room < 0 {
				to.Code = UnknownServerError
				continue
			}
			to.Topics = m.fetchAll(im)
			for j := range to.Topics {
				if twice {
					again.room -= len(to.Topics[j].Partitions)
				}
			}
		}
	}
	m.reply(f.Req, r)
}

// fetchTopics lists the partitions that were asked for. Where Kafka's id for a topic is given, an offset of another topic of
// that name does not count, whatever the image still says.
func (m *Machine) fetchTopics(im *image, sets []PartitionSet, ids []TopicID) []FetchedTopic {
	out := make([]FetchedTopic, len(sets))
	for i := range sets {
		set, to := &sets[i], &out[i]
		to.Topic = set.Topic
		var held []*offsets
		if im != nil {
			held = im.named(set.Topic)
		}
		t := m.topics[set.Topic]
		known := t != nil && t.known
		switch {
		case i < len(ids) && ids[i] != (TopicID{}) && (!known || t.id != ids[i]):
			// The image has yet to hear of this id: of a topic that it does not know, or of one that was created anew.
			to.ID = ids[i]
			held = slices.Concat(withID(held, TopicID{}), withID(held, to.ID))
		case known:
			to.ID = t.id
			held = withID(held, t.id)
		}
		to.Partitions = make([]FetchedPartition, len(set.Partitions))
		for j, partition := range set.Partitions {
			to.Partitions[j] = fetched(held, partition)
		}
	}
	return out
}

// withID keeps what is held under the topic's own id: a topic that was created anew does not inherit.
func withID(held []*offsets, id TopicID) []*offsets {
	for i, o := range held {
		if o.id == id {
			return held[i : i+1]
		}
	}
	return nil
}

// fetched is the offset of a partition. When Kafka has not told which of several ids is the topic's, the last one
// committed counts.
func fetched(held []*offsets, partition int32) FetchedPartition {
	r := FetchedPartition{Partition: partition, Offset: -1, LeaderEpoch: -1}
	latest := int64(-1 << 63)
	for _, o := range held {
		p, ok := o.get(partition)
		if !ok || p.commitTime < latest {
			continue
		}
		latest = p.commitTime
		r.Offset, r.LeaderEpoch = p.offset, p.epoch
		r.Metadata, _ = o.extra(p)
	}
	return r
}

// fetchAll lists all partitions that have an offset.
func (m *Machine) fetchAll(im *image) []FetchedTopic {
	var out []FetchedTopic
	for i := 0; i < len(im.topics); {
		t := im.topics[i].topic
		held := im.named(t.name)
		i += len(held)
		id := held[len(held)-1].id
		if t.known {
			id = t.id
			held = withID(held, id)
		}
		to := FetchedTopic{Topic: t.name, ID: id}
		for k, o := range held {
			o.each(func(partition int32, _ offset) {
				for _, before := range held[:k] {
					if _, ok := before.get(partition); ok {
						return // listed already
					}
				}
				to.Partitions = append(to.Partitions, fetched(held, partition))
			})
		}
		if len(held) > 1 {
			slices.SortFunc(to.Partitions, func(a, b FetchedPartition) int { return cmp.Compare(a.Partition, b.Partition) })
		}
		if len(to.Partitions) > 0 {
			out = append(out, to)
		}
	}
	return out
}
