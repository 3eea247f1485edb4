package main

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// logQueueBytes bounds the lines that wait for whoever reads the log: some thousands of them.
	logQueueBytes = 1 << 20
	// logFlushTimeout bounds how long the daemon's end waits for a reader that stands still.
	logFlushTimeout = time.Second
)

// logQueue stands between the logger and standard error: a reader of the log that stands still must not stop the groups, for
// whose goroutine a line is an ordinary write. Lines that do not fit are dropped and counted, and a line says so once there
// is room. It implements zapcore.WriteSyncer.
type logQueue struct {
	w    io.Writer
	tell func(dropped uint64) []byte // makes the line about dropped ones

	dropped atomic.Uint64 // since the start; changed under mu

	mu      sync.Mutex
	changed sync.Cond       // waiting, dropped or closed
	waiting []byte          // whole lines
	told    uint64          // of dropped
	flushed []chan struct{} // closed once everything that waits has been written
	closed  bool
}

// newLogQueue starts the goroutine that writes to w; close ends it.
func newLogQueue(w io.Writer, tell func(dropped uint64) []byte) *logQueue {
	q := &logQueue{w: w, tell: tell}
	q.changed.L = &q.mu
	go q.run()
	return q
}

// Write takes one line, copies it and returns at once. It never fails.
func (q *logQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting)+len(line) > logQueueBytes {
		q.dropped.Add(1)
	} else {
		q.waiting = append(q.waiting, line...)
	}
	q.changed.Signal()
	return len(line), nil
}

// Sync waits until what was taken so far is written, for at most logFlushTimeout.
func (q *logQueue) Sync() error {
	done := make(chan struct{})
	q.mu.Lock()
	q.flushed = append(q.flushed, done)
	q.changed.Signal()
	q.mu.Unlock()
	timer := time.NewTimer(logFlushTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	return nil
}

// close is Sync, and the goroutine's end.
func (q *logQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	_ = q.Sync()
}

func (q *logQueue) run() {
	var spare []byte
	for {
		batch, flushed, closed := q.take(spare)
		if len(batch) > 0 {
			_, _ = q.w.Write(batch) // there is nowhere to tell of a log that cannot be written
		}
		for _, done := range flushed {
			close(done)
		}
		if closed {
			return
		}
		spare = batch[:0]
	}
}

// take waits for something to do; spare becomes the buffer of what comes meanwhile.
func (q *logQueue) take(spare []byte) (batch []byte, flushed []chan struct{}, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && len(q.flushed) == 0 && q.told == q.dropped.Load() {
		q.changed.Wait()
	}
	batch, q.waiting = q.waiting, spare
	if n := q.dropped.Load(); n > q.told {
		batch = append(batch, q.tell(n-q.told)...)
		q.told = n
	}
	flushed, q.flushed = q.flushed, nil
	return batch, flushed, q.closed && len(flushed) > 0
}
