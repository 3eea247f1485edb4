package gateway_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/coordinatord/coordinatord/gateway"
	"github.com/coordinatord/coordinatord/wire"
)

// localFunc answers the requests of own keys.
type localFunc func(*wire.Request)

func (f localFunc) Serve(r *wire.Request) { f(r) }

// echo answers every own request with the empty response of its kind.
func echo(r *wire.Request) { r.Reply(r.Msg.ResponseKind()) }

// stand is a gateway in front of a fake cluster.
type stand struct {
	t       testing.TB
	cluster *kfake.Cluster
	dir     *gateway.Directory
	srv     *gateway.Server
	ports   gateway.Ports
}

func freePorts(t testing.TB, n int) int32 { return gateway.FreePorts(t, n) }

// newStand starts a cluster of n brokers and a gateway; edit may change the gateway's configuration.
func newStand(t testing.TB, n int, local wire.Local, edit func(*gateway.Config), opts ...kfake.Opt) *stand {
	t.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(n)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	s := newStandAt(t, cluster.ListenAddrs(), n, local, edit)
	s.cluster = cluster
	return s
}

// newStandAt starts a gateway in front of the brokers at seeds, of which there are n with ids from 0.
func newStandAt(t testing.TB, seeds []string, n int, local wire.Local, edit func(*gateway.Config), security ...gateway.Security) *stand {
	t.Helper()
	first := freePorts(t, n+1)
	s := &stand{t: t, ports: gateway.Ports{Host: "127.0.0.1", First: first + 1, Last: first + int32(n)}}
	var err error
	log := zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel))
	dirCfg := gateway.DirectoryConfig{Seeds: seeds, Ports: s.ports}
	if len(security) > 0 {
		dirCfg.Security = security[0]
	}
	s.dir, err = gateway.NewDirectory(dirCfg, log)
	require.NoError(t, err)
	s.dir.Start(context.Background())
	t.Cleanup(s.dir.Close)
	cfg := gateway.Config{Listen: fmt.Sprintf("127.0.0.1:%d", first), Ports: s.ports}
	if edit != nil {
		edit(&cfg)
	}
	s.srv, err = gateway.NewServer(cfg, s.dir, local, log)
	require.NoError(t, err)
	require.NoError(t, s.srv.Start())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.srv.Shutdown(ctx) // what a failed test leaves open is cut off
	})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err = s.dir.Cluster(ctx)
	require.NoError(t, err)
	return s
}

// port is the address of a broker's port.
func (s *stand) port(id int32) string {
	p, ok := s.ports.Port(id)
	require.True(s.t, ok)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(p)))
}

func (s *stand) client(opts ...kgo.Opt) *kgo.Client {
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(s.srv.Addr().String())}, opts...)...)
	require.NoError(s.t, err)
	s.t.Cleanup(cl.Close)
	return cl
}

func TestProduceAndConsumeThroughTheGateway(t *testing.T) {
	s := newStand(t, 3, localFunc(echo), nil, kfake.SeedTopics(6, "orders"))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cl := s.client(kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	const n = 500
	for i := range n {
		cl.Produce(ctx, &kgo.Record{Topic: "orders", Key: []byte(strconv.Itoa(i)), Value: make([]byte, 200)}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("produce: %v", err)
			}
		})
	}
	require.NoError(t, cl.Flush(ctx))
	seen := 0
	for seen < n {
		fs := cl.PollFetches(ctx)
		require.NoError(t, fs.Err())
		seen += fs.NumRecords()
	}
	require.Equal(t, n, seen)
	for _, b := range cl.DiscoveredBrokers() {
		resp, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, b)
		require.NoError(t, err)
		for _, m := range resp.Brokers {
			require.GreaterOrEqual(t, m.Port, s.ports.First)
			require.LessOrEqual(t, m.Port, s.ports.Last)
		}
	}
}

func TestOwnKeysGoToLocal(t *testing.T) {
	got := make(chan *wire.Request, 1)
	s := newStand(t, 1, localFunc(func(r *wire.Request) {
		got <- r
		resp := r.Msg.ResponseKind().(*kmsg.HeartbeatResponse)
		resp.ErrorCode = 25
		r.Reply(resp)
	}), nil)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cl := s.client(kgo.ClientID("c1"))
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID = "g", "m"
	resp, err := req.RequestWith(ctx, cl)
	require.NoError(t, err)
	require.Equal(t, int16(25), resp.ErrorCode)
	r := <-got
	require.Equal(t, "c1", r.ClientID)
	require.Equal(t, "/127.0.0.1", r.Host)
	require.Equal(t, int32(0), r.Broker)
}
