package gateway

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// countMetadata counts the Metadata requests that name topics, and keeps them.
func countMetadata(c *kfake.Cluster) (count *atomic.Int32, last *atomic.Pointer[kmsg.MetadataRequest]) {
	count, last = new(atomic.Int32), new(atomic.Pointer[kmsg.MetadataRequest])
	c.ControlKey(keyMetadata, func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if m := req.(*kmsg.MetadataRequest); len(m.Topics) > 0 {
			count.Add(1)
			last.Store(m)
		}
		return nil, nil, false
	})
	return count, last
}

func TestTopicsAreAsked(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(3), kfake.SeedTopics(6, "orders", "payments"), kfake.AllowAutoTopicCreation())
	d := newDirectory(t, c.ListenAddrs(), nil)
	_, last := countMetadata(c)
	ctx := testContext(t)

	_, _, ok := d.LookupName("orders")
	require.False(t, ok, "nobody asked yet")
	require.NoError(t, d.AskTopics(ctx, nil, nil))
	require.NoError(t, d.AskTopics(ctx, []string{"orders", "nothing"}, nil))
	require.False(t, last.Load().AllowAutoTopicCreation)
	id, partitions, ok := d.LookupName("orders")
	require.True(t, ok)
	require.Equal(t, int32(6), partitions)
	require.NotZero(t, id)
	name, partitions, ok := d.LookupID(id)
	require.True(t, ok)
	require.Equal(t, "orders", name)
	require.Equal(t, int32(6), partitions)
	_, _, ok = d.LookupName("nothing")
	require.False(t, ok)
	require.Nil(t, c.TopicInfo("nothing"), "asking must not create a topic")

	// By id, mixed with names and with one that nobody has.
	other := c.TopicInfo("payments").TopicID
	require.NoError(t, d.AskTopics(ctx, []string{"orders"}, [][16]byte{other, {1, 2, 3}}))
	name, _, ok = d.LookupID(other)
	require.True(t, ok)
	require.Equal(t, "payments", name)
	_, _, ok = d.LookupID([16]byte{1, 2, 3})
	require.False(t, ok)

	// What was unknown is asked for again.
	require.NoError(t, c.CreateTopic("nothing", 2, nil))
	require.NoError(t, d.AskTopics(ctx, []string{"nothing"}, nil))
	_, partitions, ok = d.LookupName("nothing")
	require.True(t, ok)
	require.Equal(t, int32(2), partitions)
}

func TestFreshName(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	d := newDirectory(t, c.ListenAddrs(), nil)
	ctx := testContext(t)
	require.True(t, d.FreshName("orders", 0), "nothing is known that could be old")
	require.NoError(t, d.AskTopics(ctx, []string{"orders"}, nil))
	require.True(t, d.FreshName("orders", time.Hour))
	require.False(t, d.FreshName("orders", 0))

	again := bareDirectory()
	require.NoError(t, again.Restore(d.Snapshot()))
	_, _, ok := again.LookupName("orders")
	require.True(t, ok)
	require.False(t, again.FreshName("orders", time.Hour), "what an earlier run knew may be old")
}

func TestTopicsAreRefreshed(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1), kfake.SeedTopics(2, "grows", "goes", "returns"))
	var changes atomic.Int32
	d := newDirectory(t, c.ListenAddrs(), func(c *DirectoryConfig) {
		c.Refresh, c.OnChange = 10*time.Millisecond, func() { changes.Add(1) }
	})
	ctx := testContext(t)
	require.NoError(t, d.AskTopics(ctx, []string{"grows", "goes", "returns"}, nil))
	goes, _, _ := d.LookupName("goes")
	returns, _, _ := d.LookupName("returns")

	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = 5000
	req.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "grows", Count: 5}}
	resp, err := req.RequestWith(ctx, d.Client())
	require.NoError(t, err)
	require.Zero(t, resp.Topics[0].ErrorCode)
	require.NoError(t, c.DeleteTopic("goes"))
	require.NoError(t, c.DeleteTopic("returns"))
	require.NoError(t, c.CreateTopic("returns", 4, nil))

	eventually(t, d, func() bool { _, n, _ := d.LookupName("grows"); return n == 5 })
	eventually(t, d, func() bool { _, _, ok := d.LookupName("goes"); return !ok })
	_, _, ok := d.LookupID(goes)
	require.False(t, ok)
	eventually(t, d, func() bool { _, n, _ := d.LookupName("returns"); return n == 4 })
	_, _, ok = d.LookupID(returns)
	require.False(t, ok, "the id of the deleted topic")
	again, _, _ := d.LookupName("returns")
	require.NotEqual(t, returns, again)
	eventually(t, d, func() bool { return changes.Load() >= 2 })
}

// TestTopicsShareAQuestion holds the first question back while many callers come: they share the second one.
func TestTopicsShareAQuestion(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "a", "b"))
	looked := make(chan struct{}) // The first look has ended, which would ask for topics, too.
	d := newDirectory(t, c.ListenAddrs(), func(c *DirectoryConfig) { c.OnChange = sync.OnceFunc(func() { close(looked) }) })
	<-looked
	release, held := make(chan struct{}), make(chan struct{})
	var asked atomic.Int32
	var once sync.Once
	c.ControlKey(keyMetadata, func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if m := req.(*kmsg.MetadataRequest); len(m.Topics) == 0 {
			return nil, nil, false
		}
		asked.Add(1)
		c.SleepControl(func() {
			once.Do(func() { close(held) })
			<-release
		})
		return nil, nil, false
	})
	ctx := testContext(t)
	var callers sync.WaitGroup
	ask := func(name string) {
		callers.Go(func() {
			if err := d.AskTopics(ctx, []string{name}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	ask("a")
	<-held
	// One that gives up does not disturb the others.
	gone, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, d.AskTopics(gone, []string{"a"}, nil), context.Canceled)
	ask("b")
	for i := range 50 {
		ask(fmt.Sprintf("nothing-%d", i))
	}
	require.Eventually(t, func() bool { // All of them have joined, and the one who gave up.
		d.topics.askMu.Lock()
		defer d.topics.askMu.Unlock()
		return d.topics.waiting != nil && len(d.topics.waiting.names) == 52
	}, 20*time.Second, time.Millisecond)
	close(release)
	callers.Wait()
	require.Equal(t, int32(2), asked.Load())
	_, _, ok := d.LookupName("b")
	require.True(t, ok)
}

func TestTopicsWhenKafkaIsAway(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "a"))
	d := newDirectory(t, c.ListenAddrs(), nil)
	require.NoError(t, d.AskTopics(testContext(t), []string{"a"}, nil))
	c.Close()
	require.Error(t, d.AskTopics(testContext(t), []string{"b"}, nil))
	_, _, ok := d.LookupName("a")
	require.True(t, ok, "what is known stays")
	d.Close()
	require.ErrorIs(t, d.AskTopics(testContext(t), []string{"b"}, nil), errClosed)
}

// TestTopicsWithoutIDs plays a broker from before Kafka 2.8.
func TestTopicsWithoutIDs(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1), kfake.SeedTopics(3, "a"))
	c.ControlKey(keyMetadata, func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		m := req.(*kmsg.MetadataRequest)
		if len(m.Topics) == 0 || m.Topics[0].Topic == nil {
			return nil, nil, false
		}
		resp := m.ResponseKind().(*kmsg.MetadataResponse)
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic = m.Topics[0].Topic
		topic.Partitions = []kmsg.MetadataResponseTopicPartition{{Partition: 0}, {Partition: 2, ErrorCode: 5, Leader: -1}}
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	d := newDirectory(t, c.ListenAddrs(), nil)
	require.NoError(t, d.AskTopics(testContext(t), []string{"a"}, nil))
	id, partitions, ok := d.LookupName("a")
	require.True(t, ok)
	require.Zero(t, id)
	require.Equal(t, int32(3), partitions)
	_, _, ok = d.LookupID(id)
	require.False(t, ok, "the zero id is nobody's")
	_, err := d.TopicGone(testContext(t), id)
	require.ErrorIs(t, err, errNoTopicIDs)
}

func TestTopicGone(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "a"))
	d := newDirectory(t, c.ListenAddrs(), nil)
	ctx := testContext(t)
	id := c.TopicInfo("a").TopicID
	gone, err := d.TopicGone(ctx, id)
	require.NoError(t, err)
	require.False(t, gone)

	// One broker that does not know the topic yet is not enough.
	var nodes sync.Map
	lagging := int32(0)
	c.ControlKey(keyMetadata, func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		m := req.(*kmsg.MetadataRequest)
		if len(m.Topics) == 0 {
			return nil, nil, false
		}
		nodes.Store(c.CurrentNode(), true)
		if c.CurrentNode() != atomic.LoadInt32(&lagging) {
			return nil, nil, false
		}
		resp := m.ResponseKind().(*kmsg.MetadataResponse)
		topic := kmsg.NewMetadataResponseTopic()
		topic.TopicID, topic.ErrorCode = m.Topics[0].TopicID, 100
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	gone, err = d.TopicGone(ctx, id)
	require.NoError(t, err)
	require.False(t, gone)

	atomic.StoreInt32(&lagging, -1)
	require.NoError(t, c.DeleteTopic("a"))
	nodes.Clear()
	gone, err = d.TopicGone(ctx, id)
	require.NoError(t, err)
	require.True(t, gone)
	asked := 0
	nodes.Range(func(any, any) bool { asked++; return true })
	require.Equal(t, 2, asked, "two different brokers")

	// A broker that does not answer is passed over, but two have to answer.
	var down atomic.Int32 // Broker ids as bits.
	c.ControlKey(keyMetadata, func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return nil, errClosed, down.Load()>>c.CurrentNode()&1 == 1
	})
	down.Store(0b001)
	gone, err = d.TopicGone(ctx, id)
	require.NoError(t, err)
	require.True(t, gone)
	down.Store(0b011)
	gone, err = d.TopicGone(ctx, id)
	require.ErrorContains(t, err, "1 of 2 brokers answered")
	require.False(t, gone)
}

// TestTopicsThatMayNotBeDescribed plays a broker that does not let the daemon's user see a topic.
func TestTopicsThatMayNotBeDescribed(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "open", "secret"))
	open, secret := c.TopicInfo("open").TopicID, c.TopicInfo("secret").TopicID
	var forbidden atomic.Bool
	c.ControlKey(keyMetadata, func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		m := req.(*kmsg.MetadataRequest)
		if !forbidden.Load() || len(m.Topics) == 0 {
			return nil, nil, false
		}
		resp := m.ResponseKind().(*kmsg.MetadataResponse)
		for _, asked := range m.Topics {
			answer := kmsg.NewMetadataResponseTopic()
			answer.Topic = asked.Topic
			if asked.TopicID == secret || asked.Topic != nil && *asked.Topic == "secret" {
				answer.ErrorCode = 29 // Without an id: Kafka does not confirm it.
			} else {
				name := "open"
				answer.Topic, answer.TopicID = &name, open
				answer.Partitions = make([]kmsg.MetadataResponseTopicPartition, 1)
			}
			resp.Topics = append(resp.Topics, answer)
		}
		return resp, nil, true
	})
	d := newDirectory(t, c.ListenAddrs(), nil)
	ctx := testContext(t)
	forbidden.Store(true)
	require.ErrorIs(t, d.AskTopics(ctx, []string{"open", "secret"}, nil), kerr.TopicAuthorizationFailed)
	require.ErrorIs(t, d.AskTopics(ctx, nil, [][16]byte{open, secret}), kerr.TopicAuthorizationFailed)
	require.NoError(t, d.AskTopics(ctx, []string{"open"}, [][16]byte{open}), "others are not in the way")
	_, _, ok := d.LookupID(secret)
	require.False(t, ok)
	_, err := d.TopicGone(ctx, secret)
	require.Error(t, err, "a topic that may not be seen is not gone")

	forbidden.Store(false)
	require.NoError(t, d.AskTopics(ctx, []string{"secret"}, nil))
	forbidden.Store(true)
	require.Error(t, d.AskTopics(ctx, []string{"secret"}, nil))
	_, _, ok = d.LookupName("secret")
	require.True(t, ok, "what is known stays")
}

func TestTopicsOfImpossibleNames(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "a"))
	d := newDirectory(t, c.ListenAddrs(), nil)
	count, _ := countMetadata(c)
	bad := []string{"", ".", "..", "a/b", "größe", strings.Repeat("x", 250), "a\x00"}
	require.NoError(t, d.AskTopics(testContext(t), bad, [][16]byte{{}}))
	require.Zero(t, count.Load())
	for _, name := range bad {
		_, _, ok := d.LookupName(name)
		require.False(t, ok)
	}
	for _, name := range append(bad, "a b", "é") {
		require.False(t, LegalTopic(name), name)
	}
	for _, name := range []string{"a", "A.b_c-D9", strings.Repeat("x", 249), "..."} {
		require.True(t, LegalTopic(name), name)
	}
}
