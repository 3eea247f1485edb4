package differential

import (
	"context"
	"sync"
)

// A restart lets all plays of a profile reach a point, stops what answers for the groups, starts it again
// and lets the plays go on. A play that ends before the point counts as having reached it.
type restart struct {
	again func(context.Context) error
	ctx   context.Context //nolint:containedctx // the bound of the whole run, met long after it was given

	mu      sync.Mutex
	waiting int // plays that have not reached the point
	err     error
	once    sync.Once
	over    chan struct{}
}

func newRestart(ctx context.Context, plays int, again func(context.Context) error) *restart {
	return &restart{ctx: ctx, again: again, waiting: plays, over: make(chan struct{})}
}

// arrive counts one play; the last one restarts.
func (c *restart) arrive() {
	c.mu.Lock()
	c.waiting--
	last := c.waiting == 0
	c.mu.Unlock()
	if last {
		c.once.Do(func() {
			c.err = c.again(c.ctx)
			close(c.over)
		})
	}
}

// Restart waits until every play of the profile has come here and both targets were stopped and are back. Connections are
// gone; the next Conn goes to the new process.
func (s *Script) Restart() {
	c := s.target.Restart
	if c == nil {
		s.stop("this profile has no restart")
	}
	s.restarted = true
	c.arrive()
	select {
	case <-c.over:
	case <-c.ctx.Done():
		s.stop("the run ended before the restart")
	}
	if c.err != nil {
		s.stop("the restart failed: %v", c.err)
	}
	s.admin = nil
}

// Again gives the member a new connection.
func (m *Member) Again() {
	m.conn = m.g.s.Conn(m.conn.name + "'")
}
