package wire

import (
	"net"
	"time"
)

const (
	// direct is the size from which bytes are written without being copied together with others first.
	direct = 8 << 10
	// writePiece bounds what one deadline covers, so that a slow but living peer gets a large answer in the end.
	writePiece = 256 << 10
)

// Writer collects small pieces in a pooled buffer, which it holds only while there are bytes in it, and writes large ones
// at once. It is for one goroutine. After an error every call returns that error.
type Writer struct {
	conn  net.Conn
	tcp   *net.TCPConn  // conn, if it is one
	buf   []byte        // collected; nil while empty
	limit time.Duration // the longest time that a piece of at most 256 KiB may take; 0: none
	armed time.Time     // the deadline that the socket has
	total uint64
	err   error
	pair  [2][]byte   // backs vec
	vec   net.Buffers // for one writev of what is collected and what is not
}

// NewWriter returns a writer to conn whose peer must take a piece of at most 256 KiB within limit.
func NewWriter(conn net.Conn, limit time.Duration) *Writer {
	return &Writer{conn: conn, tcp: tcpOf(conn), limit: limit}
}

// Buffered is the number of bytes that wait for Flush.
func (w *Writer) Buffered() int { return len(w.buf) }

// Total is the number of bytes taken so far.
func (w *Writer) Total() uint64 { return w.total }

// Write takes p; it is not kept.
func (w *Writer) Write(p []byte) error {
	if w.err != nil {
		return w.err
	}
	w.total += uint64(len(p))
	if len(p) < direct {
		if w.buf == nil {
			w.buf = takeBuf()[:0]
		}
		if len(w.buf)+len(p) <= cap(w.buf) {
			w.buf = append(w.buf, p...)
			return nil
		}
		if err := w.Flush(); err != nil {
			return err
		}
		w.buf = takeBuf()[:0]
		w.buf = append(w.buf, p...)
		return nil
	}
	if len(w.buf) == 0 {
		return w.send(p)
	}
	if w.err = w.arm(); w.err != nil {
		return w.err
	}
	w.pair = [2][]byte{w.buf, p}
	w.vec = w.pair[:]
	_, w.err = w.vec.WriteTo(w.conn)
	w.pair = [2][]byte{}
	w.release()
	return w.err
}

// Append lets encode append to the collected bytes, whatever their number.
func (w *Writer) Append(encode func(dst []byte) []byte) error {
	if w.err != nil {
		return w.err
	}
	if w.buf == nil {
		w.buf = takeBuf()[:0]
	}
	n := len(w.buf)
	w.buf = encode(w.buf)
	w.total += uint64(len(w.buf) - n)
	if len(w.buf) >= bufSize {
		return w.Flush()
	}
	return nil
}

// Flush writes what is collected.
func (w *Writer) Flush() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	err := w.send(w.buf)
	w.release()
	return err
}

// Release gives the buffer back and drops what is in it.
func (w *Writer) Release() { w.release() }

func (w *Writer) release() {
	if w.buf != nil {
		giveBuf(w.buf)
		w.buf = nil
	}
}

func (w *Writer) send(p []byte) error {
	for len(p) > 0 && w.err == nil {
		if w.err = w.arm(); w.err != nil {
			break
		}
		var n int
		n, w.err = w.conn.Write(p[:min(len(p), writePiece)])
		p = p[n:]
	}
	return w.err
}

// arm gives a write at least half and at most all of the limit, so that a deadline is set at most every half of it.
func (w *Writer) arm() error {
	if w.limit == 0 {
		return nil
	}
	now := time.Now()
	if w.armed.Sub(now) > w.limit/2 {
		return nil
	}
	w.armed = now.Add(w.limit)
	return w.conn.SetWriteDeadline(w.armed)
}
