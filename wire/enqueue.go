package wire

import (
	"context"
	"fmt"

	"golang.org/x/sync/semaphore"
)

// takeLarge waits for room to decode a large request among those of all connections.
func (c *Conn) takeLarge(h Header) error { return c.takeRoom(c.cfg.large, h, int64(h.Size)) }

// takeUnfinished waits for room for n more bytes of a large request; giveUnfinished gives back all that was taken.
func (c *Conn) takeUnfinished(h Header, n int) error {
	err := c.takeRoom(c.cfg.unfinished, h, int64(n))
	if err == nil {
		c.unfinished += int64(n)
	}
	return err
}

func (c *Conn) giveUnfinished() {
	if c.unfinished > 0 {
		c.cfg.unfinished.Release(c.unfinished)
		c.unfinished = 0
	}
}

func (c *Conn) takeRoom(room *semaphore.Weighted, h Header, n int64) error {
	if room.TryAcquire(n) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.cfg.ProgressTimeout)
	defer cancel()
	c.mu.Lock()
	c.stop = cancel
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return errClosing
	}
	if err := room.Acquire(ctx, n); err != nil {
		return fmt.Errorf("api key %d: no room for a request of %d bytes among the large ones of all clients: %w", h.Key, h.Size, err)
	}
	return nil
}

func (c *Conn) giveLarge(large bool, n int32) {
	if large {
		c.cfg.large.Release(int64(n))
	}
}

// enqueue takes the next slot of the order, waiting until there is one. That is Kafka's mute: a request of ours other than
// a commit or a heartbeat waits until all answers of ours have left, and holds back those that follow.
func (c *Conn) enqueue(e entry) error {
	own := e.local()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.closed && c.mustWait(e, own) {
		if c.up.Unsent() > 0 {
			c.mu.Unlock()
			err := c.up.Flush()
			c.mu.Lock()
			if err != nil {
				return err
			}
			continue
		}
		c.change.Wait()
	}
	if c.closed {
		return errClosing
	}
	if own {
		c.own++
		c.exclusive = !pipelined(e.Key)
	}
	c.held += int64(e.held)
	c.queue.push(e)
	if c.queue.n == 1 {
		c.ready.Signal()
	}
	return nil
}

// pipelineBytes bounds the commits of one connection that are under way at the same time, and so the work that a client can
// put before that of all others.
const pipelineBytes = 64 << 10

func (c *Conn) mustWait(e entry, own bool) bool {
	if c.queue.n >= c.cfg.MaxInFlight || c.held > 0 && c.held+int64(e.held) > int64(c.cfg.MaxHeldBytes) {
		return true
	}
	return own && c.own > 0 && (c.exclusive || !pipelined(e.Key) || c.held+int64(e.held) > pipelineBytes)
}
