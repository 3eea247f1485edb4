package group

import (
	"slices"
	"strings"
)

// topic is a topic's name, held once for all groups, and what Kafka has told of it.
type topic struct {
	name       string
	place      int // index in Machine.names
	known      bool
	id         TopicID
	partitions int32
	held       []heldID // the ids under which groups hold offsets
	asked      bool     // a TopicUpsert is in flight; volatile
}

type heldID struct {
	id     TopicID
	groups int
}

// topicSeen asks to remember what Kafka tells of a topic, if it is news.
func (m *Machine) topicSeen(s *TopicSeen) {
	t := m.topics[s.Name]
	if t != nil && (t.asked || t.known && t.id == s.ID && t.partitions == s.Partitions) {
		return
	}
	t = m.topicNamed(s.Name)
	t.asked = true
	f := m.propose(&TopicUpsert{Name: t.name, ID: s.ID, Partitions: s.Partitions})
	f.kind, f.topic = flightTopic, t.name
}

// topicTold ends the proposal of a TopicUpsert.
func (m *Machine) topicTold(name string) {
	if t := m.topics[name]; t != nil {
		t.asked = false
		m.forgetTopic(t)
	}
}

// topicGone asks to drop what groups hold of a topic that Kafka no longer has.
func (m *Machine) topicGone(e *TopicGone) {
	f := m.propose(&TopicDrop{Name: e.Name, ID: e.ID})
	f.kind, f.topic = flightTopicDrop, strings.Clone(e.Name)
}

// Topics calls f for every topic that the image knows, by name.
func (m *Machine) Topics(f func(name string, id TopicID, partitions int32)) {
	for _, t := range m.sortedTopics() {
		if t.known {
			f(t.name, t.id, t.partitions)
		}
	}
}

// HeldTopics calls f for every topic and id under which groups hold offsets, by name, whether Kafka still gives that id
// for the name or not. The zero id stands for offsets whose topic had no id when they were committed.
func (m *Machine) HeldTopics(f func(name string, id TopicID)) {
	for _, t := range m.sortedTopics() {
		for _, h := range t.held {
			f(t.name, h.id)
		}
	}
}

func (m *Machine) sortedTopics() []*topic {
	sorted := slices.Clone(m.names)
	slices.SortFunc(sorted, func(a, b *topic) int { return strings.Compare(a.name, b.name) })
	return sorted
}

// topicNamed returns the topic of this name, new if need be.
func (m *Machine) topicNamed(name string) *topic {
	t := m.topics[name]
	if t == nil {
		t = &topic{name: strings.Clone(name), place: len(m.names)}
		m.topics[t.name] = t
		m.names = append(m.names, t)
	}
	return t
}

// hold counts one more group that has offsets of the topic under this id.
func (m *Machine) hold(t *topic, id TopicID) {
	if id == (TopicID{}) {
		m.untold++
	}
	i := slices.IndexFunc(t.held, func(h heldID) bool { return h.id == id })
	if i < 0 {
		t.held = append(t.held, heldID{id: id, groups: 1})
		return
	}
	t.held[i].groups++
}

// unhold counts one less, and forgets the topic when nothing holds it.
func (m *Machine) unhold(t *topic, id TopicID) {
	if id == (TopicID{}) {
		m.untold--
	}
	i := slices.IndexFunc(t.held, func(h heldID) bool { return h.id == id })
	if t.held[i].groups--; t.held[i].groups == 0 {
		t.held = slices.Delete(t.held, i, i+1)
	}
	m.forgetTopic(t)
}

func (m *Machine) forgetTopic(t *topic) {
	if t.known || t.asked || len(t.held) > 0 || m.topics[t.name] != t {
		return
	}
	delete(m.topics, t.name)
	last := len(m.names) - 1
	m.names[last].place = t.place
	m.names[t.place] = m.names[last]
	m.names[last] = nil
	m.names = m.names[:last]
}
