package coordinator

import (
	"sync"
	"sync/atomic"

	"github.com/coordinatord/coordinatord/group"
)

// imageTopics is what the replicated image says of topics. The loop writes it, the connections read it: it is what a
// commit is checked against when Kafka cannot be asked.
type imageTopics struct {
	mu     sync.RWMutex
	byName map[string]*imageTopic
	byID   map[group.TopicID]Topic
}

type imageTopic struct {
	Topic
	used atomic.Bool // committed to since the last takeUsed
}

func newImageTopics() *imageTopics {
	return &imageTopics{byName: make(map[string]*imageTopic), byID: make(map[group.TopicID]Topic)}
}

// ByName implements [protocol.Lookup].
func (t *imageTopics) ByName(name string) (Topic, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if topic, ok := t.byName[name]; ok {
		return topic.Topic, true
	}
	return Topic{}, false
}

// use notes that the topic is committed to, and says whether the image knows it as it is now.
func (t *imageTopics) use(now Topic) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	topic, ok := t.byName[now.Name]
	if !ok {
		return false
	}
	if !topic.used.Load() { // many connections read this; only one of them has to write it
		topic.used.Store(true)
	}
	return topic.Topic == now
}

// takeUsed returns the names of the topics that were committed to since the last call.
func (t *imageTopics) takeUsed() (names []string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for name, topic := range t.byName {
		if topic.used.Swap(false) {
			names = append(names, name)
		}
	}
	return names
}

// ByID implements [protocol.Lookup].
func (t *imageTopics) ByID(id group.TopicID) (Topic, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	topic, ok := t.byID[id]
	return topic, ok
}

// applied follows what a record does to the image.
func (t *imageTopics) applied(rec group.Record) {
	switch r := rec.(type) {
	case *group.TopicUpsert:
		t.mu.Lock()
		t.put(Topic{Name: r.Name, ID: r.ID, Partitions: r.Partitions})
		t.mu.Unlock()
	case *group.TopicDrop:
		t.mu.Lock()
		if old, ok := t.byID[r.ID]; ok {
			delete(t.byID, r.ID)
			if now := t.byName[old.Name]; now != nil && now.ID == r.ID {
				delete(t.byName, old.Name)
			}
		}
		t.mu.Unlock()
	}
}

func (t *imageTopics) put(topic Topic) {
	if old, ok := t.byName[topic.Name]; ok && old.ID != topic.ID {
		delete(t.byID, old.ID)
	}
	t.byName[topic.Name] = &imageTopic{Topic: topic}
	if topic.ID != (group.TopicID{}) {
		t.byID[topic.ID] = topic
	}
}

// load starts anew from a machine's image.
func (t *imageTopics) load(m *group.Machine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.byName)
	clear(t.byID)
	m.Topics(func(name string, id group.TopicID, partitions int32) {
		t.put(Topic{Name: name, ID: id, Partitions: partitions})
	})
}

// either looks into the first, then into the second.
type either struct{ first, second lookup }

type lookup interface {
	ByName(name string) (Topic, bool)
	ByID(id group.TopicID) (Topic, bool)
}

func (e either) ByName(name string) (Topic, bool) {
	if t, ok := e.first.ByName(name); ok {
		return t, true
	}
	return e.second.ByName(name)
}

func (e either) ByID(id group.TopicID) (Topic, bool) {
	if t, ok := e.first.ByID(id); ok {
		return t, true
	}
	return e.second.ByID(id)
}
