package raftstore

import (
	"sync"

	"github.com/hashicorp/raft"
)

// confirmer proves leadership for reads; those that wait together share one round.
type confirmer struct {
	raft *raft.Raft
	wake chan struct{}
	stop chan struct{}

	mu      sync.Mutex
	waiting []func(error)
	closed  bool
}

func newConfirmer() *confirmer {
	return &confirmer{wake: make(chan struct{}, 1), stop: make(chan struct{})}
}

func (c *confirmer) add(done func(error)) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		done(ErrClosed)
		return
	}
	c.waiting = append(c.waiting, done)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run answers until stop; each round begins after everyone in it has read.
func (c *confirmer) run() {
	defer c.drain()
	for {
		select {
		case <-c.stop:
			return
		case <-c.wake:
		}
		c.mu.Lock()
		waiting := c.waiting
		c.waiting = nil
		c.mu.Unlock()
		if len(waiting) == 0 {
			continue
		}
		err := c.raft.VerifyLeader().Error()
		if err != nil {
			err = ErrNotLeader
		}
		for _, done := range waiting {
			done(err)
		}
	}
}

func (c *confirmer) drain() {
	c.mu.Lock()
	waiting := c.waiting
	c.waiting, c.closed = nil, true
	c.mu.Unlock()
	for _, done := range waiting {
		done(ErrClosed)
	}
}
