package wire

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// writeAnswers sends the answers in the order of the queue until the reader has ended and the queue is empty, or an error.
func (c *Conn) writeAnswers() error {
	for {
		more, err := c.first()
		if err != nil {
			return err
		}
		if !more {
			return c.flush()
		}
		e := &c.current
		switch {
		case e.req != nil:
			err = c.encode(e.Slot, e.req.slot.resp)
		case e.body != nil:
			err = c.wr.Append(func(dst []byte) []byte { return appendFrame(dst, e.Slot, e.body) })
		default:
			err = c.up.Receive(e.Slot, c.wr)
		}
		if err != nil {
			_ = c.flush() // what came before still leaves, if it can
			return err
		}
		c.left(e)
	}
}

// first waits for the answer whose turn it is and copies its entry, which stays in the queue, to current; false when there
// will be none. What has been written is flushed before any wait.
func (c *Conn) first() (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return false, errClosing
		case c.queue.n > 0:
			if e := c.queue.first(); e.req == nil || e.req.slot.done {
				c.current = *e
				return true, nil
			}
		case c.ended:
			return false, nil
		}
		if c.wr.Buffered() > 0 {
			c.mu.Unlock()
			err := c.flush()
			c.mu.Lock()
			if err != nil {
				return false, err
			}
			continue
		}
		c.ready.Wait()
	}
}

// left takes the first entry out of the queue: its answer is on its way.
func (c *Conn) left(e *entry) {
	c.mu.Lock()
	c.queue.pop()
	c.held -= int64(e.held)
	if e.local() {
		if c.own--; c.own == 0 {
			c.exclusive = false
		}
	}
	c.change.Signal()
	c.mu.Unlock()
	c.giveLarge(e.large, e.held)
	*e = entry{}
}

func (c *Conn) flush() error {
	if n := c.wr.Total() - c.counted[1]; n > 0 {
		c.cfg.Metrics.Bytes(0, int(n))
		c.counted[1] += n
	}
	return c.wr.Flush()
}

// encode writes an answer of Local or of the upstream's knowledge.
func (c *Conn) encode(s Slot, resp kmsg.Response) error {
	if resp == nil {
		return errNoAnswer
	}
	c.up.Review(resp)
	return c.wr.Append(func(dst []byte) []byte {
		start := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		dst = appendResponseHeader(dst, s.Key, s.Version, s.Corr)
		dst = resp.AppendTo(dst)
		binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-sizeLen))
		return dst
	})
}

// appendFrame appends a response whose body is encoded already.
func appendFrame(dst []byte, s Slot, body []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = appendResponseHeader(dst, s.Key, s.Version, s.Corr)
	dst = append(dst, body...)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-sizeLen))
	return dst
}

// WriteResponse writes a response frame: the header that belongs to s, and a body that is encoded already.
func (w *Writer) WriteResponse(s Slot, body []byte) error {
	return w.Append(func(dst []byte) []byte { return appendFrame(dst, s, body) })
}

// reply takes the answer to one request, from any goroutine.
func (c *Conn) reply(s *slot, resp kmsg.Response) {
	c.mu.Lock()
	if s.done {
		c.mu.Unlock()
		panic("wire: a request was answered twice")
	}
	s.done, s.resp = true, resp
	if c.queue.n > 0 {
		if r := c.queue.first().req; r != nil && r.slot == s {
			c.ready.Signal()
		}
	}
	c.mu.Unlock()
}
