package raftstore

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// hurried makes snapshots, truncations and write-behind as frequent as they can be.
func hurried(t *testing.T, kind string) Config {
	cfg := testConfig(t, t.TempDir())
	cfg.LogStore = kind
	cfg.SnapshotInterval, cfg.SnapshotThreshold, cfg.TrailingLogs = 10*time.Millisecond, 20, 5
	cfg.WriteBehind = 3 * time.Millisecond
	return cfg
}

// TestCrashBetweenSteps kills a process between every two steps, several times at each, and each time nothing that was
// acknowledged may be missing.
func TestCrashBetweenSteps(t *testing.T) {
	for _, point := range []string{
		"directory-created", "meta-written", "meta-renamed", "shard-created", "bolt-created", "term-written",
		"state-before-commit", "state-committed", "snapshot-begun", "snapshot-streamed", "snapshot-persisted",
		"log-truncating", "log-truncated",
	} {
		t.Run(point, func(t *testing.T) {
			cfg := hurried(t, LogStoreBBolt)
			if point == "directory-created" {
				cfg.Dir = filepath.Join(cfg.Dir, "a", "b")
			}
			if point == "log-truncating" {
				cfg.SnapshotThreshold = 3 * truncateEntries
			}
			acked := map[int]int{}
			hits := []int64{1, 2, 5}
			if point == "meta-written" || point == "meta-renamed" || point == "directory-created" || point == "shard-created" || point == "term-written" {
				hits = []int64{1}
			}
			if point == "bolt-created" {
				hits = []int64{1, 1, 1} // one file more each time
			}
			for _, hit := range hits {
				c := startChild(t, childSpec{Config: cfg, Point: point, Hit: hit})
				c.read(unlimited)
				err := c.cmd.Wait()
				require.Error(t, err, "the point was not reached")
				require.Equal(t, syscall.SIGKILL, c.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(), c.stderr.String())
				for i, n := range c.acked {
					require.Greater(t, n, acked[i], "caller %d went back", i)
					acked[i] = n
				}
			}
			checkAcked(t, cfg, acked)
		})
	}
}

// TestKill kills a process at random moments under load.
func TestKill(t *testing.T) {
	logStores(t, func(t *testing.T, kind string) {
		cfg := hurried(t, kind)
		rounds := 10
		if testing.Short() {
			rounds = 3
		}
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		rnd := rand.New(rand.NewPCG(seed, 1))
		acked := map[int]int{}
		for range rounds {
			c := startChild(t, childSpec{Config: cfg, Size: rnd.IntN(2000)})
			c.read(1 + rnd.IntN(500))
			c.kill(t)
			require.NotZero(t, c.total, c.stderr.String())
			for i, n := range c.acked {
				require.Greater(t, n, acked[i], "caller %d went back", i)
				acked[i] = n
			}
		}
		checkAcked(t, cfg, acked)
	})
}

// TestCopyAndTailEqualReplay compares the state that a restart loads with one that replays the log from its first entry.
func TestCopyAndTailEqualReplay(t *testing.T) {
	logStores(t, func(t *testing.T, kind string) {
		cfg := hurried(t, kind)
		cfg.TrailingLogs = 1 << 40 // keep everything
		for _, point := range []string{"", "state-committed", "snapshot-streamed", "snapshot-persisted"} {
			c := startChild(t, childSpec{Config: cfg, Point: point, Hit: 3})
			if point == "" {
				c.read(300)
				c.kill(t)
			} else {
				c.read(unlimited)
			}
			require.NotZero(t, c.total, c.stderr.String())
			_, m := openAndClose(t, cfg)
			require.Equal(t, replay(t, cfg), m.state())
			require.Positive(t, m.loads[0], "nothing was loaded, everything was replayed")
		}
	})
}

func openAndClose(t *testing.T, cfg Config) (*Store, *model) {
	s, m := open(t, cfg)
	shut(t, s, m)
	return s, m
}

// replay applies the whole log to an empty model, without the store.
func replay(t *testing.T, cfg Config) map[string][]byte {
	t.Helper()
	m := newModel()
	dir := shardDir(cfg.Dir, cfg.Shard)
	var log closableLog
	var err error
	if cfg.LogStore == LogStoreWAL {
		log, err = openWALLog(filepath.Join(dir, "wal"), newHCLog(cfg.Logger, cfg.lone()))
	} else {
		log, err = openBoltLog(filepath.Join(dir, "log.db"))
	}
	require.NoError(t, err)
	defer log.Close()
	last, err := log.LastIndex()
	require.NoError(t, err)
	for i := uint64(1); i <= last; i++ {
		var l raft.Log
		require.NoError(t, log.GetLog(i, &l), fmt.Sprint(i))
		if l.Type != raft.LogCommand {
			continue
		}
		e, err := decodeEnvelope(l.Data)
		require.NoError(t, err)
		for _, c := range e.Commands {
			m.apply(c)
		}
	}
	return m.values
}
