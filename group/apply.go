package group

import (
	"slices"
	"strings"
)

// Apply remembers. It is total, deterministic, and the same on every node. It keeps nothing of the record's memory.
func (m *Machine) Apply(r Record) Outcome {
	var o Outcome
	switch r := r.(type) {
	case *OffsetCommit:
		o = m.applyCommit(r)
	case *OffsetDelete:
		o = m.applyOffsetDelete(r)
	case *GroupMeta:
		o = m.applyMeta(r)
	case *GroupDelete:
		o = m.applyGroupDelete(r)
	case *TopicUpsert:
		m.applyTopicUpsert(r)
	case *TopicDrop:
		o = m.applyTopicDrop(r)
	case *GroupImage:
		m.applyImage(r)
	}
	if invariantsEnabled {
		m.mustHold()
	}
	return o
}

// imageOf returns the image of a group, new if need be.
func (m *Machine) imageOf(name string) (*group, *image) {
	g := m.ensure(name)
	if g.image == nil {
		g.image = &image{}
		m.committed++
	}
	return g, g.image
}

func (m *Machine) applyMeta(r *GroupMeta) Outcome {
	sequence := uint64(0)
	if g := m.groups[r.Group]; g != nil && g.image != nil {
		sequence = g.image.sequence
	}
	if r.Sequence != sequence+1 {
		return Outcome{Code: CoordinatorNotAvailable, Stale: true}
	}
	g, im := m.imageOf(r.Group)
	m.setMeta(im, r)
	m.touch(g)
	return Outcome{}
}

// setMeta copies a GroupMeta into an image. What a member still has as before is not copied again.
func (m *Machine) setMeta(im *image, r *GroupMeta) {
	members := make([]MemberImage, len(r.Members))
	for i := range r.Members {
		from, old := &r.Members[i], (*MemberImage)(nil)
		if j := im.member(from.MemberID); j >= 0 {
			old = &im.members[j]
		}
		members[i] = cloneMember(from, old)
	}
	m.members += len(members) - len(im.members)
	im.setMembers(members)
	im.sequence, im.phase, im.generation, im.stateTime = r.Sequence, r.Phase, r.Generation, r.StateTime
	im.protocolType = keepString(im.protocolType, r.ProtocolType)
	im.protocol = keepString(im.protocol, r.Protocol)
	im.leader = keepString(im.leader, r.Leader)
}

func keepString(old, now string) string {
	if old == now {
		return old
	}
	return strings.Clone(now)
}

func cloneMember(from, old *MemberImage) MemberImage {
	if old == nil {
		old = &MemberImage{}
	}
	to := MemberImage{
		MemberID:         keepString(old.MemberID, from.MemberID),
		InstanceID:       cloneInstance(from.InstanceID),
		Client:           Client{ID: keepString(old.Client.ID, from.Client.ID), Host: keepString(old.Client.Host, from.Client.Host)},
		SessionTimeout:   from.SessionTimeout,
		RebalanceTimeout: from.RebalanceTimeout,
		Protocols:        old.Protocols,
		Assignment:       old.Assignment,
	}
	if !equalProtocols(old.Protocols, from.Protocols) {
		to.Protocols = cloneProtocols(from.Protocols)
	}
	if !equalBytes(old.Assignment, from.Assignment) {
		to.Assignment = slices.Clone(from.Assignment)
	}
	return to
}

func (m *Machine) applyGroupDelete(r *GroupDelete) Outcome {
	g := m.groups[r.Group]
	switch {
	case g == nil || g.image == nil:
		return Outcome{Code: GroupIDNotFound, Stale: true}
	case len(g.image.members) > 0:
		return Outcome{Code: NonEmptyGroup, Stale: true}
	}
	return Outcome{Removed: m.dropImage(g)}
}

// dropImage removes a group from the image and returns how many offsets it had.
func (m *Machine) dropImage(g *group) int {
	removed := 0
	for _, o := range g.image.topics {
		removed += o.count
		m.unhold(o.topic, o.id)
	}
	m.offsets -= removed
	m.members -= len(g.image.members)
	m.committed--
	m.touch(g)
	g.image = nil
	g.dirty = false
	m.release(g)
	return removed
}

func (m *Machine) applyImage(r *GroupImage) {
	if g := m.groups[r.Meta.Group]; g != nil && g.image != nil {
		m.dropImage(g)
	}
	_, im := m.imageOf(r.Meta.Group)
	m.setMeta(im, &r.Meta)
	for i := range r.Topics {
		t := &r.Topics[i]
		if len(t.Partitions) == 0 {
			continue
		}
		o := m.offsetsOf(im, t.Name, t.ID)
		top := int32(-1)
		for j := range t.Partitions {
			top = max(top, t.Partitions[j].Partition)
		}
		o.grow(int(top)+1, len(t.Partitions))
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if p.Partition >= 0 && o.put(&p.OffsetPartition, p.CommitTime, p.ExpireTime) {
				m.offsets++
			}
		}
		m.dropIfNone(im, o)
	}
}

// guard tells whether a commit is still what its group would accept.
func (g *group) guard(d *Guard) Code {
	if g == nil || g.image == nil {
		if d.Simple {
			return None
		}
		return GroupIDNotFound
	}
	im := g.image
	if d.Simple {
		if len(im.members) > 0 {
			return UnknownMemberID
		}
		return None
	}
	if len(im.members) == 0 && (d.MemberID != "" || d.InstanceID != nil || d.Generation != im.generation) {
		return UnknownMemberID // but a member of a group that forms its first generation may commit in the one before
	}
	if d.MemberID != "" || d.InstanceID != nil {
		i := im.member(d.MemberID)
		if d.InstanceID != nil && (i < 0 || im.members[i].InstanceID == nil || *im.members[i].InstanceID != *d.InstanceID) {
			if im.instance(*d.InstanceID) >= 0 {
				return FencedInstanceID
			}
			return UnknownMemberID
		}
		if i < 0 {
			return UnknownMemberID
		}
	}
	if d.Generation != im.generation {
		return IllegalGeneration
	}
	return None
}

func (m *Machine) applyCommit(r *OffsetCommit) Outcome {
	g := m.groups[r.Group]
	if code := g.guard(&r.Guard); code != None {
		return Outcome{Code: code, Stale: true}
	}
	if g == nil || g.image == nil {
		g, _ = m.imageOf(r.Group)
	}
	refused := false
	for i := range r.Topics {
		if !m.putTopic(g.image, &r.Topics[i], r.CommitTime, r.ExpireTime) {
			refused = true
		}
	}
	m.touch(g)
	if refused {
		return Outcome{Partitions: negativeCodes(r.Topics)}
	}
	return Outcome{}
}

// putTopic stores the partitions of one topic and tells whether all have a number that a partition can have.
func (m *Machine) putTopic(im *image, t *OffsetTopic, commitTime, expire int64) bool {
	top := int32(-1)
	for i := range t.Partitions {
		top = max(top, t.Partitions[i].Partition)
	}
	if top < 0 {
		return len(t.Partitions) == 0
	}
	id := t.ID
	if id == (TopicID{}) {
		if known := m.topics[t.Name]; known != nil && known.known {
			id = known.id
		}
	}
	o := m.offsetsOf(im, t.Name, id)
	o.grow(int(top)+1, len(t.Partitions))
	valid := true
	for i := range t.Partitions {
		p := &t.Partitions[i]
		switch {
		case p.Partition < 0:
			valid = false
		case o.put(p, commitTime, expire):
			m.offsets++
		}
	}
	if m.untold > 0 && id != (TopicID{}) {
		m.supersede(im, t)
	}
	return valid
}

// supersede removes what was committed before the topic's id was known.
func (m *Machine) supersede(im *image, t *OffsetTopic) {
	at, ok := im.find(t.Name, TopicID{})
	if !ok {
		return
	}
	o := im.topics[at]
	for i := range t.Partitions {
		if o.remove(t.Partitions[i].Partition) {
			m.offsets--
		}
	}
	m.dropIfNone(im, o)
}

func negativeCodes(topics []OffsetTopic) []Code {
	var codes []Code
	for i := range topics {
		for _, p := range topics[i].Partitions {
			if p.Partition < 0 {
				codes = append(codes, UnknownTopicOrPartition)
			} else {
				codes = append(codes, None)
			}
		}
	}
	return codes
}

// offsetsOf returns a group's offsets of a topic, new if need be.
func (m *Machine) offsetsOf(im *image, name string, id TopicID) *offsets {
	at, ok := im.find(name, id)
	if ok {
		return im.topics[at]
	}
	t := m.topicNamed(name)
	m.hold(t, id)
	o := &offsets{topic: t, id: id}
	im.topics = slices.Insert(im.topics, at, o)
	return o
}

// dropIfNone lets go of a topic of a group when no offset is left in it.
func (m *Machine) dropIfNone(im *image, o *offsets) {
	if o.count > 0 {
		return
	}
	at, _ := im.find(o.topic.name, o.id)
	im.topics = slices.Delete(im.topics, at, at+1)
	m.unhold(o.topic, o.id)
}

func (m *Machine) applyOffsetDelete(r *OffsetDelete) Outcome {
	g := m.groups[r.Group]
	if g == nil || g.image == nil {
		return Outcome{Code: GroupIDNotFound, Stale: true}
	}
	removed := 0
	for i := range r.Topics {
		for _, o := range slices.Clone(g.image.named(r.Topics[i].Topic)) {
			for _, partition := range r.Topics[i].Partitions {
				if p, ok := o.get(partition); !ok || r.Expired && p.commitTime > r.Before {
					continue
				}
				o.remove(partition)
				removed++
			}
			m.dropIfNone(g.image, o)
		}
	}
	m.offsets -= removed
	if removed > 0 {
		m.touch(g)
	}
	if r.DropEmpty && len(g.image.members) == 0 && len(g.image.topics) == 0 {
		m.dropImage(g)
	}
	return Outcome{Removed: removed}
}

func (m *Machine) applyTopicUpsert(r *TopicUpsert) {
	t := m.topicNamed(r.Name)
	t.known, t.id, t.partitions = true, r.ID, r.Partitions
	m.dirtyTopics = append(m.dirtyTopics, t.name)
	if r.ID == (TopicID{}) || m.untold == 0 {
		return
	}
	for _, g := range m.order {
		if g.image != nil {
			m.adoptID(g, t)
		}
	}
}

// adoptID moves what a group committed before the topic's id was known to that id.
func (m *Machine) adoptID(g *group, t *topic) {
	im := g.image
	at, ok := im.find(t.name, TopicID{})
	if !ok {
		return
	}
	from, to := im.topics[at], m.offsetsOf(im, t.name, t.id)
	to.grow(len(from.dense), from.count)
	from.each(func(partition int32, p offset) {
		if _, ok := to.get(partition); ok {
			m.offsets--
			return
		}
		metadata, expire := from.extra(p)
		to.put(&OffsetPartition{Partition: partition, LeaderEpoch: p.epoch, Offset: p.offset, Metadata: metadata}, p.commitTime, expire)
	})
	from.count = 0
	m.dropIfNone(im, from)
	m.touch(g)
}

func (m *Machine) applyTopicDrop(r *TopicDrop) Outcome {
	removed := 0
	for _, g := range m.order {
		if g.image == nil {
			continue
		}
		if at, ok := g.image.find(r.Name, r.ID); ok {
			o := g.image.topics[at]
			removed += o.count
			o.count = 0
			m.dropIfNone(g.image, o)
			m.touch(g)
		}
	}
	m.offsets -= removed
	if t := m.topics[r.Name]; t != nil && t.known && t.id == r.ID {
		t.known, t.id, t.partitions = false, TopicID{}, 0
		m.dirtyTopics = append(m.dirtyTopics, t.name)
		m.forgetTopic(t)
	}
	return Outcome{Removed: removed}
}
