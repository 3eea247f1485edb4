package wire

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// Conn is the loop of one client connection: a goroutine that reads requests and hands each to the broker or to Local, and
// one that writes the answers in request order.
type Conn struct {
	cfg        *Config
	nc         net.Conn
	up         Upstream
	local      Local
	broker     int32
	host       string
	rd         *Reader
	wr         *Writer
	unfinished int64  // bytes taken of what all connections may have of large requests; the reader's
	client     string // the client id that the requests carry; kept so that equal ones need no allocation

	mu        sync.Mutex
	change    sync.Cond // for the reader: an entry has left, or closed
	ready     sync.Cond // for the writer: the first entry can go, or closed
	queue     fifo
	own       int   // entries of Local in the queue
	exclusive bool  // one of them lets no other own request pass until its answer has left
	held      int64 // bytes of requests that the queue keeps in memory
	ended     bool  // the reader has ended: the writer ends with the queue
	closed    bool
	cause     error  // why it was closed
	stop      func() // ends takeLarge's wait

	current entry     // the writer's: the one whose answer is being written
	counted [2]uint64 // bytes in and out that the metrics know of
}

// errClosing says that the connection was closed while something waited for it; the cause is told elsewhere.
var errClosing = errors.New("the connection is closed")

// NewConn returns the loop of nc, which Run drives. broker is the id of the broker whose port nc came in on, -1 for the
// bootstrap port. cfg has passed through [Config.Defaults].
func NewConn(cfg *Config, nc net.Conn, broker int32, up Upstream, local Local) *Conn {
	c := &Conn{cfg: cfg, nc: nc, up: up, local: local, broker: broker, host: hostOf(nc.RemoteAddr())}
	c.change.L, c.ready.L = &c.mu, &c.mu
	c.rd = NewReader(nc, c.beforeWait)
	c.wr = NewWriter(nc, cfg.ProgressTimeout)
	return c
}

// Run serves the connection until it ends and closes it. It returns the reason, nil for a client that has closed it.
func (c *Conn) Run() error {
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.close(c.writeAnswers())
	}()
	err := c.readRequests()
	// The end may come right behind requests: there was no wait before which they would have left.
	unsent := c.up.Flush()
	if errors.Is(err, io.EOF) || errors.Is(err, errInterrupted) {
		err = unsent
	}
	c.mu.Lock()
	c.ended = true
	if c.closed {
		err = c.cause // what the reader met is only that
	} else if c.queue.n > 0 {
		t := time.AfterFunc(c.cfg.DrainTimeout, func() { c.close(errDrain) })
		defer t.Stop()
	}
	c.ready.Signal()
	c.mu.Unlock()
	<-written
	c.mu.Lock() // answers may still come, from any goroutine
	for ; c.queue.n > 0; c.queue.pop() {
		e := c.queue.first()
		c.giveLarge(e.large, e.held)
	}
	c.mu.Unlock()
	c.rd.Release()
	c.wr.Release()
	c.count()
	if err == nil {
		err = c.cause
	}
	if errors.Is(err, errClosing) {
		err = nil
	}
	return err
}

var errDrain = errors.New("the last answers did not leave in time")

// Drain stops reading; the connection ends when what was asked has been answered. It may be called from any goroutine.
func (c *Conn) Drain() { c.rd.Interrupt() }

// Close ends the connection at once. It may be called from any goroutine.
func (c *Conn) Close() { c.close(errClosing) }

func (c *Conn) close(cause error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed, c.cause = true, cause
	if c.stop != nil {
		c.stop()
	}
	c.change.Broadcast()
	c.ready.Broadcast()
	c.mu.Unlock()
	_ = c.nc.Close() // there is nobody to tell; the peer sees it
	c.up.Close()
}

// beforeWait runs when the client has sent nothing more: what it sent goes to the broker now.
func (c *Conn) beforeWait() error {
	c.count()
	return c.up.Flush()
}

// count hands the bytes since the last call to the metrics; it is called by the reader.
func (c *Conn) count() {
	in := c.rd.Total()
	c.cfg.Metrics.Bytes(int(in-c.counted[0]), 0)
	c.counted[0] = in
}

// LogEnd writes the line that a connection deserves which did not end well. A peer that is simply gone is no news.
func (c *Conn) LogEnd(err error) {
	if err == nil {
		return
	}
	level := zap.WarnLevel
	for _, usual := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, errDrain} {
		if errors.Is(err, usual) {
			level = zap.DebugLevel
		}
	}
	c.cfg.Log.Log(level, "closed a client's connection", zap.Stringer("peer", c.nc.RemoteAddr()), zap.Int32("broker", c.broker),
		zap.String("client", c.client), zap.Error(err))
}
