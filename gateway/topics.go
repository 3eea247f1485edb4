package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
)

// Bounds of one Metadata question about topics.
const (
	topicsPerAsk   = 2000
	versionTopicID = 12 // the first Metadata version that can ask by topic id (KIP-516)
)

// errNoTopicIDs says that a broker cannot be asked by topic id.
var errNoTopicIDs = errors.New("the broker does not know topic ids (Metadata below version 12)")

var (
	errClosed     = errors.New("the directory is closed")
	errNotAllowed = errors.New("not allowed to describe a topic")
)

// topic is what Kafka says of a topic. The id is zero for brokers that have none.
type topic struct {
	name       string
	id         [16]byte
	partitions int32
	heard      time.Time // when Kafka last said so; zero: in an earlier run
	raw        []byte    // a Metadata answer of version snapshotMetadata with this topic only
}

// topicCache holds the topics that somebody asked for and that exist, and joins questions that are asked at one time.
// What does not exist is not kept: a topic may be created at any moment, and whoever asks again asks Kafka.
type topicCache struct {
	d *Directory

	mu      sync.RWMutex
	byName  map[string]topic
	byID    map[[16]byte]topic
	changed bool // since the last takeChanged

	askMu   sync.Mutex
	waiting *topicAsk // gathers while another question is under way; nil: none waits
	asking  bool
	closed  bool
	running sync.WaitGroup
}

// topicAsk is one question that several callers share. For each topic it ends with why Kafka did not say whether the topic
// exists, or nil.
type topicAsk struct {
	names map[string]error
	ids   map[[16]byte]error
	done  chan struct{} // closed when the maps are final
}

func (c *topicCache) init(d *Directory) {
	c.d = d
	c.byName = map[string]topic{}
	c.byID = map[[16]byte]topic{}
}

// close fails later questions and waits for the one under way, whose context has ended.
func (c *topicCache) close() {
	c.askMu.Lock()
	c.closed = true
	c.askMu.Unlock()
	c.running.Wait()
}

// LookupName returns what the cache has of a topic; it never blocks. The id is zero where the brokers have no topic ids.
func (d *Directory) LookupName(name string) (id [16]byte, partitions int32, ok bool) {
	d.topics.mu.RLock()
	t, ok := d.topics.byName[name]
	d.topics.mu.RUnlock()
	return t.id, t.partitions, ok
}

// FreshName says whether what LookupName has of a topic was heard from Kafka within the given time; also true of a topic
// that the cache lacks or that has no id, which could not be told from another of its name.
func (d *Directory) FreshName(name string, within time.Duration) bool {
	d.topics.mu.RLock()
	t, ok := d.topics.byName[name]
	d.topics.mu.RUnlock()
	return !ok || t.id == ([16]byte{}) || time.Since(t.heard) <= within
}

// LookupID returns what the cache has of a topic id; it never blocks.
func (d *Directory) LookupID(id [16]byte) (name string, partitions int32, ok bool) {
	d.topics.mu.RLock()
	t, ok := d.topics.byID[id]
	d.topics.mu.RUnlock()
	return t.name, t.partitions, ok
}

// AskTopics asks Kafka for topics by name and by id, and afterwards the cache has those that exist, as they are now. Calls
// at one time share a question. An error means that Kafka could not be asked, which says nothing about the topics. Asking
// creates no topic.
func (d *Directory) AskTopics(ctx context.Context, names []string, ids [][16]byte) error {
	if len(names) == 0 && len(ids) == 0 {
		return nil
	}
	ask, err := d.topics.join(names, ids)
	if err != nil {
		return err
	}
	select {
	case <-ask.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, name := range names {
		if err := ask.names[name]; err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := ask.ids[id]; err != nil {
			return err
		}
	}
	return nil
}

// join adds to the question that waits, and sets one going when none is under way. Names that no topic can have are not
// asked for: they do not exist, and they may be long.
func (c *topicCache) join(names []string, ids [][16]byte) (*topicAsk, error) {
	c.askMu.Lock()
	defer c.askMu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if c.waiting == nil {
		c.waiting = &topicAsk{names: map[string]error{}, ids: map[[16]byte]error{}, done: make(chan struct{})}
	}
	ask := c.waiting
	for _, name := range names {
		if LegalTopic(name) {
			ask.names[strings.Clone(name)] = nil // It may point into a request, which the question can outlive.
		}
	}
	for _, id := range ids {
		if id != ([16]byte{}) {
			ask.ids[id] = nil
		}
	}
	if !c.asking {
		c.asking = true
		c.running.Go(c.run)
	}
	return ask, nil
}

// LegalTopic reports whether Kafka takes a topic of this name: 1 to 249 letters, digits, dots, underscores and dashes, and
// neither of the two names that are directories.
func LegalTopic(name string) bool {
	if name == "" || len(name) > 249 || name == "." || name == ".." {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// run asks what waits until nothing does. While it asks, the next question gathers: a batch without a timer.
func (c *topicCache) run() {
	for {
		c.askMu.Lock()
		ask := c.waiting
		c.waiting = nil
		if ask == nil {
			c.asking = false
			c.askMu.Unlock()
			return
		}
		c.askMu.Unlock()
		c.ask(c.d.shutdown, ask)
		close(ask.done)
	}
}

// refresh asks again for all topics that the cache has, so that new partitions, deletions and new ids are seen.
func (c *topicCache) refresh(ctx context.Context) {
	c.mu.RLock()
	names := slices.Sorted(maps.Keys(c.byName))
	c.mu.RUnlock()
	if len(names) == 0 {
		return
	}
	_ = c.d.AskTopics(ctx, names, nil) // What is known stays when Kafka cannot be asked.
}

// ask asks Kafka in pieces and updates the cache.
func (c *topicCache) ask(ctx context.Context, ask *topicAsk) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for piece := range slices.Chunk(slices.Sorted(maps.Keys(ask.names)), topicsPerAsk) {
		resp, err := c.d.metadata(ctx, c.d.client, piece, nil)
		if err == nil {
			c.store(resp, ask)
			continue
		}
		for _, name := range piece {
			ask.names[name] = err
		}
	}
	for piece := range slices.Chunk(slices.Collect(maps.Keys(ask.ids)), topicsPerAsk) {
		resp, err := c.d.metadata(ctx, c.d.client, nil, piece)
		if err == nil {
			c.store(resp, ask)
			continue
		}
		for _, id := range piece {
			ask.ids[id] = err
		}
	}
}

// metadata asks a broker for topics by name or by id, not both: a broker that gets ids ignores names.
func (d *Directory) metadata(ctx context.Context, to kmsg.Requestor, names []string, ids [][16]byte) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	req.Topics = make([]kmsg.MetadataRequestTopic, 0, len(names)+len(ids))
	for i := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &names[i]
		req.Topics = append(req.Topics, t)
	}
	for _, id := range ids {
		t := kmsg.NewMetadataRequestTopic()
		t.TopicID = id
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("ask Kafka for topics: %w", err)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, fmt.Errorf("ask Kafka for topics: %w", err)
	}
	if len(ids) > 0 && resp.Version < versionTopicID {
		return nil, fmt.Errorf("ask Kafka for topics: %w", errNoTopicIDs)
	}
	return resp, nil
}

// store puts an answer into the cache: topics that exist, and out of it those that do not. Other errors say nothing about
// the topic and go to those who asked.
func (c *topicCache) store(resp *kmsg.MetadataResponse, ask *topicAsk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for i := range resp.Topics {
		t := &resp.Topics[i]
		switch t.ErrorCode {
		case 0, kerr.LeaderNotAvailable.Code:
			if t.Topic != nil && len(t.Partitions) > 0 { // Without partitions it is being created.
				known := topicOf(t)
				known.heard = now
				c.set(known)
			}
		case kerr.UnknownTopicOrPartition.Code, kerr.InvalidTopicException.Code:
			if t.Topic != nil {
				c.forget(*t.Topic)
			}
		case kerr.UnknownTopicID.Code:
			if known, ok := c.byID[t.TopicID]; ok {
				c.forget(known.name)
			}
		default:
			c.fail(t, ask)
		}
	}
}

// fail notes for those who asked that a broker did not say whether a topic exists.
func (c *topicCache) fail(t *kmsg.MetadataResponseTopic, ask *topicAsk) {
	err := fmt.Errorf("ask Kafka for topics: %w", kerr.ErrorForCode(t.ErrorCode))
	if t.ErrorCode == kerr.TopicAuthorizationFailed.Code && c.d.sometimes(errNotAllowed) {
		c.d.log.Error("the daemon's own user may not describe a topic, so that its offsets cannot be committed; it needs the operation DESCRIBE on topics",
			zap.Stringp("topic", t.Topic))
	}
	if t.Topic != nil {
		if _, ok := ask.names[*t.Topic]; ok {
			ask.names[*t.Topic] = err
			return
		}
	}
	if _, ok := ask.ids[t.TopicID]; ok {
		ask.ids[t.TopicID] = err
		return
	}
	// A broker does not repeat the id of a topic that may not be described, so it can be any of those asked for by id.
	for id := range ask.ids {
		if _, known := c.byID[id]; !known {
			ask.ids[id] = err
		}
	}
}

// set puts a topic into the cache, or replaces what was known under its name.
func (c *topicCache) set(t topic) {
	if old, ok := c.byName[t.name]; ok && bytes.Equal(old.raw, t.raw) {
		c.byName[t.name] = t
		return
	}
	c.changed = true
	c.forget(t.name)
	c.byName[t.name] = t
	if t.id != ([16]byte{}) {
		c.byID[t.id] = t
	}
}

// takeChanged reports whether the cache has changed since the last call.
func (c *topicCache) takeChanged() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.changed
	c.changed = false
	return changed
}

// forget removes a topic by name, with the id that it had.
func (c *topicCache) forget(name string) {
	if old, ok := c.byName[name]; ok {
		c.changed = true
		delete(c.byName, name)
		delete(c.byID, old.id)
	}
}

// TopicGone asks Kafka whether a topic id is unknown, at two different brokers where there are two. True only if each of
// them answered UNKNOWN_TOPIC_ID: a broker that has just started, or lags, may not know of a topic that exists. An error
// means that not enough brokers could be asked.
func (d *Directory) TopicGone(ctx context.Context, id [16]byte) (bool, error) {
	if id == ([16]byte{}) {
		return false, errNoTopicIDs
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	table := d.Table()
	brokers := slices.Sorted(maps.Keys(table.brokers))
	if len(brokers) == 0 {
		return false, ErrUnknownBroker
	}
	// Those that are down at present count: the last one that is left must not decide alone.
	wanted, answered := min(2, len(brokers)+len(table.departed)), 0
	var lastErr error
	for _, b := range brokers {
		resp, err := d.metadata(ctx, d.client.Broker(int(b)), nil, [][16]byte{id})
		if err != nil {
			lastErr = err
			continue
		}
		if len(resp.Topics) != 1 || resp.Topics[0].TopicID != id {
			lastErr = fmt.Errorf("broker %d did not answer for the topic id", b)
			continue
		}
		switch t := &resp.Topics[0]; t.ErrorCode {
		case kerr.UnknownTopicID.Code:
		case 0, kerr.LeaderNotAvailable.Code:
			return false, nil
		default:
			lastErr = fmt.Errorf("broker %d: %w", b, kerr.ErrorForCode(t.ErrorCode))
			continue
		}
		if answered++; answered == wanted {
			return true, nil
		}
	}
	if lastErr == nil {
		lastErr = ErrUnknownBroker
	}
	return false, fmt.Errorf("%d of %d brokers answered for a topic id: %w", answered, wanted, lastErr)
}
