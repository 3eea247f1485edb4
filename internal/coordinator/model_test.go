package coordinator

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coordinatord/coordinatord/group"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errNotLeader = errors.New("model: not the leader")
	errTooLarge  = errors.New("model: the command is too large")
)

// modelLog is a log in memory. Commands are committed at once, or when the test says so.
type modelLog struct {
	loop *Loop

	mu       sync.Mutex
	manual   bool // commit and confirm only when told
	refuse   error
	index    uint64
	queue    []command
	history  [][]byte
	confirms []func(error)
	proofs   int
	grown    chan struct{} // a token for each change
}

type command struct {
	ref uint64
	cmd []byte
}

func (l *modelLog) Propose(ref uint64, cmd []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse != nil {
		return l.refuse
	}
	l.queue = append(l.queue, command{ref, append([]byte(nil), cmd...)})
	if !l.manual {
		l.commit(1)
	}
	l.changed()
	return nil
}

func (l *modelLog) changed() {
	select {
	case l.grown <- struct{}{}:
	default:
	}
}

// commit delivers the first n commands as one batch; the lock is held.
func (l *modelLog) commit(n int) {
	l.index++
	b := Batch{Index: l.index}
	for _, c := range l.queue[:n] {
		b.Commands = append(b.Commands, c.cmd)
		b.Refs = append(b.Refs, c.ref)
		l.history = append(l.history, c.cmd)
	}
	l.queue = l.queue[n:]
	l.loop.Apply(b)
}

func (l *modelLog) deliver(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commit(n)
}

// fail tells that the first n commands were not committed; with keep they may still be delivered later.
func (l *modelLog) fail(n int, err error, keep bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var refs []uint64
	for _, c := range l.queue[:n] {
		refs = append(refs, c.ref)
	}
	if !keep {
		l.queue = l.queue[n:]
	}
	l.loop.Failed(refs, err)
}

func (l *modelLog) Confirm(done func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.proofs++
	if l.manual {
		l.confirms = append(l.confirms, done)
		l.changed()
		return
	}
	done(nil)
}

func (l *modelLog) confirm(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, done := range l.confirms {
		done(err)
	}
	l.confirms = nil
}

// await waits until the log is as the test wants it.
func (l *modelLog) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		l.mu.Lock()
		done := ok()
		l.mu.Unlock()
		if done {
			return
		}
		select {
		case <-l.grown:
		case <-limit:
			t.Fatalf("the log never had %s", what)
		}
	}
}

func (l *modelLog) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// modelClock moves only when told.
type modelClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*modelTimer
	set    chan struct{} // a token for each new timer
}

type modelTimer struct {
	at    time.Time
	fired chan time.Time
}

func newModelClock() *modelClock {
	return &modelClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), set: make(chan struct{}, 1024)}
}

func (c *modelClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *modelClock) NewTimer(d time.Duration) (fired <-chan time.Time, stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &modelTimer{at: c.now.Add(d), fired: make(chan time.Time, 1)}
	c.timers = append(c.timers, t)
	c.fire()
	select {
	case c.set <- struct{}{}:
	default:
	}
	return t.fired, func() bool { return c.drop(t) }
}

// await waits until someone has set a timer that is to fire after exactly d.
func (c *modelClock) await(t testing.TB, d time.Duration) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		c.mu.Lock()
		for _, timer := range c.timers {
			if timer.at.Equal(c.now.Add(d)) {
				c.mu.Unlock()
				return
			}
		}
		c.mu.Unlock()
		select {
		case <-c.set:
		case <-limit:
			t.Fatalf("nobody waits for %s", d)
		}
	}
}

func (c *modelClock) drop(t *modelTimer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.timers {
		if other == t {
			c.timers = append(c.timers[:i], c.timers[i+1:]...)
			return true
		}
	}
	return false
}

func (c *modelClock) fire() {
	rest := c.timers[:0]
	for _, t := range c.timers {
		if t.at.After(c.now) {
			rest = append(rest, t)
			continue
		}
		t.fired <- c.now
	}
	c.timers = rest
}

func (c *modelClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.fire()
}

// modelTopics is what Kafka has.
type modelTopics struct {
	mu    sync.Mutex
	cache map[string]Topic // what is known without asking
	kafka map[string]Topic
	gone  map[group.TopicID]bool
	down  error
	asks  int
	mute  map[string]bool // names that Kafka does not answer for
	aged  map[string]bool // names that Kafka has not confirmed for long
	done  chan struct{}   // a token for each question
}

func newModelTopics(ts ...Topic) *modelTopics {
	m := &modelTopics{cache: map[string]Topic{}, kafka: map[string]Topic{}, gone: map[group.TopicID]bool{}, done: make(chan struct{}, 1024)}
	for _, t := range ts {
		m.cache[t.Name], m.kafka[t.Name] = t, t
	}
	return m
}

func (m *modelTopics) ByName(name string) (Topic, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.cache[name]
	return t, ok
}

func (m *modelTopics) ByID(id group.TopicID) (Topic, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.cache {
		if t.ID == id {
			return t, true
		}
	}
	return Topic{}, false
}

func (m *modelTopics) Fresh(name string, _ time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.aged[name]
}

func (m *modelTopics) Ask(_ context.Context, names []string, ids []group.TopicID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.done <- struct{}{} }()
	m.asks++
	if m.down != nil {
		return m.down
	}
	for _, name := range names {
		if m.mute[name] {
			return errKafkaDown
		}
	}
	for _, name := range names {
		delete(m.cache, name)
		delete(m.aged, name)
		if t, ok := m.kafka[name]; ok {
			m.cache[name] = t
		}
	}
	for _, id := range ids {
		for _, t := range m.kafka {
			if t.ID == id {
				m.cache[t.Name] = t
			}
		}
	}
	return nil
}

func (m *modelTopics) Gone(_ context.Context, id group.TopicID) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down != nil {
		return false, m.down
	}
	return m.gone[id], nil
}

func (m *modelTopics) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// world is a loop with everything around it.
type world struct {
	t      testing.TB
	loop   *Loop
	log    *modelLog
	clock  *modelClock
	topics *modelTopics
	lines  *observer.ObservedLogs
	reg    *prometheus.Registry
}

var orders = Topic{Name: "orders", ID: group.TopicID{7}, Partitions: 6}

func groupConfig() group.Config {
	cfg := group.DefaultConfig()
	cfg.InitialRebalanceDelay = 0
	return cfg
}

func newWorld(t testing.TB, edit ...func(*Config)) *world {
	t.Helper()
	core, lines := observer.New(zapcore.DebugLevel)
	w := &world{t: t, clock: newModelClock(), topics: newModelTopics(orders), lines: lines, reg: prometheus.NewRegistry()}
	n := 0
	cfg := Config{
		Group: groupConfig(), Topics: w.topics, Logger: zap.New(core), Metrics: NewMetrics(w.reg), NotLeader: errNotLeader, TooLarge: errTooLarge,
		Clock: w.clock, TopicFresh: 1000 * time.Hour,
		FreshID: func() string {
			n++
			return "id-" + string(rune('0'+n))
		},
	}
	for _, f := range edit {
		f(&cfg)
	}
	w.loop = New(cfg)
	w.log = &modelLog{loop: w.loop, grown: make(chan struct{}, 1)}
	w.loop.Attach(w.log)
	t.Cleanup(w.loop.Close)
	return w
}

func (w *world) lead() *world {
	w.loop.Lead(1)
	return w
}

// settle waits until the loop has handled everything that it has been given, and what came of it.
func (w *world) settle() {
	w.t.Helper()
	for range 8 {
		require.NoError(w.t, w.loop.call(func(time.Time) {}))
	}
}

// reply is where an answer goes.
type reply chan kmsg.Response

func (r reply) Reply(resp kmsg.Response) { r <- resp } // a second answer blocks the loop, and with it the test

func (w *world) send(msg kmsg.Request, version int16) reply { return w.sendTo(msg, version, -1) }

func (w *world) sendTo(msg kmsg.Request, version int16, broker int32) reply {
	msg.SetVersion(version)
	r := make(reply, 1)
	w.loop.Serve(Call{Msg: msg, ClientID: "client", Host: "/127.0.0.1", Broker: broker, To: r})
	return r
}

func get[R kmsg.Response](t testing.TB, r reply) R {
	t.Helper()
	select {
	case resp := <-r:
		out, ok := resp.(R)
		require.True(t, ok, "%T", resp)
		return out
	case <-time.After(10 * time.Second):
		t.Fatal("no answer")
		panic("unreachable")
	}
}

func unanswered(t testing.TB, w *world, r reply) {
	t.Helper()
	w.settle()
	select {
	case resp := <-r:
		t.Fatalf("answered too early: %+v", resp)
	default:
	}
}

func joinRequest(name, member string) *kmsg.JoinGroupRequest {
	return &kmsg.JoinGroupRequest{
		Group: name, MemberID: member, SessionTimeoutMillis: 10000, RebalanceTimeoutMillis: 30000, ProtocolType: "consumer",
		Protocols: []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 0}}},
	}
}

// member brings a group to Stable with one member, and returns its id and generation.
func (w *world) member(name string) (id string, generation int32) {
	w.t.Helper()
	pending := w.send(joinRequest(name, ""), 3)
	w.settle()
	w.clock.advance(time.Millisecond)
	j := get[*kmsg.JoinGroupResponse](w.t, pending)
	require.Zero(w.t, j.ErrorCode)
	s := get[*kmsg.SyncGroupResponse](w.t, w.send(&kmsg.SyncGroupRequest{
		Group: name, Generation: j.Generation, MemberID: j.MemberID,
		GroupAssignment: []kmsg.SyncGroupRequestGroupAssignment{{MemberID: j.MemberID, MemberAssignment: []byte("all")}},
	}, 3))
	require.Zero(w.t, s.ErrorCode)
	require.Equal(w.t, "all", string(s.MemberAssignment))
	return j.MemberID, j.Generation
}

func commitRequest(name, member string, generation int32, topic string, partition int32, offset int64) *kmsg.OffsetCommitRequest {
	return &kmsg.OffsetCommitRequest{
		Group: name, MemberID: member, Generation: generation,
		Topics: []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{
			{Partition: partition, Offset: offset, LeaderEpoch: -1},
		}}},
	}
}

func (w *world) commit(name, member string, generation int32, offset int64) reply {
	return w.send(commitRequest(name, member, generation, "orders", 0, offset), 8)
}

func commitCode(t testing.TB, r reply) int16 {
	t.Helper()
	return get[*kmsg.OffsetCommitResponse](t, r).Topics[0].Partitions[0].ErrorCode
}

func (w *world) fetch(name string) reply {
	return w.send(&kmsg.OffsetFetchRequest{Groups: []kmsg.OffsetFetchRequestGroup{
		{Group: name, Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: "orders", Partitions: []int32{0}}}},
	}}, 8)
}

func fetched(t testing.TB, r reply) (code int16, offset int64) {
	t.Helper()
	g := get[*kmsg.OffsetFetchResponse](t, r).Groups[0]
	if g.ErrorCode != 0 {
		return g.ErrorCode, 0
	}
	return 0, g.Topics[0].Partitions[0].Offset
}
