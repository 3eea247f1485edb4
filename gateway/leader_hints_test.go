package gateway

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
)

// TestLeaderHintsLeadToTheGateway moves a leader while a client produces, so that brokers refuse with the address of the
// new leader (KIP-951), and looks where the client dials.
func TestLeaderHintsLeadToTheGateway(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(2), kfake.SeedTopics(1, "t"))
	first := FreePorts(t, 2)
	ports := Ports{Host: "127.0.0.1", First: first, Last: first + 1}
	d := newDirectory(t, c.ListenAddrs(), func(c *DirectoryConfig) { c.Ports, c.LeaderHints = ports, true })
	cfg := Config{Listen: "127.0.0.1:0", Ports: ports}
	cfg.Wire.LeaderHints = true
	srv, err := NewServer(cfg, d, noLocal{}, zap.NewNop())
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		srv.Shutdown(ctx)
	})
	require.NoError(t, c.MoveTopicPartition("t", 0, 0))

	var mu sync.Mutex
	dialled := map[string]int{}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(srv.Addr().String()), kgo.DisableIdempotentWrite(),
		kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			mu.Lock()
			dialled[addr]++
			mu.Unlock()
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		}))
	require.NoError(t, err)
	defer client.Close()
	ctx := testContext(t)
	for i := range 4 {
		require.NoError(t, client.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: []byte("v")}).FirstErr())
		require.NoError(t, c.MoveTopicPartition("t", 0, int32(i+1)%2))
	}

	// The brokers do give hints, or nothing was tested: asked at the broker that does not lead, both answers name the
	// gateway's ports.
	check := func(id int32, host string, port int32) {
		t.Helper()
		require.Equal(t, [2]any{"127.0.0.1", first + id}, [2]any{host, port})
	}
	produce := kmsg.NewPtrProduceRequest()
	produce.Acks, produce.TimeoutMillis = -1, 1000
	id := c.TopicInfo("t").TopicID
	produce.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", TopicID: id, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: emptyBatch()}}}}
	resp, err := produce.RequestWith(ctx, client.Broker(1))
	require.NoError(t, err)
	require.Equal(t, int16(6), resp.Topics[0].Partitions[0].ErrorCode)
	require.NotEmpty(t, resp.Brokers)
	for _, b := range resp.Brokers {
		check(b.NodeID, b.Host, b.Port)
	}

	fetch := kmsg.NewPtrFetchRequest()
	fetch.MaxWaitMillis, fetch.MaxBytes, fetch.SessionEpoch = 10, 1<<20, -1
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.PartitionMaxBytes = 1 << 20
	fetch.Topics = []kmsg.FetchRequestTopic{{Topic: "t", TopicID: id, Partitions: []kmsg.FetchRequestTopicPartition{partition}}}
	fetched, err := fetch.RequestWith(ctx, client.Broker(1))
	require.NoError(t, err)
	require.GreaterOrEqual(t, fetched.Version, int16(16))
	require.Equal(t, int16(6), fetched.Topics[0].Partitions[0].ErrorCode)
	require.NotEmpty(t, fetched.Brokers)
	for _, b := range fetched.Brokers {
		check(b.NodeID, b.Host, b.Port)
	}

	mu.Lock()
	defer mu.Unlock()
	for _, addr := range c.ListenAddrs() {
		require.NotContains(t, dialled, addr)
	}
}

// emptyBatch is a record batch without records, for a request that is refused before anybody looks into it.
func emptyBatch() []byte {
	batch := kmsg.NewRecordBatch()
	batch.Magic, batch.Length = 2, 49
	return batch.AppendTo(nil)
}
