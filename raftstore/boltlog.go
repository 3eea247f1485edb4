package raftstore

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
)

// A truncation is cut into transactions of this size, so that no append waits behind the whole of it.
const (
	truncateEntries = 512
	truncateBytes   = 4 << 20
)

// maxKeptBuffer is the largest encoding buffer that is kept for the next append.
const maxKeptBuffer = 1 << 20

var logBucket = []byte("log")

// boltLog is raft.LogStore on a bbolt file: one key per index, no gaps, every append synced before it returns.
type boltLog struct {
	db *bbolt.DB

	mu          sync.Mutex // one writer at a time; guards buf and the writing of first and last
	buf         []byte
	indexMu     sync.RWMutex // guards first and last; never held during I/O
	first, last uint64       // 0, 0: empty
}

func openBoltLog(path string) (*boltLog, error) {
	opts := boltOptions()
	opts.NoSync = plantNoSync
	db, err := openBolt(path, opts, logBucket)
	if err != nil {
		return nil, err
	}
	l := &boltLog{db: db}
	_, err = guardFaults(func() (struct{}, error) { return struct{}{}, l.readBounds() })
	if err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	return l, nil
}

func (l *boltLog) readBounds() error {
	return l.db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(logBucket)
		if b == nil {
			return fmt.Errorf("the bucket %q is missing", logBucket)
		}
		c := b.Cursor()
		for _, end := range []struct {
			move func() ([]byte, []byte)
			to   *uint64
		}{{c.First, &l.first}, {c.Last, &l.last}} {
			k, _ := end.move()
			if k == nil {
				return nil
			}
			if len(k) != 8 {
				return fmt.Errorf("a key has %d bytes", len(k))
			}
			*end.to = binary.BigEndian.Uint64(k)
		}
		return nil
	})
}

// IsMonotonic tells Raft to empty the log after it installed a snapshot, instead of leaving a gap.
func (l *boltLog) IsMonotonic() bool { return true }

// FirstIndex returns the first index kept, 0 when the log is empty.
func (l *boltLog) FirstIndex() (uint64, error) {
	l.indexMu.RLock()
	defer l.indexMu.RUnlock()
	return l.first, nil
}

// LastIndex returns the last index kept, 0 when the log is empty.
func (l *boltLog) LastIndex() (uint64, error) {
	l.indexMu.RLock()
	defer l.indexMu.RUnlock()
	return l.last, nil
}

func (l *boltLog) setBounds(first, last uint64) {
	l.indexMu.Lock()
	defer l.indexMu.Unlock()
	l.first, l.last = first, last
}

// GetLog reads one entry, or returns raft.ErrLogNotFound.
func (l *boltLog) GetLog(index uint64, log *raft.Log) error {
	return l.db.View(func(tx *bbolt.Tx) error {
		var key [8]byte
		binary.BigEndian.PutUint64(key[:], index)
		v := tx.Bucket(logBucket).Get(key[:])
		if v == nil {
			return raft.ErrLogNotFound
		}
		return decodeEntry(index, v, log)
	})
}

// StoreLog appends one entry.
func (l *boltLog) StoreLog(log *raft.Log) error { return l.StoreLogs([]*raft.Log{log}) }

// StoreLogs appends entries in one synced transaction. They must follow the last one without a gap.
func (l *boltLog) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	first, last := l.first, l.last // written under mu only
	for _, log := range logs {
		if last != 0 && log.Index != last+1 {
			return fmt.Errorf("raftstore: index %d does not follow %d", log.Index, last)
		}
		if first == 0 {
			first = log.Index
		}
		last = log.Index
	}
	if err := l.append(logs); err != nil {
		return err
	}
	l.setBounds(first, last)
	return nil
}

func (l *boltLog) append(logs []*raft.Log) error {
	size := 0
	for _, log := range logs {
		size += entryOverhead + len(log.Extensions) + len(log.Data)
	}
	if cap(l.buf) < size {
		l.buf = make([]byte, 0, size)
	}
	// The values stay where they are until the commit has copied them into pages: the buffer must not grow meanwhile.
	buf := l.buf[:0]
	tx, err := l.db.Begin(true)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after the commit
	b := tx.Bucket(logBucket)
	b.FillPercent = 1 // indexes only grow, a page that is split is never written again
	for _, log := range logs {
		start := len(buf)
		buf = appendEntry(buf, log)
		var key [8]byte
		binary.BigEndian.PutUint64(key[:], log.Index)
		if err := b.Put(key[:], buf[start:len(buf):len(buf)]); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if l.buf = buf[:0]; cap(buf) > maxKeptBuffer {
		l.buf = nil
	}
	return nil
}

// DeleteRange removes the entries lo..hi, which lie at one end of the log. It does so in small transactions, and the log
// has no gap after any of them.
func (l *boltLog) DeleteRange(lo, hi uint64) error {
	for {
		done, err := l.deleteSome(lo, hi)
		if err != nil || done {
			return err
		}
		crashpoint("log-truncating")
	}
}

// deleteSome removes a part of lo..hi and tells whether nothing of it is left.
func (l *boltLog) deleteSome(lo, hi uint64) (done bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first, last := l.first, l.last
	lo, hi = max(lo, first), min(hi, last)
	if first == 0 || lo > hi {
		return true, nil
	}
	fromHead := lo == first
	if !fromHead && hi != last {
		return false, fmt.Errorf("raftstore: removing %d..%d would leave a gap in %d..%d", lo, hi, first, last)
	}
	n := uint64(0)
	err = l.db.Update(func(tx *bbolt.Tx) error {
		n, err = deleteKeys(tx.Bucket(logBucket), lo, hi, fromHead)
		return err
	})
	if err != nil {
		return false, err
	}
	switch {
	case n == last-first+1:
		l.setBounds(0, 0)
	case fromHead:
		l.setBounds(first+n, last)
	default:
		l.setBounds(first, last-n)
	}
	return n == hi-lo+1, nil
}

// deleteKeys deletes up to truncateEntries keys of lo..hi, upwards or downwards, and returns how many.
func deleteKeys(b *bbolt.Bucket, lo, hi uint64, upwards bool) (n uint64, err error) {
	c := b.Cursor()
	bytes := 0
	for n < truncateEntries && bytes < truncateBytes && n <= hi-lo {
		index := lo + n
		if !upwards {
			index = hi - n
		}
		var key [8]byte
		binary.BigEndian.PutUint64(key[:], index)
		k, v := c.Seek(key[:])
		if len(k) != 8 || binary.BigEndian.Uint64(k) != index {
			return 0, fmt.Errorf("raftstore: index %d is missing in the log", index)
		}
		bytes += len(v)
		if err := c.Delete(); err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

func (l *boltLog) Close() error { return l.db.Close() }
