package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Bounds of one Metadata question about topics.
const (
	topicsPerAsk   = 2000
	versionTopicID = 12 // the first Metadata version that can ask by topic id (KIP-516)
)

// errNoTopicIDs says that a broker cannot be asked by topic id.
var errNoTopicIDs = errors.New("the broker does not know topic ids (Metadata below version 12)")

var errClosed = errors.New("the directory is closed")

// topic is what Kafka says of a topic. The id is zero for brokers that have none.
type topic struct {
	name       string
	id         [16]byte
	partitions int32
	raw        []byte // a Metadata answer of version snapshotMetadata with this topic only
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

// topicAsk is one question that several callers share.
type topicAsk struct {
	names map[string]struct{}
	ids   map[[16]byte]struct{}
	done  chan struct{} // closed when err is set
	err   error
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
	ask := d.topics.join(names, ids)
	select {
	case <-ask.done:
		return ask.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join adds to the question that waits, and sets one going when none is under way.
func (c *topicCache) join(names []string, ids [][16]byte) *topicAsk {
	c.askMu.Lock()
	defer c.askMu.Unlock()
	if c.closed {
		ask := &topicAsk{done: make(chan struct{}), err: errClosed}
		close(ask.done)
		return ask
	}
	if c.waiting == nil {
		c.waiting = &topicAsk{names: map[string]struct{}{}, ids: map[[16]byte]struct{}{}, done: make(chan struct{})}
	}
	ask := c.waiting
	for _, name := range names {
		ask.names[name] = struct{}{}
	}
	for _, id := range ids {
		ask.ids[id] = struct{}{}
	}
	if !c.asking {
		c.asking = true
		c.running.Go(c.run)
	}
	return ask
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
		ask.err = c.ask(c.d.shutdown, slices.Sorted(maps.Keys(ask.names)), slices.Collect(maps.Keys(ask.ids)))
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
func (c *topicCache) ask(ctx context.Context, names []string, ids [][16]byte) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for piece := range slices.Chunk(names, topicsPerAsk) {
		resp, err := c.d.metadata(ctx, c.d.client, piece, nil)
		if err != nil {
			return err
		}
		c.store(resp)
	}
	for piece := range slices.Chunk(ids, topicsPerAsk) {
		resp, err := c.d.metadata(ctx, c.d.client, nil, piece)
		if err != nil {
			return err
		}
		c.store(resp)
	}
	return nil
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

// store puts an answer into the cache: topics that exist, and out of it those that do not.
func (c *topicCache) store(resp *kmsg.MetadataResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range resp.Topics {
		t := &resp.Topics[i]
		switch t.ErrorCode {
		case kerr.UnknownTopicOrPartition.Code:
			if t.Topic != nil {
				c.forget(*t.Topic)
			}
		case kerr.UnknownTopicID.Code:
			if known, ok := c.byID[t.TopicID]; ok {
				c.forget(known.name)
			}
		case 0, kerr.LeaderNotAvailable.Code:
			if t.Topic == nil || len(t.Partitions) == 0 {
				continue // Being created: its partitions are not known yet.
			}
			c.set(topicOf(t))
		}
	}
}

// set puts a topic into the cache, or replaces what was known under its name.
func (c *topicCache) set(t topic) {
	if old, ok := c.byName[t.name]; ok && bytes.Equal(old.raw, t.raw) {
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
