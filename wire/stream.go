package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

const (
	// spliceMin is the size from which the rest of a frame goes from socket to socket inside the kernel. Measured by the
	// processor time of everybody who takes part (BenchmarkFetch in package gateway, two cores, loopback): below it the
	// additional system calls cost more than the copies they save; a frame of 1 MiB takes two thirds.
	spliceMin = 128 << 10
	// brief is how much the first read of a frame takes where the last one was spliced: what is read is not spliced.
	brief = 4 << 10
)

// errSource marks an error of the side that bytes come from.
type errSource struct{ err error }

func (e *errSource) Error() string { return e.err.Error() }
func (e *errSource) Unwrap() error { return e.err }

// Stream passes n bytes of one frame from r on. They may stay collected as after Write.
func (w *Writer) Stream(r *Reader, n int) error {
	splices := canSplice && n >= spliceMin && r.tcp != nil && w.tcp != nil
	r.brief = splices
	for n > 0 {
		if splices && n >= spliceMin && r.Buffered() == 0 {
			return w.splice(r, n)
		}
		b, err := r.Next(n)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return &errSource{err}
		}
		n -= len(b)
		if err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// splice moves n bytes from socket to socket, in pieces that each must arrive and be taken in time.
func (w *Writer) splice(r *Reader, n int) error {
	if err := w.Flush(); err != nil {
		return err
	}
	if err := r.block(); err != nil {
		return err
	}
	for n > 0 {
		now := time.Now()
		if err := r.expire(now); err != nil {
			return &errSource{err}
		}
		if w.err = w.expire(now); w.err != nil {
			return w.err
		}
		piece := min(n, writePiece)
		moved, err := io.CopyN(w.tcp, r.tcp, int64(piece))
		r.total += uint64(moved)
		w.total += uint64(moved)
		n -= int(moved)
		switch {
		case errors.Is(err, io.EOF):
			return &errSource{io.ErrUnexpectedEOF}
		case err != nil:
			w.err = fmt.Errorf("between the client and the broker: %w", err)
			return w.err
		}
	}
	return nil
}

// expire gives the reads of one piece a deadline of their own. Reads that follow know of it and set theirs again.
func (r *Reader) expire(now time.Time) error {
	r.due = time.Time{}
	if r.timeout == 0 {
		return r.arm()
	}
	r.armed = now.Add(r.timeout)
	if err := r.conn.SetReadDeadline(r.armed); err != nil {
		return err
	}
	if r.interrupted.Load() {
		return errInterrupted
	}
	return nil
}

// expire gives the writes of one piece a deadline of their own.
func (w *Writer) expire(now time.Time) error {
	if w.limit == 0 {
		return nil
	}
	w.armed = now.Add(w.limit)
	return w.conn.SetWriteDeadline(w.armed)
}

// tcpOf returns the connection whose bytes the kernel can move by itself.
func tcpOf(nc net.Conn) *net.TCPConn {
	tcp, _ := nc.(*net.TCPConn)
	return tcp
}
