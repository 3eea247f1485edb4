package raftstore

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// observed counts what the metrics would show.
type observed struct {
	proposed, commands, synced, committed, materialised atomic.Int64
}

func (o *observed) Proposed(commands, _ int) {
	o.proposed.Add(1)
	o.commands.Add(int64(commands))
}
func (o *observed) Synced(int, time.Duration)           { o.synced.Add(1) }
func (o *observed) Committed(time.Duration)             { o.committed.Add(1) }
func (o *observed) Materialised(n int, _ time.Duration) { o.materialised.Add(int64(n)) }

// TestSnapshotsUnderLoad commits while snapshots are taken, the log is truncated and the copy is written behind, until
// each of them has happened several times.
func TestSnapshotsUnderLoad(t *testing.T) {
	logStores(t, func(t *testing.T, kind string) {
		cfg := hurried(t, kind)
		cfg.SnapshotThreshold = 50
		seen := &observed{}
		cfg.Observer = seen
		s, m := open(t, cfg)
		var snapshots, copies sync.Map
		count := func(m *sync.Map) (n int) {
			m.Range(func(any, any) bool { n++; return true })
			return n
		}
		var wg sync.WaitGroup
		total := atomic.Int64{}
		deadline := time.Now().Add(patience)
		for i := range 8 {
			wg.Go(func() {
				for n := 0; ; n++ {
					if o := m.do(t, s, fmt.Sprintf("k%d-%d=%s", i, n%50, strings.Repeat("v", 100))); o.err != nil {
						t.Error(o.err)
						return
					}
					total.Add(1)
					st := s.Status()
					snapshots.Store(st.Snapshot, true)
					copies.Store(st.Materialised, true)
					if count(&snapshots) > 5 && count(&copies) > 10 || time.Now().After(deadline) {
						return
					}
				}
			})
		}
		wg.Wait()
		require.Greater(t, count(&snapshots), 5)
		require.Greater(t, count(&copies), 10)
		first, err := s.files.log.FirstIndex()
		require.NoError(t, err)
		require.Greater(t, first, uint64(1), "the log was truncated")
		require.Equal(t, uint64(total.Load()), m.count())
		require.Equal(t, total.Load(), seen.commands.Load())
		require.Equal(t, seen.proposed.Load(), seen.committed.Load())
		require.NotZero(t, seen.synced.Load())
		require.NotZero(t, seen.materialised.Load())
		want := m.state()
		shut(t, s, m)
		_, m = open(t, cfg)
		require.Equal(t, want, m.state())
	})
}

// TestSnapshotByBytes: large entries force a snapshot long before their number does, and fewer of them are kept behind it.
func TestSnapshotByBytes(t *testing.T) {
	cfg := testConfig(t, t.TempDir())
	cfg.SnapshotBytes, cfg.TrailingLogs = 1<<20, 1000
	s, m := open(t, cfg)
	require.Eventually(t, func() bool {
		m.mustDo(t, s, "k="+strings.Repeat("v", 100_000))
		first, err := s.files.log.FirstIndex()
		require.NoError(t, err)
		return s.Status().Snapshot > 0 && first > 1
	}, patience, time.Millisecond)
	first, _ := s.files.log.FirstIndex()
	last, _ := s.files.log.LastIndex()
	require.Less(t, last-first, uint64(100))
}

// TestNothingChangedWritesNothing: an idle daemon leaves the disk alone.
func TestNothingChangedWritesNothing(t *testing.T) {
	cfg := testConfig(t, t.TempDir())
	seen := &observed{}
	cfg.Observer = seen
	s, m := open(t, cfg)
	m.mustDo(t, s, "k=1")
	s.fsm.collect()
	require.Eventually(t, func() bool { return !s.materials.busy() }, patience, time.Millisecond)
	written := seen.materialised.Load()
	require.Equal(t, int64(2), written, "the value and the chain")
	for range 3 {
		s.fsm.collect()
	}
	require.Eventually(t, func() bool { return !s.materials.busy() }, patience, time.Millisecond)
	require.Equal(t, written, seen.materialised.Load())
	require.Equal(t, m.index, s.Status().Materialised)
}

// TestKilledOftenStillTruncates: a process that never lives long enough for a snapshot of its own takes one at the start.
func TestKilledOftenStillTruncates(t *testing.T) {
	cfg := testConfig(t, t.TempDir())
	cfg.SnapshotThreshold, cfg.TrailingLogs = 20, 5
	for range 3 {
		s, m := open(t, cfg)
		for range 15 {
			m.mustDo(t, s, "k=v")
		}
		shut(t, s, m)
	}
	s, _ := open(t, cfg)
	require.Eventually(t, func() bool {
		first, err := s.files.log.FirstIndex()
		require.NoError(t, err)
		return s.Status().Snapshot > 20 && first > 20
	}, patience, time.Millisecond)
}
