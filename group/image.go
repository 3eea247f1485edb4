package group

import (
	"hash/fnv"
	"slices"
	"strings"
)

// image is the durable half of a group. Only Apply changes it.
type image struct {
	sequence     uint64
	phase        Phase
	generation   int32
	protocolType string
	protocol     string
	leader       string
	stateTime    int64
	members      []MemberImage
	index        map[string]int // of members by id; nil while they are few
	topics       []*offsets     // sorted by name and id
}

// few is how many members are looked for one after another.
const few = 8

// member returns the index of a member, or -1.
func (im *image) member(id string) int {
	if im.index != nil {
		if i, ok := im.index[id]; ok {
			return i
		}
		return -1
	}
	for i := range im.members {
		if im.members[i].MemberID == id {
			return i
		}
	}
	return -1
}

// instance returns the index of a static member, or -1.
func (im *image) instance(id string) int {
	return slices.IndexFunc(im.members, func(mi MemberImage) bool { return mi.InstanceID != nil && *mi.InstanceID == id })
}

func (im *image) setMembers(members []MemberImage) {
	im.members, im.index = members, nil
	if len(members) > few {
		im.index = make(map[string]int, len(members))
		for i := range members {
			im.index[members[i].MemberID] = i
		}
	}
}

// touch marks a group for the materialised copy.
func (m *Machine) touch(g *group) {
	if !g.dirty {
		g.dirty = true
		m.dirty = append(m.dirty, g.name)
	}
}

// TakeDirty calls f for every group and topic that changed since the last call, with the record that rebuilds it, in the
// order of their keys; a nil record means it is gone. The records may share memory with the image: encode them at once.
// What a GroupImage record brought is not a change: it comes from the copy.
func (m *Machine) TakeDirty(f func(key Key, r Record)) {
	slices.Sort(m.dirty)
	for _, name := range slices.Compact(m.dirty) {
		key := Key{Kind: KindGroup, Name: name}
		g := m.groups[name]
		if g == nil || g.image == nil {
			f(key, nil)
			continue
		}
		g.dirty = false
		g.fill(&m.scratch)
		f(key, &m.scratch)
	}
	slices.Sort(m.dirtyTopics)
	for _, name := range slices.Compact(m.dirtyTopics) {
		key := Key{Kind: KindTopic, Name: name}
		if t := m.topics[name]; t != nil && t.known {
			f(key, &TopicUpsert{Name: t.name, ID: t.id, Partitions: t.partitions})
		} else {
			f(key, nil)
		}
	}
	clear(m.dirty)
	clear(m.dirtyTopics)
	m.dirty, m.dirtyTopics = m.dirty[:0], m.dirtyTopics[:0]
}

// fill writes the whole group into r, whose slices are used again.
func (g *group) fill(r *GroupImage) {
	im := g.image
	r.Meta = GroupMeta{
		Group: g.name, Sequence: im.sequence, Phase: im.phase, Generation: im.generation,
		ProtocolType: im.protocolType, Protocol: im.protocol, Leader: im.leader, StateTime: im.stateTime, Members: im.members,
	}
	topics := r.Topics[:0]
	for _, o := range im.topics {
		if len(topics) < cap(topics) {
			topics = topics[:len(topics)+1]
		} else {
			topics = append(topics, StoredTopic{})
		}
		t := &topics[len(topics)-1]
		t.Name, t.ID, t.Partitions = o.topic.name, o.id, t.Partitions[:0]
		o.each(func(partition int32, p offset) {
			metadata, expire := o.extra(p)
			t.Partitions = append(t.Partitions, StoredOffset{
				OffsetPartition: OffsetPartition{Partition: partition, LeaderEpoch: p.epoch, Offset: p.offset, Metadata: metadata},
				CommitTime:      p.commitTime,
				ExpireTime:      expire,
			})
		})
	}
	r.Topics = topics
}

// Stats counts what the image and the volatile half hold, for metrics.
type Stats struct {
	Groups, Members, Offsets, Parked int
	GroupsByState                    map[string]int
}

// Stats returns the counts; its cost does not grow with the number of offsets.
func (m *Machine) Stats() Stats {
	var states [stateCount]int
	for _, g := range m.order {
		switch {
		case g.image == nil:
		case m.leading:
			states[g.state()]++
		default:
			states[stateOf(g.image.phase)]++
		}
	}
	s := Stats{
		Groups: m.committed, Members: m.members, Offsets: m.offsets, Parked: m.parked,
		GroupsByState: make(map[string]int, stateCount),
	}
	for i, n := range states {
		s.GroupsByState[state(i).String()] = n
	}
	return s
}

// Hash sums up the image: two machines that hold the same durable state have the same hash, however they came by it.
func (m *Machine) Hash() uint64 {
	h := hasher{fnv.New64a()}
	groups := slices.DeleteFunc(slices.Clone(m.order), func(g *group) bool { return g.image == nil })
	slices.SortFunc(groups, func(a, b *group) int { return strings.Compare(a.name, b.name) })
	var r GroupImage
	for _, g := range groups {
		g.fill(&r)
		h.group(&r)
	}
	for _, t := range m.sortedTopics() {
		if t.known {
			h.text(t.name)
			h.bytes(t.id[:])
			h.number(int64(t.partitions))
		}
	}
	return h.Sum64()
}
