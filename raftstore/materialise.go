package raftstore

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
)

// view is the state at one position: a read transaction that was opened right after the commit that made it.
type view struct {
	pos position
	tx  *bbolt.Tx
	err error
}

// job is one transaction of the materialised copy.
type job struct {
	pos     position
	changes []Change
	replace bool      // the changes are the whole state
	view    chan view // not nil: open a view after the commit; buffered
}

// materialiser owns the materialised copy: one goroutine writes what was collected, in the order in which it was.
type materialiser struct {
	state    *stateDB
	poison   *poison
	observer Observer
	index    atomic.Uint64 // of the newest commit

	mu      sync.Mutex
	pending []job
	running bool
	closed  bool
	changed sync.Cond // pending, running or closed has changed
	done    chan struct{}
}

func newMaterialiser(state *stateDB, at uint64, p *poison, o Observer) *materialiser {
	m := &materialiser{state: state, poison: p, observer: o, done: make(chan struct{})}
	m.changed.L = &m.mu
	m.index.Store(at)
	go m.run()
	return m
}

// enqueue never blocks: the log waits for it. What waits already takes the new changes along.
func (m *materialiser) enqueue(j job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		if j.view != nil {
			j.view <- view{err: ErrClosed}
		}
		return
	}
	if n := len(m.pending); n > 0 && m.pending[n-1].view == nil && !j.replace {
		last := &m.pending[n-1]
		last.changes = append(last.changes, j.changes...)
		last.pos, last.view = j.pos, j.view
	} else {
		m.pending = append(m.pending, j)
	}
	m.changed.Broadcast()
}

// busy tells whether anything waits or is being written.
func (m *materialiser) busy() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running || len(m.pending) > 0
}

// close writes what waits and ends the goroutine.
func (m *materialiser) close() {
	m.mu.Lock()
	m.closed = true
	m.changed.Broadcast()
	m.mu.Unlock()
	<-m.done
}

func (m *materialiser) run() {
	defer close(m.done)
	for {
		j, ok := m.next()
		if !ok {
			return
		}
		err := m.write(&j)
		if j.view != nil {
			j.view <- m.open(&j, err)
		}
	}
}

func (m *materialiser) next() (job, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = false
	m.changed.Broadcast()
	for len(m.pending) == 0 {
		if m.closed {
			return job{}, false
		}
		m.changed.Wait()
	}
	j := m.pending[0]
	m.pending[0] = job{}
	m.pending = m.pending[1:]
	m.running = true
	return j, true
}

func (m *materialiser) write(j *job) error {
	if m.poison.failed.Load() {
		return errPoisoned
	}
	if len(j.changes) == 0 && !j.replace && j.pos.index == m.index.Load() {
		return nil
	}
	start, n := time.Now(), len(j.changes)
	if err := m.state.write(j.pos, j.changes, j.replace); err != nil {
		return m.poison.fail(fmt.Errorf("raftstore: the materialised copy cannot be written: %w", err))
	}
	crashpoint("state-committed")
	m.index.Store(j.pos.index)
	if m.observer != nil {
		m.observer.Materialised(n, time.Since(start))
	}
	return nil
}

func (m *materialiser) open(j *job, err error) view {
	if err != nil {
		return view{err: err}
	}
	tx, err := m.state.db.Begin(false)
	if err != nil {
		return view{err: err}
	}
	pos, err := positionOf(tx)
	if err == nil && pos.index != j.pos.index {
		err = errors.New("raftstore: the materialised copy is not where it was just brought")
	}
	if err != nil {
		_ = tx.Rollback()
		return view{err: err}
	}
	return view{pos: pos, tx: tx}
}
