package coordinator

import (
	"sync"

	"github.com/coordinatord/coordinatord/group"
)

// imageTopics is what the replicated image says of topics. The loop writes it, the connections read it: it is what a
// commit is checked against when Kafka cannot be asked.
type imageTopics struct {
	mu     sync.RWMutex
	byName map[string]Topic
	byID   map[group.TopicID]Topic
}

func newImageTopics() *imageTopics {
	return &imageTopics{byName: make(map[string]Topic), byID: make(map[group.TopicID]Topic)}
}

// ByName implements [protocol.Lookup].
func (t *imageTopics) ByName(name string) (Topic, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	topic, ok := t.byName[name]
	return topic, ok
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
			if t.byName[old.Name].ID == r.ID {
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
	t.byName[topic.Name] = topic
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
