package raftstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// counter is the cheapest Handler there is: it answers refs and keeps no state.
type counter struct {
	mu      sync.Mutex
	index   uint64
	waiting []chan outcome // by ref-1
	led     chan struct{}
}

func (c *counter) Apply(b Batch) {
	c.mu.Lock()
	c.index = b.Index
	c.mu.Unlock()
	for _, r := range b.Refs {
		c.waiting[r-1] <- outcome{index: b.Index}
	}
}

func (c *counter) Failed(refs []Ref, err error, unknown bool) {
	for _, r := range refs {
		c.waiting[r-1] <- outcome{err: err, unknown: unknown}
	}
}

func (c *counter) Collect() (uint64, []Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.index, nil
}

func (c *counter) Load(_ uint64, next func() ([]byte, []byte, bool, error)) error {
	for {
		if _, _, ok, err := next(); err != nil || !ok {
			return err
		}
	}
}

func (c *counter) Lead(uint64)   { close(c.led) }
func (c *counter) Resign(uint64) {}

// BenchmarkPropose measures closed-loop callers that each wait for their 200-byte command to be on disk and applied.
func BenchmarkPropose(b *testing.B) {
	for _, kind := range []string{LogStoreBBolt, LogStoreWAL} {
		for _, callers := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("%s/callers=%d", kind, callers), func(b *testing.B) { benchmarkPropose(b, kind, callers) })
		}
	}
}

func benchmarkPropose(b *testing.B, kind string, callers int) {
	c := &counter{led: make(chan struct{})}
	for range callers {
		c.waiting = append(c.waiting, make(chan outcome, 1))
	}
	s, err := Open(Config{NodeID: 1, Dir: b.TempDir(), LogStore: kind, Logger: zap.NewNop()}, c)
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close(context.Background())) }()
	<-c.led
	cmd := make([]byte, 200)
	taken := make([][]time.Duration, callers)
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range callers {
		n := b.N / callers
		if i < b.N%callers {
			n++
		}
		wg.Go(func() {
			for range n {
				start := time.Now()
				if err := s.Propose(Ref(i+1), cmd); err != nil {
					b.Error(err)
					return
				}
				if o := <-c.waiting[i]; o.err != nil {
					b.Error(o.err)
					return
				}
				taken[i] = append(taken[i], time.Since(start))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := slices.Concat(taken...)
	slices.Sort(all)
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "commands/s")
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-us")
	st := s.Status()
	b.ReportMetric(float64(st.Commands)/float64(max(1, st.Batches)), "commands/batch")
}

// BenchmarkOpen measures a restart until the owner is told to lead, with a state of 10,000 values of 3.4 KB (a million
// offsets) and a log of several thousand entries.
func BenchmarkOpen(b *testing.B) {
	for _, kind := range []string{LogStoreBBolt, LogStoreWAL} {
		b.Run(kind, func(b *testing.B) {
			cfg := Config{NodeID: 1, Dir: b.TempDir(), LogStore: kind, QueueBytes: 64 << 20, TrailingLogs: 20_000}
			m := newModel()
			s, err := Open(cfg, m)
			require.NoError(b, err)
			m.awaitLead(b)
			value := make([]byte, 3400)
			var wg sync.WaitGroup
			for worker := range 8 {
				wg.Go(func() {
					for i := range 1250 {
						m.mustDo(b, s, fmt.Sprintf("group-%d-%d=%s", worker, i, value))
					}
				})
			}
			wg.Wait()
			require.NoError(b, s.Close(context.Background()))
			for b.Loop() {
				m := newModel()
				s, err := Open(cfg, m)
				require.NoError(b, err)
				m.awaitLead(b)
				b.StopTimer()
				require.Len(b, m.state(), 10_001)
				require.NoError(b, s.Close(context.Background()))
				b.StartTimer()
			}
		})
	}
}

// BenchmarkProposeWithSnapshots is the latency of commits while the log is truncated and snapshots of a large state are
// written all the time; max-us is what nobody should wait longer than.
func BenchmarkProposeWithSnapshots(b *testing.B) {
	for _, kind := range []string{LogStoreBBolt, LogStoreWAL} {
		b.Run(kind, func(b *testing.B) {
			const callers = 16
			m := newModel()
			s, err := Open(Config{
				NodeID: 1, Dir: b.TempDir(), LogStore: kind, SnapshotInterval: 50 * time.Millisecond, SnapshotThreshold: 1000,
				TrailingLogs: 1, WriteBehind: 100 * time.Millisecond,
			}, m)
			require.NoError(b, err)
			defer func() { require.NoError(b, s.Close(context.Background())) }()
			m.awaitLead(b)
			value := make([]byte, 1000)
			taken := make([][]time.Duration, callers)
			b.ResetTimer()
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() {
					for n := range max(1, b.N/callers) {
						start := time.Now()
						m.mustDo(b, s, fmt.Sprintf("%d-%d=%s", i, n%1000, value))
						taken[i] = append(taken[i], time.Since(start))
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			all := slices.Concat(taken...)
			slices.Sort(all)
			b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "commands/s")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-us")
			b.ReportMetric(float64(all[len(all)-1].Microseconds()), "max-us")
		})
	}
}

// BenchmarkDisk is what the disk itself takes for an append of 4 KiB and one fdatasync: a commit on bbolt costs two.
func BenchmarkDisk(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	require.NoError(b, err)
	defer f.Close()
	page := make([]byte, 4096)
	var taken []time.Duration
	for b.Loop() {
		start := time.Now()
		_, err := f.Write(page)
		require.NoError(b, err)
		require.NoError(b, unix.Fdatasync(int(f.Fd())))
		taken = append(taken, time.Since(start))
	}
	slices.Sort(taken)
	b.ReportMetric(float64(taken[len(taken)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(taken[len(taken)*99/100].Microseconds()), "p99-us")
}
