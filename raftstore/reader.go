package raftstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// Reader reads a data directory without a daemon and without changing it.
type Reader struct {
	id        Identity
	dir       string // the shard's
	lock      *os.File
	state     *bbolt.DB // nil: the values come from the snapshot
	pos       position
	snapshots []SnapshotInfo
	source    string
	inUse     bool
	faults    []error
}

// SnapshotInfo tells about one snapshot.
type SnapshotInfo struct {
	ID          string
	Index, Term uint64 // of the last entry that it covers
	Size        int64  // bytes
}

// LogEntry is one entry of the log.
type LogEntry struct {
	Index, Term uint64
	Type        string    // "command", "configuration", or another word of Raft's
	Envelope    *Envelope // of a command
}

// ReaderOption changes how OpenReader works.
type ReaderOption func(*readerOptions)

type readerOptions struct {
	shard uint32
	inUse bool
}

// ReadShard chooses another shard than 0.
func ReadShard(shard uint32) ReaderOption { return func(o *readerOptions) { o.shard = shard } }

// ReadInUse reads a directory that a daemon holds, too. Then only the newest snapshot can be read, which may be old: the
// files that are being written cannot be.
func ReadInUse() ReaderOption { return func(o *readerOptions) { o.inUse = true } }

// OpenReader opens a data directory for reading. Errors are one sentence for the operator: no data directory there
// (ErrNoDataDirectory), in use (ErrInUse), a newer format (ErrNewerFormat), nothing in it can be read (ErrDamaged).
func OpenReader(dir string, opts ...ReaderOption) (*Reader, error) {
	var o readerOptions
	for _, f := range opts {
		f(&o)
	}
	id, err := readIdentity(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s has no file %q", ErrNoDataDirectory, dir, metaFile)
	}
	if err != nil {
		return nil, err
	}
	r := &Reader{id: id, dir: shardDir(dir, o.shard)}
	r.lock, err = lockDirectory(dir, unix.LOCK_SH)
	switch {
	case errors.Is(err, ErrInUse) && o.inUse:
		r.inUse = true
	case err != nil:
		return nil, err
	}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Reader) open() error {
	list, err := r.listSnapshots()
	if err != nil {
		return err
	}
	r.snapshots = list
	if !r.inUse {
		err := r.openCopy()
		if err == nil {
			return nil
		}
		r.faults = append(r.faults, err)
	}
	for _, s := range list {
		err := r.useSnapshot(s.ID)
		if err == nil {
			return nil
		}
		r.faults = append(r.faults, err)
	}
	if r.inUse && len(list) == 0 {
		return fmt.Errorf("%w, and it has no snapshot yet, which is all that could be read of it", ErrInUse)
	}
	return fmt.Errorf("%w: no copy of the state in %s can be read: %w", ErrDamaged, r.dir, errors.Join(r.faults...))
}

// openCopy opens the materialised copy.
func (r *Reader) openCopy() error {
	path := filepath.Join(r.dir, "state.db")
	opts := boltOptions()
	opts.ReadOnly, opts.InitialMmapSize = true, 0
	db, err := guardFaults(func() (*bbolt.DB, error) { return bbolt.Open(path, 0, opts) })
	if err != nil {
		return fmt.Errorf("raftstore: %s cannot be opened: %w", path, err)
	}
	pos, err := (&stateDB{db: db}).position()
	if err != nil {
		return errors.Join(err, db.Close())
	}
	r.state, r.pos, r.source = db, pos, "state.db"
	return nil
}

// useSnapshot checks a whole snapshot.
func (r *Reader) useSnapshot(id string) error {
	f, err := os.Open(r.snapshotPath(id))
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := newSnapshotReader(f)
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", id, err)
	}
	for {
		_, _, ok, err := s.next()
		if err != nil {
			return fmt.Errorf("snapshot %s: %w", id, err)
		}
		if !ok {
			break
		}
	}
	r.pos, r.source = s.pos, id
	return nil
}

func (r *Reader) snapshotPath(id string) string {
	return filepath.Join(r.dir, "snapshots", id, "state.bin")
}

// listSnapshots reads the snapshots' descriptions, newest first, without the library's own check that it may write there.
func (r *Reader) listSnapshots() ([]SnapshotInfo, error) {
	found, err := listSnapshotMetas(filepath.Join(r.dir, "snapshots"))
	if err != nil {
		return nil, fmt.Errorf("raftstore: the snapshots in %s cannot be listed: %w", r.dir, err)
	}
	list := make([]SnapshotInfo, 0, len(found))
	for _, m := range found {
		list = append(list, SnapshotInfo{ID: m.ID, Index: m.Index, Term: m.Term, Size: m.Size})
	}
	return list, nil
}

// Identity returns what the directory records about itself.
func (r *Reader) Identity() Identity { return r.id }

// Index returns the index of the last entry that the values hold.
func (r *Reader) Index() uint64 { return r.pos.index }

// Term returns the term of that entry.
func (r *Reader) Term() uint64 { return r.pos.term }

// Source tells where the values come from: "state.db", or a snapshot's id.
func (r *Reader) Source() string { return r.source }

// Faults tells what could not be read and was passed over.
func (r *Reader) Faults() []error { return r.faults }

// Snapshots lists the snapshots, newest first.
func (r *Reader) Snapshots() []SnapshotInfo { return r.snapshots }

// Values calls f for each value until it returns an error. f may keep what it gets.
func (r *Reader) Values(f func(key, value []byte) error) error {
	if r.state != nil {
		_, err := guardFaults(func() (struct{}, error) {
			return struct{}{}, r.state.View(func(tx *bbolt.Tx) error { return each(values(tx), f) })
		})
		return err
	}
	file, err := os.Open(r.snapshotPath(r.source))
	if err != nil {
		return err
	}
	defer file.Close()
	s, err := newSnapshotReader(file)
	if err != nil {
		return err
	}
	return each(s.next, f)
}

func each(next func() (key, value []byte, ok bool, err error), f func(key, value []byte) error) error {
	for {
		k, v, ok, err := next()
		if err != nil || !ok {
			return err
		}
		if err := f(k, v); err != nil {
			return err
		}
	}
}

// Entries calls f for each entry of the log after Index, in order, until it returns an error. The newest ones may not be
// committed. A directory in use has ErrInUse here.
func (r *Reader) Entries(f func(LogEntry) error) (err error) {
	if r.inUse {
		return fmt.Errorf("%w: its log cannot be read", ErrInUse)
	}
	log, done, err := r.openLog()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	first, err := log.FirstIndex()
	if err != nil {
		return err
	}
	last, err := log.LastIndex()
	if err != nil {
		return err
	}
	if first == 0 {
		return nil
	}
	for i := max(first, r.pos.index+1); i <= last; i++ {
		var l raft.Log
		if err := log.GetLog(i, &l); err != nil {
			return err
		}
		e, err := logEntry(&l)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		if err := f(e); err != nil {
			return err
		}
	}
	return nil
}

func logEntry(l *raft.Log) (LogEntry, error) {
	e := LogEntry{Index: l.Index, Term: l.Term}
	switch l.Type {
	case raft.LogCommand:
		e.Type = "command"
		env, err := decodeEnvelope(l.Data)
		if err != nil {
			return e, err
		}
		e.Envelope = &env
	case raft.LogConfiguration:
		e.Type = "configuration"
	case raft.LogNoop:
		e.Type = "noop"
	case raft.LogBarrier:
		e.Type = "barrier"
	case raft.LogAddPeerDeprecated, raft.LogRemovePeerDeprecated:
		e.Type = "peers"
	default:
		e.Type = fmt.Sprintf("type %d", l.Type)
	}
	return e, nil
}

// openLog opens the log for reading. raft-wal repairs what it opens, so it is given a copy.
func (r *Reader) openLog() (raft.LogStore, func() error, error) {
	if r.id.LogStore == LogStoreWAL {
		tmp, err := os.MkdirTemp("", "coordinatord-wal-")
		if err != nil {
			return nil, nil, err
		}
		err = os.CopyFS(filepath.Join(tmp, "wal"), os.DirFS(filepath.Join(r.dir, "wal")))
		var w *walLog
		if err == nil {
			w, err = openWALLog(filepath.Join(tmp, "wal"), hclog.NewNullLogger())
		}
		if err != nil {
			return nil, nil, errors.Join(err, os.RemoveAll(tmp))
		}
		return w, func() error { return errors.Join(w.Close(), os.RemoveAll(tmp)) }, nil
	}
	path := filepath.Join(r.dir, "log.db")
	opts := boltOptions()
	opts.ReadOnly, opts.InitialMmapSize = true, 0
	db, err := guardFaults(func() (*bbolt.DB, error) { return bbolt.Open(path, 0, opts) })
	if err != nil {
		return nil, nil, fmt.Errorf("raftstore: %s cannot be opened: %w", path, err)
	}
	l := &boltLog{db: db}
	if _, err := guardFaults(func() (struct{}, error) { return struct{}{}, l.readBounds() }); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrDamaged, path, err), db.Close())
	}
	return guardedReads{l}, l.Close, nil
}

// guardedReads turns faults on a damaged file into errors.
type guardedReads struct{ *boltLog }

func (g guardedReads) GetLog(index uint64, l *raft.Log) error {
	_, err := guardFaults(func() (struct{}, error) { return struct{}{}, g.boltLog.GetLog(index, l) })
	return err
}

// Close gives the directory free again.
func (r *Reader) Close() error {
	var errs []error
	if r.state != nil {
		errs = append(errs, r.state.Close())
	}
	if r.lock != nil {
		errs = append(errs, r.lock.Close())
	}
	return errors.Join(errs...)
}

var _ io.Closer = (*Reader)(nil)
