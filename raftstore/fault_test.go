package raftstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// faultyLog is a disk that stands still or fails on demand.
type faultyLog struct {
	closableLog
	mu      sync.Mutex
	changed *sync.Cond
	held    bool
	fail    error
	waiting int
}

func newFaultyLog() *faultyLog {
	f := &faultyLog{}
	f.changed = sync.NewCond(&f.mu)
	return f
}

func (f *faultyLog) wrap(l closableLog) closableLog {
	f.closableLog = l
	return f
}

func (f *faultyLog) StoreLog(l *raft.Log) error { return f.StoreLogs([]*raft.Log{l}) }

func (f *faultyLog) StoreLogs(logs []*raft.Log) error {
	f.mu.Lock()
	f.waiting++
	f.changed.Broadcast()
	for f.held {
		f.changed.Wait()
	}
	f.waiting--
	err := f.fail
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.closableLog.StoreLogs(logs)
}

func (f *faultyLog) set(held bool, fail error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held, f.fail = held, fail
	f.changed.Broadcast()
}

// awaitWrite waits until an append stands still.
func (f *faultyLog) awaitWrite() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.waiting == 0 {
		f.changed.Wait()
	}
}

// TestQueueIsBounded fills the queue of a disk that stands still.
func TestQueueIsBounded(t *testing.T) {
	disk := newFaultyLog()
	cfg := testConfig(t, t.TempDir())
	cfg.QueueBytes, cfg.wrapLog, cfg.ProposeTimeout = 10_000, disk.wrap, time.Hour
	s, m := open(t, cfg)
	t.Cleanup(func() { disk.set(false, nil) })
	disk.set(true, nil)
	var done sync.WaitGroup
	var got sync.Map
	accepted := 0
	propose := func() error {
		done.Add(1)
		cmd := fmt.Sprintf("k%d=%01000d", accepted, 0)
		err := m.propose(s, cmd, func(o outcome) {
			got.Store(cmd, o)
			done.Done()
		})
		if err != nil {
			done.Done()
			return err
		}
		accepted++
		return nil
	}
	require.NoError(t, propose())
	disk.awaitWrite()
	var err error
	for err == nil {
		err = propose()
	}
	require.ErrorIs(t, err, ErrBusy)
	require.LessOrEqual(t, s.Status().QueuedBytes, cfg.QueueBytes)
	require.Greater(t, s.Status().QueuedBytes, cfg.QueueBytes-1100)
	require.LessOrEqual(t, accepted, int(s.Status().Commands)+10)
	disk.set(false, nil)
	done.Wait()
	require.Zero(t, s.Status().QueuedBytes)
	require.Equal(t, uint64(accepted), m.count(), "everything that was accepted is there, and nothing else")
	require.NoError(t, propose())
	done.Wait()
}

// TestStalledDisk: nothing hangs. What was under way is unknown, what never left failed for sure, and the truth comes out
// when the disk answers again.
func TestStalledDisk(t *testing.T) {
	disk := newFaultyLog()
	cfg := testConfig(t, t.TempDir())
	cfg.wrapLog, cfg.ProposeTimeout, cfg.StallTimeout = disk.wrap, 2*time.Second, 100*time.Millisecond
	s, m := open(t, cfg)
	m.mustDo(t, s, "before=1")
	t.Cleanup(func() { disk.set(false, nil) })
	disk.set(true, nil)
	results := make(chan outcome, 100)
	require.NoError(t, m.propose(s, "first=1", func(o outcome) { results <- o }))
	disk.awaitWrite()
	const more = 20
	for i := range more {
		require.NoError(t, m.propose(s, fmt.Sprintf("later%d=1", i), func(o outcome) { results <- o }))
	}
	unknown, certain := 0, 0
	for range more + 1 {
		select {
		case o := <-results:
			require.ErrorIs(t, o.err, ErrTimeout)
			if o.unknown {
				unknown++
			} else {
				certain++
			}
		case <-time.After(patience):
			t.Fatal("a command hangs")
		}
	}
	require.GreaterOrEqual(t, unknown, 1)
	disk.set(false, nil)
	m.mustDo(t, s, "after=1")
	state := m.state()
	require.Contains(t, state, "first")
	require.LessOrEqual(t, m.count(), uint64(2+unknown), "what failed for sure was not committed")
	require.Empty(t, results)
	require.Equal(t, uint64(2+more+1), uint64(2+unknown+certain))
}

// TestStalledThenBroken: a command is given up once, also when the disk that it waited for breaks afterwards.
func TestStalledThenBroken(t *testing.T) {
	disk := newFaultyLog()
	cfg := testConfig(t, t.TempDir())
	cfg.wrapLog, cfg.ProposeTimeout, cfg.Fatal = disk.wrap, 50*time.Millisecond, func(error) {}
	m := newModel()
	s, err := Open(cfg, m)
	require.NoError(t, err)
	m.awaitLead(t)
	disk.set(true, nil)
	o := m.do(t, s, "a=1")
	require.ErrorIs(t, o.err, ErrTimeout)
	require.True(t, o.unknown)
	disk.set(false, errors.New("input/output error"))
	m.await(t, "resignation", func() bool { return m.leading == 0 })
	require.NoError(t, s.Close(context.Background()))
	require.Empty(t, m.complaints())
}

// TestFailedWriteIsFatal: the hook is called once, nothing is acknowledged any more, and what was is there afterwards.
func TestFailedWriteIsFatal(t *testing.T) {
	disk := newFaultyLog()
	cfg := testConfig(t, t.TempDir())
	fatal := make(chan error, 10)
	cfg.wrapLog = disk.wrap
	cfg.Fatal = func(err error) { fatal <- err }
	m := newModel()
	s, err := Open(cfg, m)
	require.NoError(t, err)
	m.awaitLead(t)
	m.mustDo(t, s, "kept=1")
	broken := errors.New("input/output error")
	disk.set(false, broken)
	o := m.do(t, s, "lost=1")
	require.Error(t, o.err)
	require.True(t, o.unknown)
	require.ErrorIs(t, <-fatal, broken)
	disk.set(false, nil) // a disk that pretends to be well again is not believed
	m.await(t, "resignation", func() bool { return m.leading == 0 })
	require.ErrorIs(t, m.propose(s, "later=1", nil), ErrNotLeader)
	require.ErrorIs(t, s.files.log.StoreLogs(entries(1, 1, 1)), errPoisoned)
	require.ErrorIs(t, s.files.log.DeleteRange(1, 1), errPoisoned)
	require.ErrorIs(t, s.files.stable.Set([]byte("k"), nil), errPoisoned)
	require.NoError(t, s.Close(context.Background()))
	require.Empty(t, fatal, "the hook is called once")
	require.Empty(t, m.complaints())

	cfg.wrapLog = nil
	_, m = open(t, cfg)
	require.Contains(t, m.state(), "kept")
	require.NotContains(t, m.state(), "later")
}

// TestDirectoryRemovedWhileRunning: what goes into files without a name is lost with the process, so nothing more is
// acknowledged.
func TestDirectoryRemovedWhileRunning(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		cfg := testConfig(t, t.TempDir())
		cfg.WriteBehind = 5 * time.Millisecond
		fatal := make(chan error, 10)
		cfg.Fatal = func(err error) { fatal <- err }
		m := newModel()
		s, err := Open(cfg, m)
		require.NoError(t, err)
		m.awaitLead(t)
		m.mustDo(t, s, "kept=1")
		shard := shardDir(cfg.Dir, cfg.Shard)
		require.NoError(t, os.RemoveAll(shard))
		if replaced {
			require.NoError(t, os.MkdirAll(shard, 0o750))
			require.NoError(t, os.WriteFile(filepath.Join(shard, "state.db"), nil, 0o600))
		}
		m.do(t, s, "lost=1") // makes something to write; whether it is in time does not matter
		require.ErrorContains(t, <-fatal, "state.db")
		require.Error(t, m.do(t, s, "later=1").err)
		require.NoError(t, s.Close(context.Background()))
	}
}

// TestCloseWaitsForWhatIsUnderWay: an orderly end answers everything that was accepted.
func TestCloseWaitsForWhatIsUnderWay(t *testing.T) {
	disk := newFaultyLog()
	cfg := testConfig(t, t.TempDir())
	cfg.wrapLog = disk.wrap
	s, m := open(t, cfg)
	t.Cleanup(func() { disk.set(false, nil) })
	disk.set(true, nil)
	results := make(chan outcome, 50)
	for i := range 50 {
		require.NoError(t, m.propose(s, fmt.Sprintf("k%d=1", i), func(o outcome) { results <- o }))
	}
	disk.awaitWrite()
	closed := make(chan error, 1)
	go func() { closed <- s.Close(context.Background()) }()
	require.Eventually(t, func() bool {
		s.proposer.mu.Lock()
		defer s.proposer.mu.Unlock()
		return s.proposer.closed
	}, patience, time.Millisecond)
	require.ErrorIs(t, m.propose(s, "x=1", nil), ErrClosed)
	disk.set(false, nil)
	require.NoError(t, <-closed)
	require.Len(t, results, 50)
	for range 50 {
		require.NoError(t, (<-results).err)
	}
	_, m = open(t, cfg)
	require.Equal(t, uint64(50), m.count())
	require.Equal(t, uint64(1), uint64(len(m.loads)))
	require.Equal(t, m.index, m.loads[0], "the copy was written when the store was closed")
}

// TestCloseGivesUpOnADeadDisk: the end of the process is not held up for ever.
func TestCloseGivesUpOnADeadDisk(t *testing.T) {
	disk := newFaultyLog()
	cfg := testConfig(t, t.TempDir())
	cfg.wrapLog = disk.wrap
	m := newModel()
	s, err := Open(cfg, m)
	require.NoError(t, err)
	m.awaitLead(t)
	disk.set(true, nil)
	require.NoError(t, m.propose(s, "a=1", func(outcome) {}))
	disk.awaitWrite()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, s.Close(ctx), context.Canceled)
	disk.set(false, nil)
	// The rest of the end, which a process would not wait for: no goroutine may be left to the other tests.
	require.NoError(t, s.raft.Shutdown().Error())
	s.halt(true)
	s.materials.close()
	require.NoError(t, s.closeFiles())
}

func TestConfirm(t *testing.T) {
	s, m := open(t, testConfig(t, t.TempDir()))
	m.mustDo(t, s, "a=1")
	called := false
	s.Confirm(func(err error) {
		require.NoError(t, err)
		called = true
	})
	require.True(t, called, "a lone voter answers at once")
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err     error
		unknown bool
		is      error
	}{
		{raft.ErrNotLeader, false, ErrNotLeader},
		{raft.ErrLeadershipTransferInProgress, false, ErrNotLeader},
		{raft.ErrEnqueueTimeout, false, ErrTimeout},
		{raft.ErrLeadershipLost, true, ErrNotLeader},
		{raft.ErrRaftShutdown, true, ErrClosed},
		{raft.ErrAbortedByRestore, true, raft.ErrAbortedByRestore},
	} {
		unknown, err := classify(c.err)
		require.Equal(t, c.unknown, unknown, c.err)
		require.ErrorIs(t, err, c.is)
	}
}
