package coordinator

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/group"
)

// Config says what a [Loop] works with. Group, Topics, Logger and Metrics are required.
type Config struct {
	Group  group.Config
	Topics Topics
	Logger *zap.Logger

	// Metrics counts what happens; see [NewMetrics].
	Metrics *Metrics

	// Owner names the broker id that FindCoordinator gives for a group, so that each broker's port lists the groups that
	// clients look for there. ok is false when no broker is known; then every port lists every group.
	Owner func(group string) (broker int32, ok bool)

	// NotLeader is the error with which the log says that this node does not lead, or no longer does.
	NotLeader error

	// TooLarge is the error with which the log refuses a command for its size. Kafka answers UNKNOWN_SERVER_ERROR when the
	// members of a group do not fit into one of its records.
	TooLarge error

	// Fatal ends the process: a committed record cannot be understood, and going on would make this node disagree with the
	// others. It must not return. Default: panic.
	Fatal func(err error)

	Clock   Clock         // default: [SystemClock]
	FreshID func() string // makes a random UUID, from which member ids are made; default: from crypto/rand

	AskTimeout time.Duration // how long a request waits for Kafka to tell of an unknown topic; default 3 s
	TopicFresh time.Duration // how often topics that are committed to are asked about again, so that deletions are noticed; default 1 s
	TopicCheck time.Duration // how often the topics of the image are compared with Kafka's; default 30 s
	TopicGone  time.Duration // least time between the two answers that make a topic gone; default 30 s
}

func (c *Config) setDefaults() {
	if c.Fatal == nil {
		c.Fatal = func(err error) { panic(err) }
	}
	if c.Clock == nil {
		c.Clock = SystemClock{}
	}
	if c.FreshID == nil {
		c.FreshID = randomUUID
	}
	if c.Owner == nil {
		c.Owner = func(string) (int32, bool) { return 0, false }
	}
	if c.AskTimeout == 0 {
		c.AskTimeout = 3 * time.Second
	}
	if c.TopicFresh == 0 {
		c.TopicFresh = time.Second
	}
	if c.TopicCheck == 0 {
		c.TopicCheck = 30 * time.Second
	}
	if c.TopicGone == 0 {
		c.TopicGone = 30 * time.Second
	}
}

// ErrClosed tells that the loop has been closed.
var ErrClosed = errors.New("coordinator: closed")

// Loop owns a [Core]: one goroutine, one inbox, one timer. Everything that happens to the machine comes through the inbox,
// in the order in which it was put there, so the machine needs no lock.
type Loop struct {
	cfg     Config
	core    *Core
	log     Log // nil until Attach
	notices *noticeLog
	leading atomic.Bool
	asked   askState
	fresh   func(name string) bool // bound once: commits ask it

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	inbox  []input
	since  time.Time // when the first of the inbox came
	closed bool
	wake   chan struct{}

	timer    <-chan time.Time
	stop     func() bool
	timerAt  time.Time
	lastStat time.Time
	stale    bool // something has happened since the gauges were set
}

// input is one thing that happened; exactly one field is set.
type input struct {
	req   *Request
	batch *Batch
	do    func(now time.Time) // anything that is rare
}

// New returns a running loop. It serves once [Loop.Attach] has given it a log and the log has called [Loop.Lead].
func New(cfg Config) *Loop {
	cfg.setDefaults()
	l := &Loop{
		cfg:     cfg,
		core:    NewCore(cfg.Group),
		notices: newNoticeLog(cfg.Logger, cfg.Metrics),
		wake:    make(chan struct{}, 1),
	}
	l.fresh = func(name string) bool { return cfg.Topics.Fresh(name, freshRounds*cfg.TopicFresh) }
	l.core.deadline.timeout = cfg.Group.OffsetCommitTimeout
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.done.Go(l.run)
	l.done.Go(l.watchTopics)
	l.done.Go(l.freshenTopics)
	return l
}

// Attach gives the loop its log; proposals wait for it.
func (l *Loop) Attach(log Log) {
	l.do(func(time.Time) { l.log = log })
}

// Close answers everything that waits with COORDINATOR_NOT_AVAILABLE or NOT_COORDINATOR and ends the loop. Later calls are
// answered with COORDINATOR_NOT_AVAILABLE.
func (l *Loop) Close() {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		l.done.Wait()
		return
	}
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	l.done.Wait()
}

// push puts something into the inbox; false means that the loop has been closed.
func (l *Loop) push(in input) bool {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.inbox = append(l.inbox, in)
	first := len(l.inbox) == 1
	if first {
		l.since = l.cfg.Clock.Now()
	}
	l.mu.Unlock()
	if first {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	return true
}

func (l *Loop) do(f func(now time.Time)) bool { return l.push(input{do: f}) }

// call runs f on the loop and waits for it. What was pushed before the end is always handled.
func (l *Loop) call(f func(now time.Time)) error {
	end := make(chan struct{})
	if !l.do(func(now time.Time) { f(now); close(end) }) {
		return ErrClosed
	}
	<-end
	return nil
}

// maxInbox is what a burst may leave behind as buffer.
const maxInbox = 1 << 14

// flushEvery bounds how long the first of many inputs waits for the others before its proposal goes out.
const flushEvery = 64

func (l *Loop) run() {
	var batch []input
	for {
		l.mu.Lock()
		batch, l.inbox = l.inbox, batch[:0]
		closed, since := l.closed, l.since
		l.mu.Unlock()
		if len(batch) == 0 {
			if closed {
				l.end()
				return
			}
			l.sleep()
			continue
		}
		l.round(batch, since)
		clear(batch)
		if cap(batch) > maxInbox {
			batch = nil
		}
	}
}

// round handles a batch of inputs, the first of which came at since, with one look at the clock. Inputs come before
// deadlines: after a stall, heartbeats that have waited here save their members.
func (l *Loop) round(batch []input, since time.Time) {
	now := l.cfg.Clock.Now()
	l.cfg.Metrics.round(len(batch), now.Sub(since))
	for i := range batch {
		in := &batch[i]
		switch {
		case in.req != nil:
			l.core.Serve(now, in.req)
		case in.batch != nil:
			l.apply(now, in.batch)
		default:
			in.do(now)
		}
		if i%flushEvery == flushEvery-1 {
			l.flush(now)
		}
	}
	l.tick(now)
	l.flush(now)
	l.gauge(now)
}

func (l *Loop) apply(now time.Time, b *Batch) {
	if err := l.core.Apply(now, b, l.cfg.Metrics.proposed); err != nil {
		l.cfg.Fatal(err)
		panic(err)
	}
}

func (l *Loop) tick(now time.Time) {
	if at, ok := l.core.NextDeadline(); ok && !at.After(now) {
		l.core.Tick(now)
	}
}

// sleep waits for an input or for the next deadline.
func (l *Loop) sleep() {
	l.arm()
	select {
	case <-l.wake:
		return
	case <-l.ctx.Done():
		return
	case <-l.timer:
	}
	l.timer, l.stop = nil, nil
	now := l.cfg.Clock.Now()
	l.core.Tick(now)
	l.flush(now)
	l.gauge(now)
}

// arm sets the timer. One that would fire too early stays: heartbeats move deadlines away all the time, and a spurious
// look at them is cheaper than a timer for each.
func (l *Loop) arm() {
	at, ok := l.core.NextDeadline()
	if due := l.lastStat.Add(statPause); l.stale && (!ok || due.Before(at)) {
		at, ok = due, true
	}
	if !ok || l.timer != nil && !at.Before(l.timerAt) {
		return
	}
	if l.stop != nil {
		l.stop()
	}
	l.timerAt = at
	l.timer, l.stop = l.cfg.Clock.NewTimer(max(0, at.Sub(l.cfg.Clock.Now())))
}

// flush carries out what the core has asked for, until it asks for nothing more.
func (l *Loop) flush(now time.Time) {
	for {
		out := l.core.Take()
		if len(out.Notices) == 0 && len(out.Proposals) == 0 && len(out.Replies) == 0 && !out.Confirm {
			return
		}
		for i := range out.Notices {
			l.notices.write(now, &out.Notices[i])
		}
		var refused []refusal
		for _, p := range out.Proposals {
			if err := l.propose(p.Ref, l.core.Command(p)); err != nil {
				refused = append(refused, refusal{p.Ref, err})
			}
		}
		if out.Confirm {
			l.confirm()
		}
		for i := range out.Replies {
			r := &out.Replies[i]
			l.cfg.Metrics.answered(r.Key, r.Code)
			r.To.Reply(r.Resp)
		}
		l.core.Reset()
		for _, r := range refused {
			l.core.Failed(now, []uint64{r.ref}, l.code(r.err))
		}
	}
}

type refusal struct {
	ref uint64
	err error
}

func (l *Loop) propose(ref uint64, cmd []byte) error {
	if l.log == nil {
		return errNoLog
	}
	return l.log.Propose(ref, cmd)
}

var errNoLog = errors.New("coordinator: no log is attached yet")

func (l *Loop) confirm() {
	end := func(err error) { l.do(func(time.Time) { l.core.Confirmed(err) }) }
	if l.log == nil {
		end(errNoLog)
		return
	}
	l.log.Confirm(end)
}

// code is what a client gets for an error of the log: that there is another coordinator, that it will never work, or to
// try again.
func (l *Loop) code(err error) group.Code {
	switch {
	case l.cfg.NotLeader != nil && errors.Is(err, l.cfg.NotLeader):
		return group.NotCoordinator
	case l.cfg.TooLarge != nil && errors.Is(err, l.cfg.TooLarge):
		return group.UnknownServerError
	}
	return group.CoordinatorNotAvailable
}

// statPause is the least time between two settings of the gauges.
const statPause = time.Second

// gauge brings the gauges up to date, unless it just has.
func (l *Loop) gauge(now time.Time) {
	if now.Sub(l.lastStat) < statPause {
		l.stale = true
		return
	}
	l.lastStat, l.stale = now, false
	l.cfg.Metrics.gauges(l.core.m.Stats(), l.core.waiting.len(), l.core.pending.len(), l.core.leading)
}

// end answers what still waits.
func (l *Loop) end() {
	if l.stop != nil {
		l.stop()
	}
	now := l.cfg.Clock.Now()
	l.core.Resign(now)
	l.leading.Store(false)
	l.flush(now)
}
