package gateway

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
)

// idleDirectory is a directory that is never started.
func idleDirectory(t testing.TB, ports Ports) *Directory {
	t.Helper()
	d, err := NewDirectory(DirectoryConfig{Seeds: []string{"127.0.0.1:1"}, Ports: ports, LeaderHints: true}, zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

// oracle changes a decoded answer as Rewrite has to, in the plainest way.
func oracle(ports Ports, resp kmsg.Response) {
	mapped := func(id int32) bool { _, ok := ports.Port(id); return ok }
	address := func(id int32, host *string, port *int32) {
		if !mapped(id) {
			panic("must have been left out")
		}
		*host, *port = ports.Host, ports.First+id-ports.FirstID
	}
	switch resp := resp.(type) {
	case *kmsg.MetadataResponse:
		before := len(resp.Brokers)
		resp.Brokers = slices.DeleteFunc(resp.Brokers, func(b kmsg.MetadataResponseBroker) bool { return !mapped(b.NodeID) })
		for i := range resp.Brokers {
			b := &resp.Brokers[i]
			address(b.NodeID, &b.Host, &b.Port)
		}
		if len(resp.Brokers) == before {
			return
		}
		if resp.ControllerID >= 0 && !mapped(resp.ControllerID) {
			resp.ControllerID = -1
			if len(resp.Brokers) > 0 {
				resp.ControllerID = resp.Brokers[0].NodeID
			}
		}
		for i := range resp.Topics {
			for j := range resp.Topics[i].Partitions {
				if p := &resp.Topics[i].Partitions[j]; p.Leader >= 0 && !mapped(p.Leader) {
					p.Leader, p.ErrorCode = -1, 5
				}
			}
		}
	case *kmsg.DescribeClusterResponse:
		if resp.EndpointType == 2 {
			resp.Brokers = nil
			return
		}
		resp.Brokers = slices.DeleteFunc(resp.Brokers, func(b kmsg.DescribeClusterResponseBroker) bool { return !mapped(b.NodeID) })
		for i := range resp.Brokers {
			b := &resp.Brokers[i]
			address(b.NodeID, &b.Host, &b.Port)
		}
		if resp.ControllerID >= 0 && !mapped(resp.ControllerID) {
			resp.ControllerID = -1
			if len(resp.Brokers) > 0 {
				resp.ControllerID = resp.Brokers[0].NodeID
			}
		}
	case *kmsg.FindCoordinatorResponse:
		one := func(code *int16, id *int32, host *string, port *int32) {
			switch {
			case *id < 0:
				*host, *port = "", -1
			case !mapped(*id):
				*code, *id, *host, *port = 15, -1, "", -1
			default:
				address(*id, host, port)
			}
		}
		if resp.Version < 4 {
			one(&resp.ErrorCode, &resp.NodeID, &resp.Host, &resp.Port)
		}
		for i := range resp.Coordinators {
			c := &resp.Coordinators[i]
			one(&c.ErrorCode, &c.NodeID, &c.Host, &c.Port)
		}
	case *kmsg.DescribeQuorumResponse:
		for i := range resp.Nodes {
			resp.Nodes[i].Listeners = nil
		}
	case *kmsg.ProduceResponse:
		before := len(resp.Brokers)
		resp.Brokers = slices.DeleteFunc(resp.Brokers, func(b kmsg.ProduceResponseBroker) bool { return !mapped(b.NodeID) })
		for i := range resp.Brokers {
			b := &resp.Brokers[i]
			address(b.NodeID, &b.Host, &b.Port)
		}
		if len(resp.Brokers) == before {
			return
		}
		for i := range resp.Topics {
			for j := range resp.Topics[i].Partitions {
				if l := &resp.Topics[i].Partitions[j].CurrentLeader; l.LeaderID >= 0 && !mapped(l.LeaderID) {
					l.LeaderID, l.LeaderEpoch = -1, -1
				}
			}
		}
	case *kmsg.FetchResponse:
		before := len(resp.Brokers)
		resp.Brokers = slices.DeleteFunc(resp.Brokers, func(b kmsg.FetchResponseBroker) bool { return !mapped(b.NodeID) })
		for i := range resp.Brokers {
			b := &resp.Brokers[i]
			address(b.NodeID, &b.Host, &b.Port)
		}
		if len(resp.Brokers) == before {
			return
		}
		for i := range resp.Topics {
			for j := range resp.Topics[i].Partitions {
				if l := &resp.Topics[i].Partitions[j].CurrentLeader; l.LeaderID >= 0 && !mapped(l.LeaderID) {
					l.LeaderID, l.LeaderEpoch = -1, -1
				}
			}
		}
	default:
		panic(fmt.Sprintf("no oracle for %T", resp))
	}
}

// wantRewritten returns what Rewrite has to make of body, in kmsg's own encoding; false when kmsg cannot read it.
func wantRewritten(ports Ports, key, version int16, body []byte) ([]byte, bool) {
	want := kmsg.ResponseForKey(key)
	if decode(want, version, body) != nil {
		return nil, false
	}
	oracle(ports, want)
	return want.AppendTo(nil), true
}

// TestRewriteIsTheOracle compares random answers of every version, whose brokers lie inside and outside the port range.
func TestRewriteIsTheOracle(t *testing.T) {
	ports := []Ports{
		{Host: "gateway.test", First: 19193, Last: 19240},           // All ids of the random answers have ports,
		{Host: "g", First: 1000, Last: 1029, FirstID: 2},            // or most,
		{Host: "a.longer.name.test", First: 1, Last: 2, FirstID: 9}, // or few.
	}
	for _, p := range ports {
		d := idleDirectory(t, p)
		for key, newest := range decodedAPIs {
			for version := range newest + 1 {
				if !NeedsRewrite(key, version) {
					continue
				}
				for seed := range uint64(40) {
					r := newRandom(seed)
					body := r.message(kmsg.ResponseForKey(key), version)
					before := slices.Clone(body)
					got, err := d.Rewrite(key, version, body)
					require.NoError(t, err, "%s v%d seed %d", kmsg.NameForKey(key), version, seed)
					require.Equal(t, before, body, "the input was written to")
					want, ok := wantRewritten(p, key, version, body)
					require.True(t, ok)
					require.Equal(t, want, got, "%s v%d seed %d", kmsg.NameForKey(key), version, seed)
				}
			}
		}
	}
}

// TestRewriteNoAddressGetsThrough looks for the real address in the bytes, whatever the form of the answer.
func TestRewriteNoAddressGetsThrough(t *testing.T) {
	const realHost = "real-broker.internal"
	for _, p := range []Ports{testPorts, {Host: "g", First: 1, Last: 1, FirstID: 1}} {
		d := idleDirectory(t, p)
		for version := range int16(14) {
			m := kmsg.NewPtrMetadataResponse()
			m.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: realHost, Port: 9092}, {NodeID: 2, Host: realHost, Port: 9092}}
			f := kmsg.NewPtrFindCoordinatorResponse()
			f.Host, f.NodeID, f.Port = realHost, 2, 9092
			f.Coordinators = []kmsg.FindCoordinatorResponseCoordinator{{Key: "a", NodeID: 1, Host: realHost}, {Key: "b", NodeID: 2, Host: realHost}}
			c := kmsg.NewPtrDescribeClusterResponse()
			c.Brokers = []kmsg.DescribeClusterResponseBroker{{NodeID: 1, Host: realHost}, {NodeID: 2, Host: realHost}}
			q := kmsg.NewPtrDescribeQuorumResponse()
			q.Nodes = []kmsg.DescribeQuorumResponseNode{{NodeID: 1, Listeners: []kmsg.DescribeQuorumResponseNodeListener{{Host: realHost}}}}
			pr := kmsg.NewPtrProduceResponse()
			pr.Brokers = []kmsg.ProduceResponseBroker{{NodeID: 1, Host: realHost}, {NodeID: 2, Host: realHost}}
			for _, resp := range []kmsg.Response{m, f, c, q, pr} {
				if version > decodedAPIs[resp.Key()] || !NeedsRewrite(resp.Key(), version) {
					continue
				}
				resp.SetVersion(version)
				body := resp.AppendTo(nil)
				require.Contains(t, string(body), realHost)
				got, err := d.Rewrite(resp.Key(), version, body)
				require.NoError(t, err)
				require.NotContains(t, string(got), realHost, "%T v%d", resp, version)
			}
		}
	}
}

func TestRewriteRefusesWhatItDoesNotKnow(t *testing.T) {
	d := idleDirectory(t, testPorts)
	for _, bad := range []struct{ key, version int16 }{{3, 14}, {3, -1}, {10, 7}, {60, 3}, {0, 14}, {1, 19}, {78, 0}, {-1, 0}} {
		_, err := d.Rewrite(bad.key, bad.version, []byte{0})
		require.ErrorIs(t, err, errAddress, "%d v%d", bad.key, bad.version)
	}
}

// TestRewriteTruncated cuts answers at every byte: an error or a shorter answer that kmsg refuses too, never a panic.
func TestRewriteTruncated(t *testing.T) {
	d := idleDirectory(t, testPorts)
	for key, newest := range decodedAPIs {
		if !NeedsRewrite(key, newest) {
			continue
		}
		body := newRandom(3).message(kmsg.ResponseForKey(key), newest)
		for n := range len(body) {
			got, err := d.Rewrite(key, newest, body[:n])
			if err != nil {
				continue
			}
			resp := kmsg.ResponseForKey(key)
			require.Error(t, decode(resp, newest, got), "%s cut at %d of %d", kmsg.NameForKey(key), n, len(body))
		}
	}
}

func FuzzRewrite(f *testing.F) {
	for key, newest := range decodedAPIs {
		for version := range newest + 1 {
			if NeedsRewrite(key, version) {
				f.Add(key, version, newRandom(uint64(version)).message(kmsg.ResponseForKey(key), version))
			}
		}
	}
	ports := Ports{Host: "gateway.test", First: 100, Last: 120}
	d, err := NewDirectory(DirectoryConfig{Seeds: []string{"127.0.0.1:1"}, Ports: ports, LeaderHints: true}, zap.NewNop())
	require.NoError(f, err)
	f.Cleanup(d.Close)
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		if version < 0 || !NeedsRewrite(key, version) || version > decodedAPIs[key] {
			return
		}
		got, err := d.Rewrite(key, version, body)
		want, ok := wantRewritten(ports, key, version, body)
		if !ok {
			return // Not an answer: Rewrite may notice it or leave that to the client.
		}
		if errors.Is(err, errTrailing) {
			return // kmsg does not look at what follows the end.
		}
		require.NoError(t, err)
		// Compared after kmsg has read both: it writes lengths and tags in one way only, brokers may use others.
		resp := kmsg.ResponseForKey(key)
		require.NoError(t, decode(resp, version, got))
		require.Equal(t, want, resp.AppendTo(nil))
	})
}

// benchmarkMetadata is the answer about 2,000 topics of 12 partitions that three brokers give.
func benchmarkMetadata() []byte {
	m := kmsg.NewPtrMetadataResponse()
	m.Version = 12
	for id := range int32(3) {
		m.Brokers = append(m.Brokers, kmsg.MetadataResponseBroker{NodeID: id, Host: "broker.internal", Port: 9092})
	}
	for i := range 2000 {
		name := fmt.Sprintf("topic-%d", i)
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic = &name
		for p := range int32(12) {
			partition := kmsg.NewMetadataResponseTopicPartition()
			partition.Partition, partition.Leader = p, p%3
			partition.Replicas, partition.ISR = []int32{0, 1, 2}, []int32{0, 1, 2}
			topic.Partitions = append(topic.Partitions, partition)
		}
		m.Topics = append(m.Topics, topic)
	}
	return m.AppendTo(nil)
}

func BenchmarkMetadataSplice(b *testing.B) {
	d := idleDirectory(b, testPorts)
	body := benchmarkMetadata()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Rewrite(keyMetadata, 12, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMetadataDecode(b *testing.B) {
	d := idleDirectory(b, testPorts)
	body := benchmarkMetadata()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.decodeMetadata(d.Table(), 12, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProduceWithoutEndpoints(b *testing.B) {
	d := idleDirectory(b, testPorts)
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = 13
	resp.Topics = []kmsg.ProduceResponseTopic{{Partitions: make([]kmsg.ProduceResponseTopicPartition, 6)}}
	body := resp.AppendTo(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Rewrite(keyProduce, 13, body); err != nil {
			b.Fatal(err)
		}
	}
}
