package gateway

import (
	"context"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	"go.uber.org/zap/zaptest/observer"
)

// testPorts gives ports to the broker ids 0-31.
var testPorts = Ports{Host: "gateway.test", First: 19193, Last: 19224}

func newCluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(opts...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// newDirectory starts a directory for a cluster and waits until the cluster is known.
func newDirectory(t *testing.T, seeds []string, edit func(*DirectoryConfig)) *Directory {
	t.Helper()
	cfg := DirectoryConfig{Seeds: seeds, Ports: testPorts}
	if edit != nil {
		edit(&cfg)
	}
	d, err := NewDirectory(cfg, zaptest.NewLogger(t))
	require.NoError(t, err)
	d.Start(t.Context())
	t.Cleanup(d.Close)
	_, err = d.Cluster(testContext(t))
	require.NoError(t, err)
	return d
}

// testContext bounds everything that a test waits for.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for a look at the cluster after which ok holds.
func eventually(t *testing.T, d *Directory, ok func() bool) {
	t.Helper()
	ctx := testContext(t)
	for {
		d.mu.Lock()
		news := d.news
		d.mu.Unlock()
		if ok() {
			return
		}
		d.refreshSoon()
		select {
		case <-news:
		case <-ctx.Done():
			t.Fatalf("it never came true; the latest look: %v", d.Err())
		}
	}
}

func TestDirectoryFollowsBrokers(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(3), kfake.ClusterID("abc"))
	d := newDirectory(t, c.ListenAddrs()[:1], nil)
	require.Equal(t, "abc", d.Table().ClusterID())
	require.Equal(t, []int32{0, 1, 2}, d.Table().IDs())

	// A broker comes, with a gap in the ids.
	id, port, err := c.AddNode(7, 0)
	require.NoError(t, err)
	eventually(t, d, func() bool { return len(d.Table().IDs()) == 4 })
	addr, ok := d.Table().Upstream(id)
	require.True(t, ok)
	require.Equal(t, strconv.Itoa(port), portOf(t, addr))
	host, advertised, ok := d.Table().Advertised(7)
	require.True(t, ok)
	require.Equal(t, "gateway.test", host)
	require.Equal(t, testPorts.First+7, advertised)

	// It goes: no longer named, its last address kept for the connections of its port.
	require.NoError(t, c.RemoveNode(7))
	eventually(t, d, func() bool { return len(d.Table().IDs()) == 3 })
	was, ok := d.Table().Upstream(7)
	require.True(t, ok)
	require.Equal(t, addr, was)

	// It comes back elsewhere: the id is what counts.
	_, moved, err := c.AddNode(7, 0)
	require.NoError(t, err)
	eventually(t, d, func() bool { return len(d.Table().IDs()) == 4 })
	addr, err = d.Wait(testContext(t), 7)
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(moved), portOf(t, addr))
}

func portOf(t *testing.T, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	return port
}

func TestDirectoryConfigRefused(t *testing.T) {
	good := DirectoryConfig{Seeds: []string{"a:1"}, Ports: testPorts}
	for text, edit := range map[string]func(*DirectoryConfig){
		"no address of a Kafka broker is given":                                                func(c *DirectoryConfig) { c.Seeds = nil },
		`the Kafka broker address "a" is not host:port`:                                        func(c *DirectoryConfig) { c.Seeds = []string{"a"} },
		`the Kafka broker address "a:70000" is not host:port`:                                  func(c *DirectoryConfig) { c.Seeds = []string{"a:1", "a:70000"} },
		`the Kafka broker address ":1" is not host:port`:                                       func(c *DirectoryConfig) { c.Seeds = []string{":1"} },
		"the advertised host is empty":                                                         func(c *DirectoryConfig) { c.Ports.Host = "" },
		"the refresh interval and the hold time must not be negative":                          func(c *DirectoryConfig) { c.Refresh = -1 },
		"the security protocol SASL_SSL is not supported yet: use PLAINTEXT or SASL_PLAINTEXT": func(c *DirectoryConfig) { c.Security.Protocol = "SASL_SSL" },
	} {
		cfg := good
		edit(&cfg)
		_, err := NewDirectory(cfg, zap.NewNop())
		require.EqualError(t, err, text)
	}
}

// TestDirectoryOutlivesKafka stops the whole cluster: what was known stays in use.
func TestDirectoryOutlivesKafka(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(2))
	d := newDirectory(t, c.ListenAddrs(), func(c *DirectoryConfig) { c.Refresh = 10 * time.Millisecond })
	before := d.Table()
	c.Close()
	eventually(t, d, func() bool { return d.Err() != nil })
	require.Equal(t, before.IDs(), d.Table().IDs())
	addr, err := d.Wait(testContext(t), 1)
	require.NoError(t, err)
	was, _ := before.Upstream(1)
	require.Equal(t, was, addr)
	_, ok := d.Table().Coordinator("g")
	require.True(t, ok)
}

func TestDirectoryWait(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1))
	d := newDirectory(t, c.ListenAddrs(), func(c *DirectoryConfig) { c.Hold = 10 * time.Second })

	_, err := d.Wait(testContext(t), 99)
	require.ErrorIs(t, err, ErrNoPort)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = d.Wait(ctx, 3)
	require.ErrorIs(t, err, ErrUnknownBroker)

	// One that comes while somebody waits.
	type answer struct {
		addr string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		addr, err := d.Wait(t.Context(), 3)
		answers <- answer{addr, err}
	}()
	_, port, err := c.AddNode(3, 0)
	require.NoError(t, err)
	d.refreshSoon()
	got := <-answers
	require.NoError(t, got.err)
	require.Equal(t, strconv.Itoa(port), portOf(t, got.addr))

	// Close ends the waiting.
	go func() {
		addr, err := d.Wait(t.Context(), 4)
		answers <- answer{addr, err}
	}()
	d.Close()
	require.ErrorIs(t, (<-answers).err, ErrUnknownBroker)
}

func TestDirectoryHoldEnds(t *testing.T) {
	d, err := NewDirectory(DirectoryConfig{Seeds: []string{"127.0.0.1:1"}, Ports: testPorts, Hold: 20 * time.Millisecond}, zap.NewNop())
	require.NoError(t, err)
	d.Start(t.Context())
	defer d.Close()
	_, err = d.Wait(t.Context(), 1)
	require.ErrorIs(t, err, ErrUnknownBroker)
}

func TestDirectoryBootstrap(t *testing.T) {
	d, err := NewDirectory(DirectoryConfig{Seeds: []string{"seed1:1", "seed2:1"}, Ports: testPorts}, zap.NewNop())
	require.NoError(t, err)
	defer d.Close()
	take := func(n int) map[string]int {
		got := map[string]int{}
		for range n {
			addr, err := d.Bootstrap(t.Context())
			require.NoError(t, err)
			got[addr]++
		}
		return got
	}
	require.Equal(t, map[string]int{"seed1:1": 5, "seed2:1": 5}, take(10), "the seeds take turns")
	live := []broker{{id: 0, addr: "b0:1"}, {id: 1, addr: "b1:1"}, {id: 99, addr: "noport:1"}}
	d.table.Store(newTable(testPorts, "", 0, live, nil))
	require.Equal(t, map[string]int{"b0:1": 5, "b1:1": 5}, take(10), "then the live brokers")
	d.Failed("b0:1")
	require.Equal(t, map[string]int{"b1:1": 4}, take(4))
	d.Failed("b1:1")
	require.Equal(t, map[string]int{"seed1:1": 2, "seed2:1": 2}, take(4))
	d.Failed("seed1:1")
	d.Failed("seed2:1")
	d.mu.Lock()
	d.failed["seed1:1"] = d.failed["seed1:1"].Add(-failedFor / 2)
	d.mu.Unlock()
	require.Equal(t, map[string]int{"seed1:1": 4}, take(4), "all failed: the one that failed longest ago")
	d.mu.Lock()
	d.failed["b1:1"] = d.failed["b1:1"].Add(-failedFor)
	d.mu.Unlock()
	require.Equal(t, map[string]int{"b1:1": 4}, take(4), "failures are forgotten")
}

// TestDirectoryNoPort has a broker outside the range: one log line, no address.
func TestDirectoryNoPort(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(2), kfake.SeedTopics(8, "t"))
	core, logs := observer.New(zap.WarnLevel)
	cfg := DirectoryConfig{Seeds: c.ListenAddrs(), Ports: Ports{Host: "gateway.test", First: 9000, Last: 9000}}
	d, err := NewDirectory(cfg, zap.New(core))
	require.NoError(t, err)
	d.Start(t.Context())
	defer d.Close()
	_, err = d.Cluster(testContext(t))
	require.NoError(t, err)
	for range 3 {
		body := metadataBody(t, d.client, "t")
		got, err := d.Rewrite(keyMetadata, 12, body)
		require.NoError(t, err)
		resp := kmsg.NewPtrMetadataResponse()
		require.NoError(t, decode(resp, 12, got))
		require.Len(t, resp.Brokers, 1)
		require.Equal(t, int32(0), resp.Brokers[0].NodeID)
		for _, p := range resp.Topics[0].Partitions {
			if p.Leader == -1 {
				require.Equal(t, int16(5), p.ErrorCode)
			} else {
				require.Equal(t, int32(0), p.Leader)
				require.Zero(t, p.ErrorCode)
			}
		}
	}
	require.Equal(t, []int32{0}, d.Table().IDs())
	require.Equal(t, 1, logs.FilterMessageSnippet("outside the port range").Len())
}

// metadataBody is a broker's answer of version 12 about one topic.
func metadataBody(t *testing.T, to kmsg.Requestor, name string) []byte {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &name
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(testContext(t), to)
	require.NoError(t, err)
	resp.Version = 12
	return resp.AppendTo(nil)
}

// TestDirectoryLooksWhenAnswersHaveNews rewrites an answer that names a broker that the table does not have.
func TestDirectoryLooksWhenAnswersHaveNews(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	d := newDirectory(t, c.ListenAddrs(), nil)
	own, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	require.NoError(t, err)
	defer own.Close()
	_, _, err = c.AddNode(5, 0)
	require.NoError(t, err)
	_, err = d.Rewrite(keyMetadata, 12, metadataBody(t, own, "t"))
	require.NoError(t, err)
	addr, err := d.Wait(testContext(t), 5) // The interval of looks is 30 s, the hold 5 s.
	require.NoError(t, err)
	require.NotEmpty(t, addr)
}

func TestDirectoryRefusesAnotherCluster(t *testing.T) {
	one, two := newCluster(t, kfake.NumBrokers(1), kfake.ClusterID("one")), newCluster(t, kfake.NumBrokers(1), kfake.ClusterID("two"))
	d := newDirectory(t, one.ListenAddrs(), nil)
	kept := d.Snapshot()

	other, err := NewDirectory(DirectoryConfig{Seeds: two.ListenAddrs(), Ports: testPorts}, zap.NewNop())
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, other.Restore(kept))
	other.Start(t.Context())
	_, err = other.Cluster(testContext(t))
	mismatch := (*ClusterMismatchError)(nil)
	require.ErrorAs(t, err, &mismatch)
	require.EqualError(t, mismatch, `the brokers belong to the Kafka cluster "two", but the state is of "one"`)
	require.Equal(t, "one", other.Table().ClusterID())
}

// TestDirectoryHalfDeadSeed has a seed that accepts and never answers beside one that works.
func TestDirectoryHalfDeadSeed(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(1))
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer dead.Close()
	d := newDirectory(t, []string{dead.Addr().String(), c.ListenAddrs()[0]}, nil)
	require.Equal(t, []int32{0}, d.Table().IDs())
}

func TestDirectoryIgnoresAnswersWithoutBrokers(t *testing.T) {
	d := idleDirectory(t, testPorts)
	for _, resp := range []*kmsg.MetadataResponse{
		{},
		{Brokers: []kmsg.MetadataResponseBroker{{NodeID: 1, Port: 1}}},
		{Brokers: []kmsg.MetadataResponseBroker{{NodeID: 1, Host: "h"}, {NodeID: 2, Host: "h", Port: 70000}}},
	} {
		_, err := d.apply(resp)
		require.Error(t, err)
		require.Empty(t, d.Table().IDs())
	}
}

func TestClusterSaysWhatWentWrong(t *testing.T) {
	d, err := NewDirectory(DirectoryConfig{Seeds: []string{"127.0.0.1:1"}, Ports: testPorts}, zap.NewNop())
	require.NoError(t, err)
	d.Start(t.Context())
	defer d.Close()
	eventually(t, d, func() bool { return d.Err() != nil })
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = d.Cluster(ctx)
	require.ErrorContains(t, err, "no answer from Kafka")
	require.ErrorContains(t, err, "connection refused")
}

// TestDirectoryMovedBroker follows a broker that moved as soon as a dial of its old address failed.
func TestDirectoryMovedBroker(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(2))
	d := newDirectory(t, c.ListenAddrs(), nil)
	old, ok := d.Table().Upstream(1)
	require.True(t, ok)
	require.NoError(t, c.RemoveNode(1))
	_, port, err := c.AddNode(1, 0)
	require.NoError(t, err)
	d.mu.Lock()
	news := d.news
	d.mu.Unlock()
	d.Failed(old)
	select {
	case <-news:
	case <-testContext(t).Done():
		t.Fatal("a failed dial does not lead to a look")
	}
	addr, err := d.Wait(testContext(t), 1)
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(port), portOf(t, addr))
	require.NotEqual(t, old, addr)
}

// TestDirectoryConcurrent is for the race detector: everything at once while brokers come and go.
func TestDirectoryConcurrent(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(2), kfake.SeedTopics(2, "t"))
	d := newDirectory(t, c.ListenAddrs(), func(c *DirectoryConfig) { c.Refresh = time.Millisecond })
	body := metadataBody(t, d.client, "t")
	versions := kafka44(4).AppendTo(nil)
	ctx := testContext(t)
	eventually(t, d, func() bool { _, err := d.APIVersions(4, -1); return err == nil })
	var workers sync.WaitGroup
	for _, work := range []func() error{
		func() error { _, err := d.Rewrite(keyMetadata, 12, body); return err },
		func() error { _, err := d.EditAPIVersions(4, versions, 1); return err },
		func() error { _, err := d.APIVersions(4, -1); return err },
		func() error { _, err := d.Bootstrap(ctx); return err },
		func() error { _, err := d.Wait(ctx, 1); return err },
		func() error { d.Failed("127.0.0.1:1"); d.Table().Coordinator("g"); return nil },
		func() error { return d.AskTopics(ctx, []string{"t"}, nil) },
		func() error { d.Snapshot(); d.LookupName("t"); return nil },
		func() error {
			d.LocalMetadata(&kmsg.MetadataRequest{Version: 12, Topics: []kmsg.MetadataRequestTopic{}})
			return nil
		},
	} {
		workers.Go(func() {
			for range 500 { // Bounded, so that the looks get their turn on a small machine.
				if err := work(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 3 {
		_, _, err := c.AddNode(9, 0)
		require.NoError(t, err)
		eventually(t, d, func() bool { return len(d.Table().IDs()) == 3 })
		require.NoError(t, c.RemoveNode(9))
		eventually(t, d, func() bool { return len(d.Table().IDs()) == 2 })
	}
	workers.Wait()
}
