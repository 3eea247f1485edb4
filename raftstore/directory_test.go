package raftstore

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDirectoryRefuses(t *testing.T) {
	cfg := testConfig(t, filepath.Join(t.TempDir(), "data"))
	cfg.ClusterID = "kafka-a"
	s, m := open(t, cfg)

	_, err := Open(cfg, newModel())
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorContains(t, err, cfg.Dir)
	shut(t, s, m)

	for name, c := range map[string]struct {
		change func(c *Config)
		is     error
		says   string
	}{
		"another node":      {func(c *Config) { c.NodeID = 2 }, ErrOtherNode, "of node 1, and this is node 2"},
		"another cluster":   {func(c *Config) { c.ClusterID = "kafka-b" }, ErrOtherCluster, `"kafka-a", and the brokers are of "kafka-b"`},
		"another log store": {func(c *Config) { c.LogStore = LogStoreWAL }, ErrOtherLogStore, "bbolt, and wal is asked for"},
		"other voters": {func(c *Config) {
			c.Listen = "127.0.0.1:0"
			c.Peers = []Peer{{1, "127.0.0.1:1"}, {2, "127.0.0.1:2"}, {3, "127.0.0.1:3"}}
		}, ErrOtherVoters, "voters [1], and [1 2 3]"},
	} {
		t.Run(name, func(t *testing.T) {
			other := cfg
			c.change(&other)
			_, err := Open(other, newModel())
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "\n", "one sentence")
		})
	}

	newer := []byte(`{"format":2,"node_id":1,"log_store":"bbolt","a_later":"field"}`)
	require.NoError(t, os.WriteFile(filepath.Join(cfg.Dir, metaFile), newer, 0o640))
	_, err = Open(cfg, newModel())
	require.ErrorIs(t, err, ErrNewerFormat)
	require.ErrorContains(t, err, "has format 2, and this program knows up to 1")
	b, err := os.ReadFile(filepath.Join(cfg.Dir, metaFile))
	require.NoError(t, err)
	require.Equal(t, newer, b, "nothing was changed")
}

func TestDirectoryRecordsCluster(t *testing.T) {
	cfg := testConfig(t, t.TempDir())
	s, m := open(t, cfg)
	require.Equal(t, Identity{Format: 1, NodeID: 1, LogStore: "bbolt", LogMade: true}, s.Identity())
	require.Error(t, s.SetClusterID(""))
	require.NoError(t, s.SetClusterID("kafka-a"))
	require.NoError(t, s.SetClusterID("kafka-a"))
	require.ErrorIs(t, s.SetClusterID("kafka-b"), ErrOtherCluster)
	require.Equal(t, "kafka-a", s.Identity().ClusterID)
	shut(t, s, m)
	cfg.ClusterID = "kafka-b"
	_, err := Open(cfg, newModel())
	require.ErrorIs(t, err, ErrOtherCluster)
	cfg.ClusterID = "" // Kafka is down: the directory is good enough
	s, _ = open(t, cfg)
	require.Equal(t, "kafka-a", s.Identity().ClusterID)
}

// TestDirectoryWithoutItsLog: a directory that has been in use never starts empty.
func TestDirectoryWithoutItsLog(t *testing.T) {
	logStores(t, func(t *testing.T, kind string) {
		log := map[string]string{LogStoreBBolt: "log.db", LogStoreWAL: "wal"}[kind]
		for _, lost := range []string{"..", ".", log, "stable.db"} {
			cfg := testConfig(t, t.TempDir())
			cfg.LogStore = kind
			s, m := open(t, cfg)
			m.mustDo(t, s, "a=1")
			shut(t, s, m)
			path := filepath.Join(shardDir(cfg.Dir, 0), lost)
			require.NoError(t, os.Rename(path, cfg.Dir+".aside"))
			_, err := Open(cfg, newModel())
			require.ErrorIs(t, err, ErrDamaged)
			require.ErrorContains(t, err, "missing")
			require.NotContains(t, err.Error(), "\n", "one sentence")
			require.NoFileExists(t, path, "nothing was changed")
			require.NoDirExists(t, path, "nothing was changed")

			require.NoError(t, os.Rename(cfg.Dir+".aside", path))
			s, m = open(t, cfg)
			require.Contains(t, m.state(), "a")
			shut(t, s, m)
		}
	})
}

// unmark makes the file "meta" one of before the mark.
func unmark(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, metaFile), []byte(`{"format":1,"node_id":1,"log_store":"bbolt"}`), 0o640))
}

// TestDirectoryFromBeforeTheMark: a directory of the release before gets the mark, and one that a crash left without a log
// is finished.
func TestDirectoryFromBeforeTheMark(t *testing.T) {
	cfg := testConfig(t, t.TempDir())
	unmark(t, cfg.Dir)
	s, m := open(t, cfg)
	m.mustDo(t, s, "a=1")
	shut(t, s, m)
	unmark(t, cfg.Dir)
	s, m = open(t, cfg)
	require.Contains(t, m.state(), "a")
	shut(t, s, m)
	id, err := readIdentity(cfg.Dir)
	require.NoError(t, err)
	require.True(t, id.LogMade)
}

func TestDirectoryThatIsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, nil, 0o640))
	_, err := Open(testConfig(t, path), newModel())
	require.ErrorContains(t, err, "is not a directory")
}

func TestConfigRefuses(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"node id":     func(c *Config) { c.NodeID = 0 },
		"directory":   func(c *Config) { c.Dir = "" },
		"log store":   func(c *Config) { c.LogStore = "memory" },
		"not a voter": func(c *Config) { c.Peers = []Peer{{2, "a:1"}} },
		"twice":       func(c *Config) { c.Peers, c.Listen = []Peer{{1, "a:1"}, {1, "a:2"}}, "a:1" },
		"one address": func(c *Config) { c.Peers, c.Listen = []Peer{{1, "a:1"}, {2, "a:1"}}, "a:1" },
		"no port":     func(c *Config) { c.Peers, c.Listen = []Peer{{1, "a"}, {2, "b:1"}}, "a:1" },
		"id 0":        func(c *Config) { c.Peers, c.Listen = []Peer{{1, "a:1"}, {0, "b:1"}}, "a:1" },
		"no listener": func(c *Config) { c.Peers = []Peer{{1, "a:1"}, {2, "b:1"}} },
		"queue":       func(c *Config) { c.QueueBytes = -1 },
		"duration":    func(c *Config) { c.WriteBehind = -time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t, t.TempDir())
			change(&cfg)
			_, err := Open(cfg, newModel())
			require.ErrorContains(t, err, "raftstore: ")
		})
	}
}

func TestReader(t *testing.T) {
	logStores(t, func(t *testing.T, kind string) {
		cfg := testConfig(t, t.TempDir())
		cfg.LogStore = kind
		_, err := OpenReader(filepath.Join(cfg.Dir, "nothing"))
		require.ErrorIs(t, err, ErrNoDataDirectory)

		s, m := open(t, cfg)
		_, err = OpenReader(cfg.Dir)
		require.ErrorIs(t, err, ErrInUse)
		_, err = OpenReader(cfg.Dir, ReadInUse())
		require.ErrorIs(t, err, ErrInUse, "there is no snapshot yet")

		m.mustDo(t, s, "a=1")
		require.NoError(t, s.raft.Snapshot().Error())
		snapshot := m.index
		atSnapshot := m.state()
		m.mustDo(t, s, "b=2")
		s.fsm.collect()
		s.materials.close()
		atCopy, copied := m.state(), m.index
		m.mustDo(t, s, "c=3")

		r, err := OpenReader(cfg.Dir, ReadInUse())
		require.NoError(t, err)
		require.Equal(t, snapshot, r.Index())
		require.Equal(t, atSnapshot, readAll(t, r))
		require.ErrorIs(t, r.Entries(func(LogEntry) error { return nil }), ErrInUse)
		require.NoError(t, r.Close())

		s.poison.failed.Store(true) // no write when it closes
		require.NoError(t, s.Close(context.Background()))
		r, err = OpenReader(cfg.Dir)
		require.NoError(t, err)
		defer r.Close()
		require.Equal(t, copied, r.Index())
		require.Equal(t, s.Status().Term, r.Term())
		require.Equal(t, "state.db", r.Source())
		require.Empty(t, r.Faults())
		require.Equal(t, uint64(1), r.Identity().NodeID)
		require.Equal(t, atCopy, readAll(t, r))
		require.Len(t, r.Snapshots(), 1)
		require.GreaterOrEqual(t, r.Snapshots()[0].Index, snapshot)
		var commands []string
		require.NoError(t, r.Entries(func(e LogEntry) error {
			require.Greater(t, e.Index, copied)
			if e.Envelope != nil {
				require.WithinDuration(t, time.Now(), e.Envelope.Time, time.Minute)
				for _, c := range e.Envelope.Commands {
					commands = append(commands, string(c))
				}
			}
			return nil
		}))
		require.Equal(t, []string{"c=3"}, commands)

		second, err := OpenReader(cfg.Dir)
		require.NoError(t, err, "readers do not exclude one another")
		require.NoError(t, second.Close())
		_, err = Open(cfg, newModel())
		require.ErrorIs(t, err, ErrInUse, "a reader keeps a daemon out")
	})
}

func readAll(t *testing.T, r *Reader) map[string][]byte {
	t.Helper()
	got := map[string][]byte{}
	require.NoError(t, r.Values(func(k, v []byte) error {
		got[string(k)] = v
		return nil
	}))
	return got
}

func TestReaderFallsBackToASnapshot(t *testing.T) {
	f := fill(t)
	change(t, f.path("state.db"), zeroPages)
	r, err := OpenReader(f.cfg.Dir)
	require.NoError(t, err)
	require.Equal(t, f.snapshot, r.Index())
	require.NotEmpty(t, r.Faults())
	require.NotEmpty(t, readAll(t, r))
	require.NoError(t, r.Close())
	for _, p := range f.newestSnapshots(t) {
		change(t, p, flipMiddle)
	}
	_, err = OpenReader(f.cfg.Dir)
	require.ErrorIs(t, err, ErrDamaged)
}
