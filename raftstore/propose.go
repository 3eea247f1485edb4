package raftstore

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

const (
	// maxBatchBytes bounds an entry, unless one command alone is larger. An append of megabytes takes the disk 5 ms and more.
	maxBatchBytes = 256 << 10
	// maxInFlight batches are on their way at once in a cluster: while one is being replicated the next one is synced. A lone
	// voter has only the disk to wait for, and two batches that take turns there are half as large: with 16 callers 5.9
	// commands a sync instead of 8.
	maxInFlight     = 2
	maxInFlightLone = 1
	// minBatchBuffer is what a batch's buffer starts with.
	minBatchBuffer = 1 << 10
)

// batch is what becomes one Raft entry.
type batch struct {
	sequence  uint64
	term      uint64
	buf       []byte // an envelope; the head is filled in when the batch leaves
	refs      []Ref
	payload   int       // bytes of the commands alone
	begun     time.Time // when its first command was queued
	sent      time.Time
	abandoned bool // Failed was called for its refs
	future    raft.ApplyFuture
}

// proposer gathers commands into batches and hands these to Raft, a bounded number at once.
type proposer struct {
	raft     *raft.Raft // set before the first term
	handler  Handler
	origin   uint64
	observer Observer
	bound    int
	slots    int // batches that may be in flight
	timeout  time.Duration
	lost     func(term uint64) // leadership of that term was lost

	wake    chan struct{} // buffered 1: there may be something to send
	stop    chan struct{}
	waiting chan *batch // sent, in order; buffered

	mu       sync.Mutex
	term     uint64 // 0: this node does not serve
	closed   bool
	queue    []*batch // the last one takes commands
	queued   int      // bytes of commands in queue
	inFlight []*batch
	sequence uint64
	sizeHint int
	idle     sync.Cond // inFlight or queue became empty

	batches, commands uint64
}

func newProposer(cfg *Config, h Handler) (*proposer, error) {
	var origin [8]byte
	if _, err := rand.Read(origin[:]); err != nil {
		return nil, fmt.Errorf("raftstore: no random bytes: %w", err)
	}
	p := &proposer{
		slots: maxInFlight, handler: h, origin: binary.BigEndian.Uint64(origin[:]), observer: cfg.Observer, bound: cfg.QueueBytes,
		timeout: cfg.ProposeTimeout, wake: make(chan struct{}, 1), stop: make(chan struct{}),
		waiting: make(chan *batch, maxInFlight), sizeHint: minBatchBuffer,
	}
	if cfg.lone() {
		p.slots = maxInFlightLone
	}
	p.idle.L = &p.mu
	return p, nil
}

// propose queues a command. It never blocks.
func (p *proposer) propose(ref Ref, cmd []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return ErrClosed
	case p.term == 0:
		return ErrNotLeader
	case len(cmd) > p.bound:
		return ErrTooLarge
	case p.queued+len(cmd) > p.bound:
		return ErrBusy
	}
	size := binary.MaxVarintLen32 + len(cmd)
	var b *batch
	if n := len(p.queue); n > 0 {
		b = p.queue[n-1]
	}
	if b == nil || len(b.buf)+size > maxBatchBytes {
		b = &batch{buf: make([]byte, envelopeHead, max(p.sizeHint, envelopeHead+size)), begun: time.Now()}
		p.queue = append(p.queue, b)
	}
	b.buf = binary.AppendUvarint(b.buf, uint64(len(cmd)))
	b.buf = append(b.buf, cmd...)
	b.refs = append(b.refs, ref)
	b.payload += len(cmd)
	p.queued += len(cmd)
	p.signal()
	return nil
}

// signal wakes the sender if it could send. The caller holds mu.
func (p *proposer) signal() {
	if len(p.queue) == 0 || len(p.inFlight) >= p.slots {
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// next takes the oldest batch if one may leave.
func (p *proposer) next() *batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 || len(p.inFlight) >= p.slots {
		return nil
	}
	b := p.queue[0]
	p.queue[0] = nil
	if p.queue = p.queue[1:]; len(p.queue) == 0 {
		p.queue = nil
	}
	p.queued -= b.payload
	p.sequence++
	b.sequence, b.term, b.sent = p.sequence, p.term, time.Now()
	// The next batch is probably as large as this one.
	p.sizeHint = min(max(len(b.buf)+len(b.buf)/4, minBatchBuffer), maxBatchBytes)
	p.inFlight = append(p.inFlight, b)
	p.batches++
	p.commands += uint64(len(b.refs))
	return b
}

// send hands batches to Raft until stop.
func (p *proposer) send() {
	defer close(p.waiting)
	for {
		select {
		case <-p.stop:
			return
		case <-p.wake:
		}
		// Whoever was answered together with the one that woke us is runnable now and about to propose again: with 16 callers
		// letting them go first makes it 13 commands a sync instead of 8. When nobody is runnable this costs nothing.
		runtime.Gosched()
		for b := p.next(); b != nil; b = p.next() {
			putEnvelopeHead(b.buf, p.origin, b.sequence, b.sent.UnixMilli())
			if p.observer != nil {
				p.observer.Proposed(len(b.refs), len(b.buf))
			}
			b.future = p.raft.Apply(b.buf, p.timeout)
			p.waiting <- b
		}
	}
}

// settle waits for the batches' futures and reports those that failed; the others were applied.
func (p *proposer) settle() {
	for b := range p.waiting {
		if err := b.future.Error(); err != nil {
			p.failed(b, err)
		}
	}
}

// failed reports a batch that Raft refused or lost sight of.
func (p *proposer) failed(b *batch, err error) {
	unknown, err := classify(err)
	if unknown {
		// The owner hears that it leads no more before it hears of what it cannot know.
		p.lost(b.term)
	}
	p.mu.Lock()
	b, abandoned := p.remove(b.sequence)
	p.mu.Unlock()
	if b != nil && !abandoned {
		p.handler.Failed(b.refs, err, unknown)
	}
}

// classify tells whether a batch that ended with an error may still be committed.
func classify(err error) (unknown bool, _ error) {
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return false, ErrNotLeader // answered before the entry was made
	case errors.Is(err, raft.ErrEnqueueTimeout):
		return false, ErrTimeout
	case errors.Is(err, raft.ErrLeadershipLost):
		return true, ErrNotLeader
	case errors.Is(err, raft.ErrRaftShutdown):
		return true, ErrClosed // also the answer to entries that were committed already
	}
	return true, err
}

// applied returns the refs of an own batch that is being applied; nil if Failed was called for them.
func (p *proposer) applied(sequence uint64) []Ref {
	p.mu.Lock()
	b, abandoned := p.remove(sequence)
	p.mu.Unlock()
	if b == nil {
		return nil
	}
	if p.observer != nil {
		p.observer.Committed(time.Since(b.sent))
	}
	if abandoned {
		return nil
	}
	return b.refs
}

// remove takes a batch out of flight: whoever gets it answers for it. The caller holds mu.
func (p *proposer) remove(sequence uint64) (b *batch, abandoned bool) {
	for i, f := range p.inFlight {
		if f.sequence == sequence {
			p.inFlight = append(p.inFlight[:i], p.inFlight[i+1:]...)
			p.inFlight[:len(p.inFlight)+1][len(p.inFlight)] = nil
			p.signal()
			p.idle.Broadcast()
			return f, f.abandoned
		}
	}
	return nil, false
}

// lead lets commands in.
func (p *proposer) lead(term uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.term = term
}

// resign lets no more commands in and returns what was never sent.
func (p *proposer) resign() []Ref {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.term = 0
	return p.dropQueue(len(p.queue))
}

// dropQueue takes the n oldest batches out of the queue. The caller holds mu.
func (p *proposer) dropQueue(n int) (refs []Ref) {
	for i, b := range p.queue[:n] {
		refs = append(refs, b.refs...)
		p.queued -= b.payload
		p.queue[i] = nil
	}
	p.queue = p.queue[n:]
	p.idle.Broadcast()
	return refs
}

// expire reports what has waited for longer than the bound: in the queue, then it was never sent; in flight, then nobody
// knows. What is in flight keeps its slot, or a leader without a majority would pile up entries.
func (p *proposer) expire(now time.Time) {
	var unknown []Ref
	p.mu.Lock()
	n := 0
	for n < len(p.queue) && now.Sub(p.queue[n].begun) > p.timeout {
		n++
	}
	unsent := p.dropQueue(n)
	for _, b := range p.inFlight {
		if !b.abandoned && now.Sub(b.sent) > p.timeout {
			b.abandoned = true
			unknown = append(unknown, b.refs...)
		}
	}
	p.mu.Unlock()
	if len(unknown) > 0 {
		p.handler.Failed(unknown, ErrTimeout, true)
	}
	if len(unsent) > 0 {
		p.handler.Failed(unsent, ErrTimeout, false)
	}
}

// oldest tells when the batch that has been in flight for longest was sent.
func (p *proposer) oldest() (sent time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.inFlight) == 0 {
		return time.Time{}, false
	}
	return p.inFlight[0].sent, true
}

// close lets no more commands in, for good.
func (p *proposer) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// drained waits until nothing is queued or in flight, or gave up is closed.
func (p *proposer) drained(gaveUp <-chan struct{}) bool {
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-gaveUp:
		case <-done:
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.idle.Broadcast()
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue)+len(p.inFlight) > 0 {
		select {
		case <-gaveUp:
			return false
		default:
		}
		p.idle.Wait()
	}
	return true
}
