package raftstore

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"
)

// closableLog is what a kind of log store offers.
type closableLog interface {
	raft.LogStore
	raft.MonotonicLogStore
	Close() error
}

// errPoisoned answers every write after one failed: what a failed sync left on the disk is unknown, and a retry that
// succeeds proves nothing.
var errPoisoned = errors.New("raftstore: the disk has failed before")

// poison is set once by the first failed write of any file of the shard.
type poison struct {
	failed atomic.Bool
	once   sync.Once
	fatal  func(error)
}

// fail ends the process (once) and returns the error that the caller must pass on should the process go on.
func (p *poison) fail(err error) error {
	p.failed.Store(true)
	p.once.Do(func() { p.fatal(err) })
	return err
}

// guardedLog wraps the log store: a failed write is fatal, writes are timed, and one that hangs can be seen.
type guardedLog struct {
	closableLog
	poison   *poison
	observer Observer
	dir      string

	began   atomic.Int64  // Unix nanoseconds when the running append began, 0 when none runs
	bytes   atomic.Uint64 // appended since Open
	entries atomic.Uint64 // appended since Open
}

func (g *guardedLog) StoreLog(l *raft.Log) error { return g.StoreLogs([]*raft.Log{l}) }

func (g *guardedLog) StoreLogs(logs []*raft.Log) error {
	if g.poison.failed.Load() {
		return errPoisoned
	}
	start := time.Now()
	g.began.Store(start.UnixNano())
	err := g.closableLog.StoreLogs(logs)
	g.began.Store(0)
	if err != nil {
		return g.poison.fail(fmt.Errorf("raftstore: the log cannot be written (%s): %w", freeSpace(g.dir), err))
	}
	size := 0
	for _, l := range logs {
		size += len(l.Data) + len(l.Extensions)
	}
	g.bytes.Add(uint64(size))
	g.entries.Add(uint64(len(logs)))
	if g.observer != nil {
		g.observer.Synced(len(logs), time.Since(start))
	}
	return nil
}

func (g *guardedLog) DeleteRange(lo, hi uint64) error {
	if g.poison.failed.Load() {
		return errPoisoned
	}
	if err := g.closableLog.DeleteRange(lo, hi); err != nil {
		return g.poison.fail(fmt.Errorf("raftstore: the log cannot be truncated: %w", err))
	}
	crashpoint("log-truncated")
	return nil
}

// stalled tells for how long the running append has been on its way.
func (g *guardedLog) stalled(now time.Time) time.Duration {
	began := g.began.Load()
	if began == 0 {
		return 0
	}
	return max(0, time.Duration(now.UnixNano()-began))
}

// freeSpace says how much room a directory's file system has: a full disk is the usual reason, and not every library says so.
func freeSpace(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "free space unknown"
	}
	return fmt.Sprintf("%d MiB are free in %s", st.Bavail*uint64(st.Bsize)>>20, dir)
}
