package coordinator

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/group"
	"github.com/coordinatord/coordinatord/protocol"
)

// batchLog commits what has queued up meanwhile as one batch, on a goroutine of its own, as the real log does.
type batchLog struct {
	loop  *Loop
	mu    sync.Mutex
	cmds  [][]byte
	refs  []uint64
	wake  chan struct{}
	index uint64
}

func (l *batchLog) Propose(ref uint64, cmd []byte) error {
	l.mu.Lock()
	l.cmds = append(l.cmds, append([]byte(nil), cmd...))
	l.refs = append(l.refs, ref)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return nil
}

func (l *batchLog) Confirm(done func(error)) { done(nil) }

func (l *batchLog) run() {
	for range l.wake {
		l.mu.Lock()
		b := Batch{Index: l.index, Commands: l.cmds, Refs: l.refs}
		l.cmds, l.refs = nil, nil
		l.mu.Unlock()
		if len(b.Commands) > 0 {
			l.index++
			l.loop.Apply(b)
		}
	}
}

// counter is where answers go that nobody looks at.
type counter struct {
	left  atomic.Int64
	slots chan struct{} // how many may be on their way
	done  chan struct{}
}

func (c *counter) Reply(kmsg.Response) {
	<-c.slots
	if c.left.Add(-1) == 0 {
		close(c.done)
	}
}

func benchLoop(b *testing.B) *Loop {
	b.Helper()
	big := orders
	big.Partitions = 10
	loop := New(Config{
		Group: groupConfig(), Topics: newModelTopics(big), Logger: zap.NewNop(),
		Metrics: NewMetrics(prometheus.NewRegistry()), NotLeader: errNotLeader,
	})
	log := &batchLog{loop: loop, wake: make(chan struct{}, 1)}
	var running sync.WaitGroup
	running.Go(log.run)
	loop.Attach(log)
	loop.Lead(1)
	b.Cleanup(func() {
		loop.Close()
		close(log.wake)
		running.Wait()
	})
	return loop
}

// cpu reports the processor time of an operation, which says more than the wall on a machine that others use too.
func cpu(b *testing.B) (report func()) {
	b.Helper()
	used := func() int64 {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return u.Utime.Nano() + u.Stime.Nano()
	}
	start := used()
	return func() { b.ReportMetric(float64(used()-start)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkCommit is a commit of ten partitions from its decoded request to its response, through the loop and a log in
// memory, with 256 on their way: what the coordinator itself costs.
func BenchmarkCommit(b *testing.B) {
	loop := benchLoop(b)
	msgs := make([]*kmsg.OffsetCommitRequest, 64)
	for i := range msgs {
		m := commitRequest(fmt.Sprintf("group-%d", i), "", -1, "orders", 0, 1)
		m.Version = 8
		for p := int32(1); p < 10; p++ {
			next := m.Topics[0].Partitions[0]
			next.Partition = p
			m.Topics[0].Partitions = append(m.Topics[0].Partitions, next)
		}
		msgs[i] = m
	}
	to := &counter{slots: make(chan struct{}, 256), done: make(chan struct{})}
	to.left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	report := cpu(b)
	for i := range b.N {
		to.slots <- struct{}{}
		loop.Serve(Call{Msg: msgs[i%len(msgs)], Host: "/127.0.0.1", Broker: -1, To: to})
	}
	<-to.done
	report()
}

// BenchmarkHeartbeat is a heartbeat of one of a thousand members.
func BenchmarkHeartbeat(b *testing.B) {
	loop := benchLoop(b)
	var msgs []*kmsg.HeartbeatRequest
	for i := range 1000 {
		name := fmt.Sprintf("group-%d", i)
		r := make(reply, 1)
		loop.Serve(Call{Msg: joinOf(name), Broker: -1, To: r})
		j := get[*kmsg.JoinGroupResponse](b, r)
		require.Zero(b, j.ErrorCode)
		msgs = append(msgs, &kmsg.HeartbeatRequest{Version: 3, Group: name, MemberID: j.MemberID, Generation: j.Generation})
	}
	to := &counter{slots: make(chan struct{}, 256), done: make(chan struct{})}
	to.left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	report := cpu(b)
	for i := range b.N {
		to.slots <- struct{}{}
		loop.Serve(Call{Msg: msgs[i%len(msgs)], Host: "/127.0.0.1", Broker: -1, To: to})
	}
	<-to.done
	report()
}

func joinOf(name string) *kmsg.JoinGroupRequest {
	m := joinRequest(name, "")
	m.Version = 3
	m.SessionTimeoutMillis = int32(group.DefaultConfig().MaxSessionTimeout.Milliseconds())
	return m
}

// BenchmarkLoad restores a million offsets in ten thousand groups, as a restart does, and BenchmarkCollect writes them
// all, as the first snapshot does.
func BenchmarkLoad(b *testing.B) {
	loop, copied := million(b)
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, loop.Load(1, copied.next()))
	}
}

func BenchmarkCollect(b *testing.B) {
	loop, copied := million(b)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		require.NoError(b, loop.Load(1, copied.next()))
		for i := range 10_000 {
			loop.Apply(Batch{Index: 2, Commands: [][]byte{protocol.AppendRecord(nil, &group.OffsetCommit{
				Group: fmt.Sprintf("group-%d", i), Guard: group.Guard{Generation: -1, Simple: true}, ExpireTime: -1,
				Topics: []group.OffsetTopic{{Name: "orders", ID: orders.ID, Partitions: []group.OffsetPartition{{Offset: 3, LeaderEpoch: -1}}}},
			})}})
		}
		b.StartTimer()
		n := 0
		loop.Collect(func(_, _ []byte) { n++ })
		require.GreaterOrEqual(b, n, 10_000)
	}
}

func million(b *testing.B) (*Loop, copyOf) {
	b.Helper()
	copied := copyOf{}
	for i := range 10_000 {
		name := fmt.Sprintf("group-%d", i)
		g := &group.GroupImage{Meta: group.GroupMeta{Group: name, Sequence: 1}, Topics: []group.StoredTopic{{Name: "orders", ID: orders.ID}}}
		for p := range int32(100) {
			g.Topics[0].Partitions = append(g.Topics[0].Partitions, group.StoredOffset{
				OffsetPartition: group.OffsetPartition{Partition: p, LeaderEpoch: 3, Offset: int64(i) * 1000},
				CommitTime:      1764442800000 + int64(i), ExpireTime: -1,
			})
		}
		copied[string(protocol.AppendKey(nil, group.Key{Kind: group.KindGroup, Name: name}))] = string(protocol.AppendRecord(nil, g))
	}
	return benchLoop(b), copied
}
