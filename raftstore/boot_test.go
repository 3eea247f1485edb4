package raftstore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

// filled is a directory with a snapshot, a newer copy, and a log that goes on after both; the log begins after 1.
type filled struct {
	cfg                    Config
	want                   map[string][]byte
	snapshot, copied, last uint64
}

// fill makes such a directory. Values are large enough for several pages.
func fill(t *testing.T) *filled {
	f := &filled{cfg: testConfig(t, t.TempDir())}
	f.cfg.TrailingLogs = 3
	s, m := open(t, f.cfg)
	put := func(round int) {
		for i := range 30 {
			m.mustDo(t, s, fmt.Sprintf("key%d=%d %s", i, round, strings.Repeat("v", 900)))
		}
	}
	put(1)
	require.NoError(t, s.raft.Snapshot().Error())
	put(2)
	require.NoError(t, s.raft.Snapshot().Error())
	f.snapshot = s.fsm.kept.Load()
	put(3)
	s.fsm.collect()
	s.materials.close()
	f.copied = s.materials.index.Load()
	put(4)
	f.want, f.last = m.state(), m.index
	// Nothing more is written to the copy, as if the process had been killed.
	s.poison.failed.Store(true)
	require.NoError(t, s.Close(context.Background()))
	require.Greater(t, f.copied, f.snapshot)
	require.Greater(t, f.last, f.copied)
	return f
}

func (f *filled) path(name string) string { return filepath.Join(shardDir(f.cfg.Dir, 0), name) }

// newestSnapshots returns the snapshots' files, newest first.
func (f *filled) newestSnapshots(t *testing.T) (paths []string) {
	list, err := listSnapshotMetas(f.path("snapshots"))
	require.NoError(t, err)
	require.Len(t, list, 2)
	for _, m := range list {
		paths = append(paths, filepath.Join(f.path("snapshots"), m.ID, "state.bin"))
	}
	return paths
}

// change rewrites a file.
func change(t *testing.T, path string, f func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, f(b), 0o640))
}

func flipMiddle(b []byte) []byte { return flip(b, len(b)/2) }

// zeroPages destroys everything behind the two meta pages.
func zeroPages(b []byte) []byte {
	clear(b[2*os.Getpagesize():])
	return b
}

func TestBootChooses(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(t *testing.T, f *filled)
		from func(f *filled) uint64 // where the state is loaded
		kept bool                   // the damaged copy is put aside
	}{
		"all is well: the copy": {
			harm: func(*testing.T, *filled) {},
			from: func(f *filled) uint64 { return f.copied },
		},
		"no copy: the snapshot": {
			harm: func(t *testing.T, f *filled) { require.NoError(t, os.Remove(f.path("state.db"))) },
			from: func(f *filled) uint64 { return f.snapshot },
		},
		"a copy that is no database": {
			harm: func(t *testing.T, f *filled) {
				change(t, f.path("state.db"), func(b []byte) []byte { return bytes.Repeat([]byte("x"), len(b)) })
			},
			from: func(f *filled) uint64 { return f.snapshot }, kept: true,
		},
		"a truncated copy": {
			harm: func(t *testing.T, f *filled) {
				require.NoError(t, os.Truncate(f.path("state.db"), int64(3*os.Getpagesize())))
			},
			from: func(f *filled) uint64 { return f.snapshot }, kept: true,
		},
		"a copy whose pages are gone": {
			harm: func(t *testing.T, f *filled) { change(t, f.path("state.db"), zeroPages) },
			from: func(f *filled) uint64 { return f.snapshot }, kept: true,
		},
		"a copy with a changed value": {
			harm: func(t *testing.T, f *filled) {
				s, err := openState(f.path("state.db"))
				require.NoError(t, err)
				require.NoError(t, s.db.Update(func(tx *bbolt.Tx) error {
					b := tx.Bucket(stateValuesBucket)
					k, v := b.Cursor().Last()
					return b.Put(bytes.Clone(k), flipMiddle(v))
				}))
				require.NoError(t, s.Close())
			},
			from: func(f *filled) uint64 { return f.snapshot }, kept: true,
		},
		"the newest snapshot is damaged": {
			harm: func(t *testing.T, f *filled) { change(t, f.newestSnapshots(t)[0], flipMiddle) },
			from: func(f *filled) uint64 { return f.copied },
		},
		"every snapshot is damaged": {
			harm: func(t *testing.T, f *filled) {
				for _, p := range f.newestSnapshots(t) {
					require.NoError(t, os.Truncate(p, 5))
				}
			},
			from: func(f *filled) uint64 { return f.copied },
		},
		"a snapshot newer than the copy": {
			harm: func(t *testing.T, f *filled) {
				s, err := openState(f.path("state.db"))
				require.NoError(t, err)
				require.NoError(t, s.write(position{index: f.snapshot - 1, term: 2}, nil, true))
				require.NoError(t, s.Close())
			},
			from: func(f *filled) uint64 { return f.snapshot },
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := fill(t)
			c.harm(t, f)
			s, m := open(t, f.cfg)
			require.Equal(t, c.from(f), m.loads[0])
			require.Len(t, m.loads, 1)
			require.Equal(t, f.want, m.state())
			m.mustDo(t, s, "more=1")
			f.want = m.state()
			shut(t, s, m)
			_, err := os.Stat(f.path("state.db.damaged"))
			require.Equal(t, c.kept, err == nil, "the damaged copy is kept for someone to look at")
			s, m = open(t, f.cfg)
			require.Equal(t, f.want, m.state(), "after one more restart")
			require.Greater(t, m.loads[0], f.last, "the copy is whole again")
			shut(t, s, m)
		})
	}
}

func TestBootRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(t *testing.T, f *filled)
		says []string
		is   error
	}{
		"neither copy nor snapshot": {
			harm: func(t *testing.T, f *filled) {
				require.NoError(t, os.Remove(f.path("state.db")))
				for _, p := range f.newestSnapshots(t) {
					change(t, p, flipMiddle)
				}
			},
			is: ErrDamaged, says: []string{"begins at", "no sound copy"},
		},
		"the older snapshot does not reach the log": {
			harm: func(t *testing.T, f *filled) {
				require.NoError(t, os.Remove(f.path("state.db")))
				change(t, f.newestSnapshots(t)[0], flipMiddle)
			},
			is: ErrDamaged, says: []string{"begins at", "no sound copy"},
		},
		"the log is gone": {
			harm: func(t *testing.T, f *filled) { require.NoError(t, os.Remove(f.path("log.db"))) },
			is:   ErrDamaged, says: []string{"log.db is missing"},
		},
		"the log is gone from a directory without the mark": {
			harm: func(t *testing.T, f *filled) {
				unmark(t, f.cfg.Dir)
				require.NoError(t, os.Remove(f.path("log.db")))
			},
			is: ErrDamaged, says: []string{"ends at 0"},
		},
		"the whole shard but its term is gone from a directory without the mark": {
			harm: func(t *testing.T, f *filled) {
				unmark(t, f.cfg.Dir)
				for _, n := range []string{"log.db", "state.db", "snapshots"} {
					require.NoError(t, os.RemoveAll(f.path(n)))
				}
			},
			is: ErrDamaged, says: []string{"is empty, and term"},
		},
		"an older log": {
			harm: func(t *testing.T, f *filled) {
				log, err := openBoltLog(f.path("log.db"))
				require.NoError(t, err)
				last, err := log.LastIndex()
				require.NoError(t, err)
				require.NoError(t, log.DeleteRange(f.copied, last))
				require.NoError(t, log.Close())
			},
			is: ErrDamaged, says: []string{"ends at", "the state was at"},
		},
		"a copy of another history": {
			harm: func(t *testing.T, f *filled) {
				s, err := openState(f.path("state.db"))
				require.NoError(t, err)
				require.NoError(t, s.write(position{index: f.copied + 2, term: 99}, nil, false))
				require.NoError(t, s.Close())
			},
			is: ErrDamaged, says: []string{"not of one history"},
		},
		"a log that is no database": {
			harm: func(t *testing.T, f *filled) {
				change(t, f.path("log.db"), func(b []byte) []byte { return bytes.Repeat([]byte{7}, len(b)) })
			},
			says: []string{"log.db", "cannot be opened"},
		},
		"a log whose pages are gone": {
			harm: func(t *testing.T, f *filled) { change(t, f.path("log.db"), zeroPages) },
			says: []string{"log.db"},
		},
		"meta is garbage": {
			harm: func(t *testing.T, f *filled) {
				require.NoError(t, os.WriteFile(filepath.Join(f.cfg.Dir, metaFile), []byte("{"), 0o640))
			},
			is: ErrDamaged, says: []string{metaFile},
		},
		"meta is gone": {
			harm: func(t *testing.T, f *filled) { require.NoError(t, os.Remove(filepath.Join(f.cfg.Dir, metaFile))) },
			is:   ErrDamaged, says: []string{"is missing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := fill(t)
			c.harm(t, f)
			_, err := Open(f.cfg, newModel())
			require.Error(t, err)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			for _, s := range c.says {
				require.ErrorContains(t, err, s)
			}
			d, err := lockDirectory(f.cfg.Dir, 2)
			require.NoError(t, err, "the directory is free again")
			require.NoError(t, d.Close())
		})
	}
}

// TestBootWithoutSnapshotReplaysTheWholeLog: as long as the log begins at 1, a damaged copy costs only time.
func TestBootWithoutSnapshotReplaysTheWholeLog(t *testing.T) {
	cfg := testConfig(t, t.TempDir())
	s, m := open(t, cfg)
	for i := range 10 {
		m.mustDo(t, s, fmt.Sprint("k", i, "=1"))
	}
	want := m.state()
	shut(t, s, m)
	change(t, filepath.Join(shardDir(cfg.Dir, 0), "state.db"), zeroPages)
	_, m = open(t, cfg)
	require.Equal(t, []uint64{0}, m.loads)
	require.Equal(t, want, m.state())
}

// TestBootWhenTheOwnerRefuses: an owner that cannot read any copy keeps the store closed, and the files as they are.
func TestBootWhenTheOwnerRefuses(t *testing.T) {
	f := fill(t)
	m := newModel()
	m.onLoad = func() error { return fmt.Errorf("a value from the future") }
	_, err := Open(f.cfg, m)
	require.ErrorContains(t, err, "a value from the future")
	_, err = os.Stat(f.path("state.db.damaged"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, m = open(t, f.cfg)
	require.Equal(t, f.want, m.state())
	require.Equal(t, []uint64{f.copied}, m.loads)
}

// TestBootRepeatsBootstrap: a crash between the term and the first entry is nothing special.
func TestBootstrapIsRepeated(t *testing.T) {
	cfg := testConfig(t, t.TempDir())
	require.NoError(t, cfg.validate())
	d, err := openDirectory(&cfg)
	require.NoError(t, err)
	f, damage, err := openFiles(&cfg, &poison{})
	require.NoError(t, errorsOf(damage, err))
	require.NoError(t, f.stable.SetUint64(keyTerm, 1))
	f.close()
	d.close()
	s, m := open(t, cfg)
	m.mustDo(t, s, "a=1")
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestUnknownEnvelopeStopsTheNode: an entry that a newer version wrote must not be passed over.
func TestUnknownEnvelopeStopsTheNode(t *testing.T) {
	m := newModel()
	p, err := newProposer(&Config{QueueBytes: 1}, m)
	require.NoError(t, err)
	var fatal []error
	f := &fsm{handler: m, proposer: p, poison: &poison{fatal: func(err error) { fatal = append(fatal, err) }}}
	f.Apply(&raft.Log{Index: 8, Term: 1, Data: encodeEnvelope(1, 1, 1, []byte("a=1"))})
	f.Apply(&raft.Log{Index: 9, Term: 1, Data: []byte{2, 0, 0}})
	require.Len(t, fatal, 1)
	require.EqualError(t, fatal[0], "raftstore: entry 9 of the log cannot be applied, and this node must not go on without it: "+
		"raftstore: an entry of the log has a format that this version does not know: format 2, and this version knows 1")

	f.Apply(&raft.Log{Index: 10, Term: 1, Data: encodeEnvelope(1, 1, 2, []byte("b=1"))})
	_, err = f.Snapshot()
	require.Error(t, err)
	require.Contains(t, m.state(), "a")
	require.NotContains(t, m.state(), "b", "nothing is applied after it")
	require.Len(t, fatal, 1)
}
