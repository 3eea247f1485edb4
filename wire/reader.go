package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// stashMax is how much of an unfinished frame is kept aside, without a pooled buffer, while a reader waits for the rest.
const stashMax = 512

// Reader reads a socket through a pooled buffer that it holds only while there are bytes in it: a connection that waits
// costs no buffer. It is for one goroutine.
type Reader struct {
	conn  net.Conn
	tcp   *net.TCPConn    // conn, if it is one
	raw   syscall.RawConn // nil if conn does not offer one; then reads go through conn.Read
	buf   []byte          // pooled; nil while nothing is buffered
	r, w  int             // buf[r:w] is unread
	stash []byte          // unread bytes kept while buf is given back

	// onBlock is called once before a read that finds nothing would wait: the moment to flush the other direction.
	onBlock func() error
	called  bool
	attempt func(fd uintptr) bool // bound once, so that a read allocates nothing
	err     error                 // of the last attempt

	brief       bool // a read that finds nothing buffered takes little
	interrupted atomic.Bool

	timeout  time.Duration // the longest wait of the reads that follow; 0: none
	progress bool          // timeout is for each 64 KiB, not for each wait
	due      time.Time     // when timeout has passed; zero: nothing waited yet
	since    uint64        // total when due was set
	armed    time.Time     // the deadline that the socket has; zero: none
	total    uint64        // bytes read
}

// NewReader returns a reader of conn. onBlock may be nil.
func NewReader(conn net.Conn, onBlock func() error) *Reader {
	r := &Reader{conn: conn, tcp: tcpOf(conn), onBlock: onBlock}
	if sc, ok := conn.(syscall.Conn); ok && rawReads {
		if raw, err := sc.SyscallConn(); err == nil {
			r.raw = raw
		}
	}
	r.attempt = r.readOnce
	return r
}

// SetTimeout bounds each wait for bytes from now on; 0 removes the bound. A wait that takes longer ends in
// [os.ErrDeadlineExceeded].
func (r *Reader) SetTimeout(d time.Duration) { r.timeout, r.progress, r.due = d, false, time.Time{} }

// SetProgress bounds the time in which 64 KiB must arrive, from the first wait on: a peer that sends a byte now and then
// does not get by. Time in which nobody waits for the peer does not count against it.
func (r *Reader) SetProgress(d time.Duration) { r.timeout, r.progress, r.due = d, true, time.Time{} }

// errInterrupted ends a read that Interrupt has stopped.
var errInterrupted = errors.New("the reader was stopped")

// Interrupt stops the wait that goes on and every later one. It may be called from any goroutine.
func (r *Reader) Interrupt() {
	r.interrupted.Store(true)
	_ = r.conn.SetReadDeadline(time.Unix(1, 0)) // fails only on a closed socket, on which no read waits either
}

// Buffered is the number of bytes that can be had without a read.
func (r *Reader) Buffered() int {
	if r.buf == nil {
		return len(r.stash)
	}
	return r.w - r.r
}

// Total is the number of bytes read from the socket so far.
func (r *Reader) Total() uint64 { return r.total }

// Peek returns what is buffered, at least n bytes (n ≤ 64 KiB). It is valid until the next call of Peek or Next. At the end
// of the stream it returns [io.EOF] if nothing is buffered and [io.ErrUnexpectedEOF] otherwise.
func (r *Reader) Peek(n int) ([]byte, error) {
	if n > bufSize {
		return nil, errors.New("more than a buffer was asked for")
	}
	for r.Buffered() < n {
		if err := r.fill(n); err != nil {
			if errors.Is(err, io.EOF) && r.Buffered() > 0 {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	r.unstash()
	return r.buf[r.r:r.w], nil
}

// Discard drops n buffered bytes, which Peek has shown.
func (r *Reader) Discard(n int) { r.r += n }

// Next returns between 1 and n of the next bytes and consumes them. They are valid until the next call.
func (r *Reader) Next(n int) ([]byte, error) {
	b, err := r.Peek(1)
	if err != nil {
		return nil, err
	}
	b = b[:min(n, len(b))]
	r.Discard(len(b))
	return b, nil
}

// ReadFull appends n bytes to dst. It grows dst as bytes arrive and never by what a length prefix promises.
func (r *Reader) ReadFull(dst []byte, n int) ([]byte, error) {
	dst = slices.Grow(dst, min(n, max(r.Buffered(), stashMax)))
	for n > 0 {
		b, err := r.Next(n)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return dst, err
		}
		dst = append(dst, b...)
		n -= len(b)
	}
	return dst, nil
}

// Release gives the buffer back; the reader is not to be used again.
func (r *Reader) Release() {
	if r.buf != nil {
		giveBuf(r.buf)
	}
	r.buf, r.stash, r.r, r.w = nil, nil, 0, 0
}

// fill reads once, so that n bytes fit behind those that are buffered.
func (r *Reader) fill(n int) error {
	if r.buf != nil {
		switch {
		case r.r == r.w:
			r.r, r.w = 0, 0
		case r.r+n > len(r.buf), r.r > bufSize/2 && r.w-r.r < direct:
			r.w = copy(r.buf, r.buf[r.r:r.w])
			r.r = 0
		}
	}
	r.called, r.err = false, nil
	if !r.due.IsZero() && (!r.progress || r.total-r.since >= bufSize || time.Now().After(r.due)) {
		r.due = time.Time{}
	}
	if r.raw == nil {
		return r.fillPlain()
	}
	for {
		err := r.raw.Read(r.attempt)
		if err == nil {
			err = r.err
		}
		// The socket's deadline may be older and earlier than this wait's own.
		if errors.Is(err, os.ErrDeadlineExceeded) && (r.timeout == 0 || r.due.IsZero() || time.Now().Before(r.due)) {
			if err = r.arm(); err == nil {
				continue
			}
		}
		return err
	}
}

// arm sees to it that the wait which is about to begin ends when it is due, or earlier and is then taken up again. An idle
// timeout of minutes is armed once per that time and not once per read.
func (r *Reader) arm() error {
	if err := r.setDeadline(); err != nil {
		return err
	}
	if r.interrupted.Load() { // looked at after the deadline was set, which may have undone Interrupt's own
		return errInterrupted
	}
	return nil
}

func (r *Reader) setDeadline() error {
	if r.timeout == 0 {
		if r.armed.IsZero() {
			return nil
		}
		r.armed = time.Time{}
		return r.conn.SetReadDeadline(time.Time{})
	}
	now := time.Now()
	if r.due.IsZero() {
		r.due, r.since = now.Add(r.timeout), r.total
	}
	if r.armed.After(now) && !r.armed.After(r.due) {
		return nil
	}
	r.armed = r.due
	return r.conn.SetReadDeadline(r.due)
}

func (r *Reader) block() error {
	if r.called || r.onBlock == nil {
		return nil
	}
	r.called = true
	return r.onBlock()
}

// room is where a read may put bytes.
func (r *Reader) room() []byte {
	if r.brief && r.r == r.w {
		return r.buf[r.w:min(r.w+brief, len(r.buf))]
	}
	return r.buf[r.w:]
}

// unstash brings the bytes that were kept aside back into a buffer.
func (r *Reader) unstash() {
	if r.buf == nil {
		r.buf = takeBuf()
		r.r, r.w = 0, copy(r.buf, r.stash)
		r.stash = r.stash[:0]
	}
}

// park gives the buffer back for the time of a wait if little enough is in it.
func (r *Reader) park() {
	if r.buf == nil || r.w-r.r > stashMax {
		return
	}
	if r.r == r.w {
		r.stash = nil
	} else {
		r.stash = append(r.stash[:0], r.buf[r.r:r.w]...)
	}
	giveBuf(r.buf)
	r.buf, r.r, r.w = nil, 0, 0
}

func (r *Reader) fillPlain() error {
	if err := r.block(); err != nil {
		return err
	}
	r.unstash()
	for {
		if err := r.arm(); err != nil {
			return err
		}
		n, err := r.conn.Read(r.room())
		r.w += n
		r.total += uint64(n)
		if n > 0 {
			return nil
		}
		early := errors.Is(err, os.ErrDeadlineExceeded) && (r.timeout == 0 || time.Now().Before(r.due))
		if err != nil && !early {
			r.park()
			return err
		}
	}
}
