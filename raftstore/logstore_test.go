package raftstore

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

// conformance opens a fresh log of each kind; reopen closes it and opens it again.
func conformance(t *testing.T, f func(t *testing.T, log closableLog, reopen func() closableLog)) {
	logStores(t, func(t *testing.T, kind string) {
		dir := t.TempDir()
		var log closableLog
		openIt := func() closableLog {
			var err error
			if kind == LogStoreWAL {
				log, err = openWALLog(dir, hclog.NewNullLogger())
			} else {
				log, err = openBoltLog(filepath.Join(dir, "log.db"))
			}
			require.NoError(t, err)
			return log
		}
		openIt()
		t.Cleanup(func() { require.NoError(t, log.Close()) })
		f(t, log, func() closableLog {
			require.NoError(t, log.Close())
			return openIt()
		})
	})
}

func entries(from, to uint64, size int) (logs []*raft.Log) {
	for i := from; i <= to; i++ {
		logs = append(logs, &raft.Log{
			Index: i, Term: 1 + i/10, Type: raft.LogCommand, Data: bytes.Repeat([]byte{byte(i)}, size),
			Extensions: []byte("ext")[:i%4], AppendedAt: time.Unix(int64(i), 5),
		})
	}
	return logs
}

func requireBounds(t *testing.T, log raft.LogStore, first, last uint64) {
	t.Helper()
	f, err := log.FirstIndex()
	require.NoError(t, err)
	l, err := log.LastIndex()
	require.NoError(t, err)
	require.Equal(t, [2]uint64{first, last}, [2]uint64{f, l})
}

func requireEntries(t *testing.T, log raft.LogStore, want []*raft.Log) {
	t.Helper()
	for _, w := range want {
		var got raft.Log
		require.NoError(t, log.GetLog(w.Index, &got), w.Index)
		require.Equal(t, w.Index, got.Index)
		require.Equal(t, w.Term, got.Term)
		require.Equal(t, w.Type, got.Type)
		require.True(t, bytes.Equal(w.Data, got.Data), "data of %d", w.Index)
		require.True(t, bytes.Equal(w.Extensions, got.Extensions), "extensions of %d", w.Index)
		require.True(t, w.AppendedAt.Equal(got.AppendedAt))
	}
}

func TestLogStoreKeepsEntries(t *testing.T) {
	conformance(t, func(t *testing.T, log closableLog, reopen func() closableLog) {
		requireBounds(t, log, 0, 0)
		require.ErrorIs(t, log.GetLog(1, &raft.Log{}), raft.ErrLogNotFound)
		want := entries(1, 100, 300)
		require.NoError(t, log.StoreLog(want[0]))
		require.NoError(t, log.StoreLogs(want[1:40]))
		require.NoError(t, log.StoreLogs(want[40:]))
		requireBounds(t, log, 1, 100)
		requireEntries(t, log, want)
		require.ErrorIs(t, log.GetLog(101, &raft.Log{}), raft.ErrLogNotFound)
		log = reopen()
		requireBounds(t, log, 1, 100)
		requireEntries(t, log, want)
	})
}

func TestLogStoreSizes(t *testing.T) {
	conformance(t, func(t *testing.T, log closableLog, reopen func() closableLog) {
		var want []*raft.Log
		for i, size := range []int{0, 1, 4000, 4096, 70_000, 256 << 10, 3 << 20, 10} {
			want = append(want, entries(uint64(i+1), uint64(i+1), size)...)
		}
		require.NoError(t, log.StoreLogs(want))
		requireEntries(t, log, want)
		requireEntries(t, reopen(), want)
	})
}

func TestLogStoreTruncates(t *testing.T) {
	const n = 3*truncateEntries + 7
	conformance(t, func(t *testing.T, log closableLog, reopen func() closableLog) {
		all := entries(1, n, 100)
		require.NoError(t, log.StoreLogs(all))
		require.NoError(t, log.DeleteRange(1, n-50))
		requireBounds(t, log, n-49, n)
		require.ErrorIs(t, log.GetLog(n-50, &raft.Log{}), raft.ErrLogNotFound)
		requireEntries(t, log, all[n-50:])
		require.NoError(t, log.DeleteRange(n-9, n), "the tail, after a conflict")
		requireBounds(t, log, n-49, n-10)
		log = reopen()
		requireBounds(t, log, n-49, n-10)
		other := entries(n-9, n, 50)
		require.NoError(t, log.StoreLogs(other))
		requireEntries(t, log, other)
		require.NoError(t, log.DeleteRange(n-49, n))
		requireBounds(t, log, 0, 0)
		later := entries(5*n, 5*n+3, 50)
		require.NoError(t, log.StoreLogs(later), "after a snapshot was installed, the log begins anywhere")
		requireBounds(t, log, 5*n, 5*n+3)
		requireEntries(t, reopen(), later)
	})
}

func TestLogStoreRefusesGaps(t *testing.T) {
	conformance(t, func(t *testing.T, log closableLog, _ func() closableLog) {
		require.NoError(t, log.StoreLogs(entries(1, 5, 10)))
		require.Error(t, log.StoreLogs(entries(7, 8, 10)))
		requireBounds(t, log, 1, 5)
		require.True(t, log.IsMonotonic())
	})
}

func TestLogStoreReadsWhileWriting(t *testing.T) {
	conformance(t, func(t *testing.T, log closableLog, _ func() closableLog) {
		require.NoError(t, log.StoreLogs(entries(1, 1, 100)))
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					last, err := log.LastIndex()
					if err != nil {
						t.Error(err)
						return
					}
					var l raft.Log
					if err := log.GetLog(last, &l); err != nil || l.Index != last || l.Data[0] != byte(last) {
						t.Errorf("entry %d: %v", last, err)
						return
					}
				}
			})
		}
		for i := uint64(2); i < 200; i++ {
			require.NoError(t, log.StoreLogs(entries(i, i, 100)))
		}
		close(stop)
		wg.Wait()
	})
}

// TestTruncationLetsAppendsThrough removes many entries while others are appended: no append waits for the whole.
func TestTruncationLetsAppendsThrough(t *testing.T) {
	log, err := openBoltLog(filepath.Join(t.TempDir(), "log.db"))
	require.NoError(t, err)
	defer log.Close()
	const n = 20 * truncateEntries
	require.NoError(t, log.StoreLogs(entries(1, n, 200)))
	done := make(chan error, 1)
	go func() { done <- log.DeleteRange(1, n-1) }()
	appended := 0
	for next := uint64(n + 1); ; next++ {
		select {
		case err := <-done:
			require.NoError(t, err)
			requireBounds(t, log, n, next-1)
			require.Greater(t, appended, 3, "appends got through between the steps of the truncation")
			return
		default:
		}
		require.NoError(t, log.StoreLogs(entries(next, next, 200)))
		appended++
	}
}

func TestBoltLogNoticesDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	log, err := openBoltLog(path)
	require.NoError(t, err)
	require.NoError(t, log.StoreLogs(entries(1, 3, 50)))
	require.NoError(t, log.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(logBucket)
		v := bytes.Clone(b.Get([]byte{0, 0, 0, 0, 0, 0, 0, 2}))
		v[30] ^= 1
		return b.Put([]byte{0, 0, 0, 0, 0, 0, 0, 2}, v)
	}))
	require.ErrorIs(t, log.GetLog(2, &raft.Log{}), errEntryDamaged)
	require.NoError(t, log.GetLog(3, &raft.Log{}))
	require.NoError(t, log.Close())
}

func TestStableStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stable.db")
	s, err := openBoltStable(path, &poison{})
	require.NoError(t, err)
	_, err = s.GetUint64([]byte("CurrentTerm"))
	require.EqualError(t, err, "not found", "Raft compares the text")
	require.NoError(t, s.SetUint64([]byte("CurrentTerm"), 7))
	require.NoError(t, s.Set([]byte("LastVoteCand"), []byte("x")))
	require.NoError(t, s.Close())
	s, err = openBoltStable(path, &poison{})
	require.NoError(t, err)
	defer s.Close()
	n, err := s.GetUint64([]byte("CurrentTerm"))
	require.NoError(t, err)
	require.Equal(t, uint64(7), n)
	v, err := s.Get([]byte("LastVoteCand"))
	require.NoError(t, err)
	require.Equal(t, "x", string(v))
	_, err = s.GetUint64([]byte("LastVoteCand"))
	require.ErrorIs(t, err, ErrDamaged)
}

func TestEntryRefusesDamage(t *testing.T) {
	for _, l := range entries(1, 8, 20) {
		b := appendEntry(nil, l)
		for i := range b {
			for _, bad := range [][]byte{b[:i], flip(b, i)} {
				require.ErrorIs(t, decodeEntry(l.Index, bad, &raft.Log{}), errEntryDamaged)
			}
		}
	}
}

// flip returns b with one bit changed.
func flip(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[i] ^= 0x10
	return b
}

func TestBoltRefusesWhatIsNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	require.NoError(t, writeSynced(path, []byte(strings.Repeat("not a database ", 5000))))
	_, err := openBoltLog(path)
	require.Error(t, err)

	require.NoError(t, os.Truncate(path, 0))
	_, err = openBoltLog(path)
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorContains(t, err, "is empty")
}
