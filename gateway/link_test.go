package gateway_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/gateway"
	"github.com/coordinatord/coordinatord/wire"
)

func newAPIVersions(version int16) *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = version, "raw", "1"
	return req
}

func TestPipelinedAnswersKeepTheirOrder(t *testing.T) {
	late := make(chan *wire.Request, 10)
	s := newStand(t, 1, localFunc(func(r *wire.Request) { late <- r }), nil, kfake.SeedTopics(1, "t"))
	c := dialRaw(t, s.port(0))
	meta, hb, vers := newMetadata("t"), newHeartbeat(), newAPIVersions(3)
	c.send(1, meta)
	c.send(2, hb)
	c.send(3, vers)
	c.send(4, meta)
	c.send(5, hb)
	first, second := <-late, <-late
	echo(second)
	c.receive(1, meta)
	echo(first)
	c.receive(2, hb)
	c.receive(3, vers)
	c.receive(4, meta)
	c.receive(5, hb)
}

func TestAPIVersionsNeedNoBroker(t *testing.T) {
	broker := newFakeBroker(t, nil)
	s := newStandAt(t, []string{broker.addr()}, 1, localFunc(echo), nil)
	waitForVersions(t, s)
	before := broker.accepted()
	for i := range 20 {
		c := dialRaw(t, s.port(0))
		resp := c.ask(1, newAPIVersions(int16(i%6))).(*kmsg.ApiVersionsResponse)
		require.Zero(t, resp.ErrorCode)
		got := map[int16]int16{}
		for _, k := range resp.ApiKeys {
			got[k.ApiKey] = k.MaxVersion
		}
		require.Equal(t, int16(10), got[8])
		require.Equal(t, int16(wire.FetchMaxOpaque), got[1])
		require.NotContains(t, got, int16(68))
		c.ask(2, newHeartbeat())
	}
	require.Equal(t, before, broker.accepted(), "a connection that uses own keys only has dialled the broker")
}

// waitForVersions waits until the gateway knows what the broker of port 0 supports.
func waitForVersions(t testing.TB, s *stand) {
	t.Helper()
	require.Eventually(t, func() bool { _, err := s.dir.APIVersions(3, 0); return err == nil }, 10*time.Second, time.Millisecond)
}

func TestAPIVersionsOfTheFuture(t *testing.T) {
	s := newStand(t, 1, localFunc(echo), nil)
	waitForVersions(t, s)
	c := dialRaw(t, s.port(0))
	for i, v := range []int16{6, 99, -1} {
		c.send(int32(i), newAPIVersions(v))
		b, err := c.read()
		require.NoError(t, err)
		resp := kmsg.NewPtrApiVersionsResponse() // version 0
		require.NoError(t, resp.ReadFrom(b[4:]))
		require.Equal(t, int16(35), resp.ErrorCode)
		require.Len(t, resp.ApiKeys, 1)
		require.Equal(t, int16(18), resp.ApiKeys[0].ApiKey)
		require.GreaterOrEqual(t, resp.ApiKeys[0].MaxVersion, int16(4))
	}
	require.Zero(t, c.ask(9, newAPIVersions(4)).(*kmsg.ApiVersionsResponse).ErrorCode, "the client may ask again on the same connection")
}

func TestNamesOfClientSoftware(t *testing.T) {
	s := newStand(t, 1, localFunc(echo), nil)
	waitForVersions(t, s)
	c := dialRaw(t, s.port(0))
	for i, tc := range []struct {
		name, version string
		want          int16
	}{
		{"apache-kafka-java", "4.4.0", 0},
		{"k", "1", 0},
		{"", "1", 42},
		{"k", "", 42},
		{"-k", "1", 42},
		{"k.", "1", 42},
		{"my client", "1", 42},
		{"k", "1_0", 42},
	} {
		req := newAPIVersions(3)
		req.ClientSoftwareName, req.ClientSoftwareVersion = tc.name, tc.version
		require.Equal(t, tc.want, c.ask(int32(i), req).(*kmsg.ApiVersionsResponse).ErrorCode, "%q %q", tc.name, tc.version)
	}
	req := newAPIVersions(2)
	req.ClientSoftwareName = ""
	require.Zero(t, c.ask(99, req).(*kmsg.ApiVersionsResponse).ErrorCode, "older versions have no names")
}

func TestIdentityOfClusterAndBroker(t *testing.T) {
	s := newStand(t, 2, localFunc(echo), nil, kfake.ClusterID("the-cluster"))
	waitForVersions(t, s)
	id, other := "the-cluster", "another"
	for _, tc := range []struct {
		name    string
		cluster *string
		node    int32
		port    string
		want    int16
	}{
		{"unknown to the client", nil, -1, s.port(0), 0},
		{"right", &id, 0, s.port(0), 0},
		{"right on the other port", &id, 1, s.port(1), 0},
		{"wrong broker", &id, 1, s.port(0), 129},
		{"wrong cluster", &other, 0, s.port(0), 129},
		{"wrong cluster on the bootstrap port", &other, 0, s.srv.Addr().String(), 129},
		{"only the cluster", &id, -1, s.port(0), 42},
		{"only the broker", nil, 0, s.port(0), 42},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := newAPIVersions(5)
			req.ClusterID, req.NodeID = tc.cluster, tc.node
			c := dialRaw(t, tc.port)
			require.Equal(t, tc.want, c.ask(1, req).(*kmsg.ApiVersionsResponse).ErrorCode)
		})
	}
}

func TestProduceWithoutAcksPasses(t *testing.T) {
	s := newStand(t, 1, localFunc(echo), nil, kfake.SeedTopics(1, "t"))
	c := dialRaw(t, s.port(0))
	for i := range int32(5) {
		req := newProduce(9, 0, "t")
		req.Topics[0].Partitions = nil
		c.send(3*i, req)
		c.ask(3*i+1, newMetadata("t"))
		c.ask(3*i+2, newHeartbeat())
	}
}

func TestRefusedEvenIfSent(t *testing.T) {
	s := newStand(t, 1, localFunc(echo), nil)
	for name, req := range map[string]kmsg.Request{
		"ConsumerGroupHeartbeat": kmsg.NewPtrConsumerGroupHeartbeatRequest(),
		"TxnOffsetCommit":        kmsg.NewPtrTxnOffsetCommitRequest(),
		"ShareFetch":             kmsg.NewPtrShareFetchRequest(),
		"WriteTxnMarkers":        kmsg.NewPtrWriteTxnMarkersRequest(),
		"Fetch 16":               newFetch(16, "t"),
		"OffsetCommit 1":         &kmsg.OffsetCommitRequest{Version: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialRaw(t, s.port(0))
			c.ask(1, newHeartbeat())
			c.send(2, req)
			c.closed()
		})
	}
}

func TestLostBrokerConnectionIsDialledAgain(t *testing.T) {
	broker := newFakeBroker(t, nil)
	s := newStandAt(t, []string{broker.addr()}, 1, localFunc(echo), nil)
	c := dialRaw(t, s.port(0))
	c.ask(1, newMetadata())
	for i := range int32(3) {
		time.Sleep(150 * time.Millisecond) // an idle connection; the gateway trusts a silent broker for 100 ms
		broker.cut()
		c.ask(10*i+2, newHeartbeat())
		c.ask(10*i+3, newMetadata())
	}
}

func TestBrokerThatEndsInTheMiddleEndsTheClient(t *testing.T) {
	for name, handle := range map[string]func(net.Conn, frame) bool{
		"without an answer": func(nc net.Conn, _ frame) bool {
			_ = nc.Close() // the test looks at the other end
			return true
		},
		"in the middle of an answer": func(nc net.Conn, f frame) bool {
			out := binary.BigEndian.AppendUint32(nil, 1<<20)
			out = binary.BigEndian.AppendUint32(out, uint32(f.h.Corr))
			_, _ = nc.Write(append(out, make([]byte, 1000)...))
			_ = nc.Close()
			return true
		},
		"with another request's answer": func(nc net.Conn, f frame) bool {
			f.h.Corr++
			respond(nc, f, kmsg.NewPtrListOffsetsResponse())
			return true
		},
		"with a TLS alert": func(nc net.Conn, _ frame) bool {
			_, _ = nc.Write([]byte{0x15, 3, 3, 0, 2, 2, 10, 0, 0, 0})
			return true
		},
		"with nonsense where an address may be": func(nc net.Conn, f frame) bool {
			respondBytes(nc, f, []byte{0, 0, 0, 1, 1})
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			broker := newFakeBroker(t, handle)
			s := newStandAt(t, []string{broker.addr()}, 1, localFunc(echo), nil)
			c := dialRaw(t, s.port(0))
			c.ask(1, newHeartbeat())
			var req kmsg.Request = kmsg.NewPtrListOffsetsRequest()
			if name == "with nonsense where an address may be" {
				req = kmsg.NewPtrDescribeClusterRequest()
			}
			c.send(2, req)
			for { // what had come may have been passed on
				if _, err := c.read(); err != nil {
					break
				}
			}
			c.closed()
		})
	}
}

// TestKafkaIsGone: own keys go on, on the same connection, and the rest gets Kafka's retriable errors.
func TestKafkaIsGone(t *testing.T) {
	broker := newFakeBroker(t, nil)
	s := newStandAt(t, []string{broker.addr()}, 1, localFunc(echo), nil)
	waitForVersions(t, s)
	c := dialRaw(t, s.port(0))
	c.ask(1, newMetadata())
	broker.close()
	time.Sleep(150 * time.Millisecond) // the gateway trusts a silent broker for 100 ms

	c.ask(2, newHeartbeat())
	require.Zero(t, c.ask(3, newAPIVersions(3)).(*kmsg.ApiVersionsResponse).ErrorCode)
	meta := c.ask(4, newMetadata()).(*kmsg.MetadataResponse)
	require.Len(t, meta.Brokers, 1)
	require.Equal(t, s.ports.First, meta.Brokers[0].Port)
	for _, v := range []int16{3, 8, 9, 13} {
		p := c.ask(5, newProduce(v, -1, "t")).(*kmsg.ProduceResponse)
		require.Equal(t, int16(6), p.Topics[0].Partitions[0].ErrorCode)
		require.Equal(t, int64(-1), p.Topics[0].Partitions[0].BaseOffset)
	}
	start := time.Now()
	for _, v := range []int16{4, 11, 13, 15} {
		f := c.ask(6, newFetch(v, "t")).(*kmsg.FetchResponse)
		require.Equal(t, int16(6), f.Topics[0].Partitions[0].ErrorCode)
		require.NotNil(t, f.Topics[0].Partitions[0].RecordBatches)
	}
	require.GreaterOrEqual(t, time.Since(start), 4*100*time.Millisecond, "a fetch is held for its max wait")
	session := newFetch(12, "t")
	session.SessionID, session.SessionEpoch, session.Topics = 7, 3, nil
	require.Equal(t, int16(70), c.ask(7, session).(*kmsg.FetchResponse).ErrorCode)
	list := kmsg.NewPtrListOffsetsRequest()
	list.Version = 7
	lt := kmsg.NewListOffsetsRequestTopic()
	lt.Topic, lt.Partitions = "t", append(lt.Partitions, kmsg.NewListOffsetsRequestTopicPartition())
	list.Topics = append(list.Topics, lt)
	require.Equal(t, int16(6), c.ask(8, list).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].ErrorCode)
	epoch := kmsg.NewPtrOffsetForLeaderEpochRequest()
	epoch.Version = 4
	et := kmsg.NewOffsetForLeaderEpochRequestTopic()
	et.Topic, et.Partitions = "t", append(et.Partitions, kmsg.NewOffsetForLeaderEpochRequestTopicPartition())
	epoch.Topics = append(epoch.Topics, et)
	require.Equal(t, int16(6), c.ask(9, epoch).(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0].ErrorCode)
	initID := kmsg.NewPtrInitProducerIDRequest()
	initID.Version = 4
	require.Equal(t, int16(14), c.ask(10, initID).(*kmsg.InitProducerIDResponse).ErrorCode)
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorType, find.CoordinatorKeys = 4, 1, []string{"txn"}
	require.Equal(t, int16(15), c.ask(11, find).(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode)
	find.CoordinatorType = 0
	group := c.ask(12, find).(*kmsg.FindCoordinatorResponse).Coordinators[0]
	require.Zero(t, group.ErrorCode)
	require.Equal(t, s.ports.First, group.Port)
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.Version = 3
	at := kmsg.NewAddPartitionsToTxnRequestTopic()
	at.Topic, at.Partitions = "t", []int32{0}
	add.Topics = append(add.Topics, at)
	require.Equal(t, int16(14), c.ask(13, add).(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode)
	end := kmsg.NewPtrEndTxnRequest()
	end.Version = 3
	require.Equal(t, int16(14), c.ask(14, end).(*kmsg.EndTxnResponse).ErrorCode)
	c.ask(15, newHeartbeat())

	for name, req := range map[string]kmsg.Request{
		"no error of its own":    kmsg.NewPtrCreateTopicsRequest(),
		"acks=0":                 newProduce(9, 0, "t"),
		"a topic nobody knows":   newMetadata("unknown"),
		"metadata of all topics": &kmsg.MetadataRequest{Version: 9},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialRaw(t, s.port(0))
			c.ask(1, newHeartbeat())
			c.send(2, req)
			c.closed()
		})
	}
}

// TestStandIn: while a port's broker is down another one answers what any broker can.
func TestStandIn(t *testing.T) {
	s := newStand(t, 3, localFunc(echo), nil, kfake.SeedTopics(3, "t"))
	require.NoError(t, s.cluster.RemoveNode(1))
	c := dialRaw(t, s.port(1))
	meta := c.ask(1, newMetadata("t")).(*kmsg.MetadataResponse)
	require.Zero(t, meta.Topics[0].ErrorCode)
	require.Len(t, meta.Brokers, 2)
	c.ask(2, newHeartbeat())
	logDirs := kmsg.NewPtrDescribeLogDirsRequest()
	logDirs.Version = 2
	other := dialRaw(t, s.port(1))
	other.ask(1, newHeartbeat())
	other.send(2, logDirs)
	other.closed()
}

// TestPortsOwnBrokerComesBack: a connection leaves the stand-in once its own broker can be reached again.
func TestPortsOwnBrokerComesBack(t *testing.T) {
	s := newStand(t, 2, localFunc(echo), nil)
	require.NoError(t, s.cluster.RemoveNode(1))
	c := dialRaw(t, s.port(1))
	c.ask(1, newMetadata())
	_, _, err := s.cluster.AddNode(1, 0)
	require.NoError(t, err)
	// Only the broker itself answers what concerns it alone; a stand-in is not asked, and the connection would end.
	logDirs := kmsg.NewPtrDescribeLogDirsRequest()
	logDirs.Version = 2
	corr := int32(2)
	require.Eventually(t, func() bool {
		corr += 2
		c.ask(corr, newMetadata())
		return s.srv.StandIns() == 0
	}, 15*time.Second, 120*time.Millisecond)
	c.ask(corr+1, logDirs)
}

func TestListGroupsOfEveryBrokerNamesEachGroupOnce(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	s := newStand(t, 3, localFunc(func(r *wire.Request) {
		resp := r.Msg.ResponseKind().(*kmsg.ListGroupsResponse)
		for _, n := range names {
			g := kmsg.NewListGroupsResponseGroup()
			g.Group = n
			resp.Groups = append(resp.Groups, g)
		}
		r.Reply(resp)
	}), nil)
	seen := map[string]int{}
	for id := range int32(3) {
		for _, g := range dialRaw(t, s.port(id)).ask(1, kmsg.NewPtrListGroupsRequest()).(*kmsg.ListGroupsResponse).Groups {
			seen[g.Group]++
			want, ok := s.dir.Table().Coordinator(g.Group)
			require.True(t, ok)
			require.Equal(t, want, id)
		}
	}
	require.Len(t, seen, len(names))
	for n, times := range seen {
		require.Equal(t, 1, times, n)
	}
	require.Len(t, dialRaw(t, s.srv.Addr().String()).ask(1, kmsg.NewPtrListGroupsRequest()).(*kmsg.ListGroupsResponse).Groups, len(names))
}

func TestShutdownLetsAnswersLeave(t *testing.T) {
	got := make(chan *wire.Request, 1)
	s := newStand(t, 1, localFunc(func(r *wire.Request) { got <- r }), nil)
	c, idle := dialRaw(t, s.port(0)), dialRaw(t, s.port(0))
	hb := newHeartbeat()
	c.send(1, hb)
	req := <-got
	done := make(chan error, 1)
	go func() { done <- s.srv.Shutdown(t.Context()) }()
	idle.closed()
	echo(req)
	c.receive(1, hb)
	c.closed()
	require.NoError(t, <-done)
	_, err := net.Dial("tcp", s.port(0))
	require.Error(t, err)
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	got := make(chan *wire.Request, 1)
	s := newStand(t, 1, localFunc(func(r *wire.Request) { got <- r }), func(c *gateway.Config) { c.Wire.DrainTimeout = time.Hour })
	c := dialRaw(t, s.port(0))
	c.send(1, newHeartbeat())
	<-got
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, s.srv.Shutdown(ctx))
	c.closed()
}

// TestBrokerThatStopsInTheMiddleOfAnAnswer: the rest of an answer that has begun must keep coming.
func TestBrokerThatStopsInTheMiddleOfAnAnswer(t *testing.T) {
	broker := newFakeBroker(t, func(nc net.Conn, f frame) bool {
		out := binary.BigEndian.AppendUint32(nil, 1<<20)
		_, _ = nc.Write(binary.BigEndian.AppendUint32(out, uint32(f.h.Corr)))
		return true
	})
	s := newStandAt(t, []string{broker.addr()}, 1, localFunc(echo), func(c *gateway.Config) { c.Wire.ProgressTimeout = 50 * time.Millisecond })
	c := dialRaw(t, s.port(0))
	c.send(1, kmsg.NewPtrListOffsetsRequest())
	b, err := c.read()
	require.Error(t, err)
	require.Len(t, b, 1<<20)
}

// TestLongPollIsNotCutOff: the wait for an answer to begin has no bound of ours.
func TestLongPollIsNotCutOff(t *testing.T) {
	broker := newFakeBroker(t, func(nc net.Conn, f frame) bool {
		time.AfterFunc(300*time.Millisecond, func() { respond(nc, f, kmsg.NewPtrFetchResponse()) })
		return true
	})
	s := newStandAt(t, []string{broker.addr()}, 1, localFunc(echo), func(c *gateway.Config) {
		c.Wire.ProgressTimeout, c.Wire.IdleTimeout = 50*time.Millisecond, 50*time.Millisecond
	})
	c := dialRaw(t, s.port(0))
	c.ask(1, newFetch(11, "t"))
}

// TestOldDeadlineIsNoDeath: what bounded one response says nothing about a connection that is silent later.
func TestOldDeadlineIsNoDeath(t *testing.T) {
	broker := newFakeBroker(t, func(nc net.Conn, f frame) bool {
		body := kmsg.NewPtrListOffsetsResponse().AppendTo(nil)
		out := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
		out = append(binary.BigEndian.AppendUint32(out, uint32(f.h.Corr)), body...)
		_, _ = nc.Write(out[:len(out)-1])
		time.AfterFunc(20*time.Millisecond, func() { _, _ = nc.Write(out[len(out)-1:]) })
		return true
	})
	s := newStandAt(t, []string{broker.addr()}, 1, localFunc(echo), func(c *gateway.Config) { c.Wire.ProgressTimeout = 100 * time.Millisecond })
	waitForVersions(t, s)
	c := dialRaw(t, s.port(0))
	c.ask(1, kmsg.NewPtrListOffsetsRequest())
	before := broker.accepted()
	time.Sleep(250 * time.Millisecond) // the deadline of the response passes, and so does the time of trust
	c.ask(2, kmsg.NewPtrListOffsetsRequest())
	require.Equal(t, before, broker.accepted(), "a connection that stood was dialled again")
}

// TestEndAfterProduceWithoutAcksIsPassedOn: the end of its connection is all that such a client learns of an error.
func TestEndAfterProduceWithoutAcksIsPassedOn(t *testing.T) {
	got := make(chan struct{}, 1)
	broker := newFakeBroker(t, func(net.Conn, frame) bool { got <- struct{}{}; return false })
	s := newStandAt(t, []string{broker.addr()}, 1, localFunc(echo), nil)
	c := dialRaw(t, s.port(0))
	c.ask(1, newMetadata())
	c.send(2, newProduce(9, 0, "t"))
	<-got
	broker.cut()
	time.Sleep(150 * time.Millisecond) // the gateway trusts a silent broker for 100 ms
	c.send(3, newProduce(9, 0, "t"))
	c.closed()
}

// TestBrokerThatTakesNothing: a broker that stops reading is given up after a time, and its client with it.
func TestBrokerThatTakesNothing(t *testing.T) {
	stop := make(chan struct{})
	broker := newFakeBroker(t, func(net.Conn, frame) bool { <-stop; return false })
	t.Cleanup(func() { close(stop) })
	s := newStandAt(t, []string{broker.addr()}, 1, localFunc(echo), func(c *gateway.Config) {
		c.UpstreamWriteTimeout, c.Wire.DrainTimeout = 200*time.Millisecond, 100*time.Millisecond
	})
	c := dialRaw(t, s.port(0))
	go func() { _, _ = c.nc.Write(append(rawFetch(1, 100), rawFetch(2, 64<<20)...)) }()
	c.closed()
}

func TestResponseTooLargeToBeEdited(t *testing.T) {
	broker := newFakeBroker(t, nil)
	s := newStandAt(t, []string{broker.addr()}, 1, localFunc(echo), func(c *gateway.Config) { c.MaxEditedBytes = 20 })
	c := dialRaw(t, s.port(0))
	c.ask(1, newHeartbeat())
	c.send(2, newMetadata())
	c.closed()
}

// TestClientsAreServedWhileNothingIsKnown: before the gateway has reached Kafka, own keys are served, and the rest is
// answered as soon as there is somebody to ask.
func TestClientsAreServedWhileNothingIsKnown(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	seed := ln.Addr().String()
	require.NoError(t, ln.Close())
	first := freePorts(t, 2)
	ports := gateway.Ports{Host: "127.0.0.1", First: first + 1, Last: first + 1}
	dir, err := gateway.NewDirectory(gateway.DirectoryConfig{Seeds: []string{seed}, Ports: ports, Hold: 100 * time.Millisecond}, zap.NewNop())
	require.NoError(t, err)
	dir.Start(t.Context())
	defer dir.Close()
	srv, err := gateway.NewServer(gateway.Config{Listen: fmt.Sprintf("127.0.0.1:%d", first), Ports: ports}, dir, localFunc(echo), zap.NewNop())
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	defer func() { _ = srv.Shutdown(t.Context()) }()
	for _, addr := range []string{fmt.Sprintf("127.0.0.1:%d", first), fmt.Sprintf("127.0.0.1:%d", first+1)} {
		c := dialRaw(t, addr)
		c.ask(1, newHeartbeat())
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.CoordinatorKey = "g"
		require.Equal(t, int16(15), c.ask(2, find).(*kmsg.FindCoordinatorResponse).ErrorCode)
		require.Equal(t, int16(6), c.ask(3, newProduce(9, 1, "t")).(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
		c.send(4, newMetadata())
		c.closed()
	}
}
