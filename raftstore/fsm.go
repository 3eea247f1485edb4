package raftstore

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// fsm is raft.FSM: it hands committed batches to the owner and makes snapshots of what the owner collects.
type fsm struct {
	handler   Handler
	proposer  *proposer
	positions positions
	materials *materialiser
	poison    *poison
	led       func(term uint64) // an own marker of that term was applied
	stuck     error             // an entry could not be read: none is applied after it; owned by Raft's goroutine of the state

	loaded atomic.Uint64 // the state was loaded at this index: entries up to it are not applied again
	seen   atomic.Uint64 // index of the newest entry that Raft handed over, commands or not
	kept   atomic.Uint64 // index of the newest snapshot

	collectMu sync.Mutex // makes a collection and its job one step, so that jobs are in the order of collections
	collected uint64     // index of the newest collection; guarded by collectMu
}

// Apply implements raft.FSM.
func (f *fsm) Apply(l *raft.Log) any {
	if f.stuck != nil {
		return f.stuck
	}
	f.seen.Store(l.Index)
	if l.Index <= f.loaded.Load() {
		return nil
	}
	e, err := decodeEnvelope(l.Data)
	if err != nil {
		// Going on would let this node's state differ from the others' for ever.
		f.stuck = f.poison.fail(fmt.Errorf("raftstore: entry %d of the log cannot be applied, and this node must not go on without it: %w", l.Index, err))
		return f.stuck
	}
	f.positions.applied(l.Index, l.Term)
	own := e.Origin == f.proposer.origin
	if len(e.Commands) == 0 {
		if own {
			f.led(l.Term)
		}
		return nil
	}
	b := Batch{Index: l.Index, Term: l.Term, Time: e.Time.UnixMilli(), Commands: e.Commands}
	if own {
		b.Refs = f.proposer.applied(e.Sequence)
	}
	f.handler.Apply(b)
	return nil
}

// StoreConfiguration implements raft.ConfigurationStore.
func (f *fsm) StoreConfiguration(index uint64, c raft.Configuration) {
	f.seen.Store(index)
	f.positions.configured(index, c)
}

// collect asks the owner for its changes and has them written behind.
func (f *fsm) collect() { f.collectInto(nil) }

func (f *fsm) collectInto(v chan view) {
	f.collectMu.Lock()
	defer f.collectMu.Unlock()
	index, changes := f.handler.Collect()
	// An owner that has applied nothing since it was loaded may answer 0.
	index = max(index, f.collected)
	if v == nil && index == f.collected && len(changes) == 0 {
		return
	}
	f.collected = index
	f.materials.enqueue(job{pos: f.positions.at(index), changes: changes, view: v})
}

// Snapshot implements raft.FSM. The entries so far have been handed to the owner before it is asked, and later ones are
// not, so what it answers is the state at the newest entry with commands.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	if f.stuck != nil {
		return nil, f.stuck // Raft would take the state for one that has the entry
	}
	if f.seen.Load() < f.loaded.Load() {
		// Raft is still passing over entries that the state holds already.
		return nil, raft.ErrNothingNewToSnapshot
	}
	s := &fsmSnapshot{view: make(chan view, 1), kept: &f.kept}
	f.collectInto(s.view)
	return s, nil
}

// Restore implements raft.FSM: it replaces the owner's state by an installed snapshot.
func (f *fsm) Restore(rc io.ReadCloser) error {
	defer rc.Close()
	crashpoint("snapshot-installed")
	f.collectMu.Lock()
	defer f.collectMu.Unlock()
	r, err := newSnapshotReader(rc)
	if err != nil {
		return err
	}
	changes, err := loadSnapshot(f.handler, r)
	if err != nil {
		return fmt.Errorf("raftstore: the installed snapshot is refused: %w", err)
	}
	f.restored(r.pos)
	f.kept.Store(r.pos.index)
	crashpoint("snapshot-loaded")
	f.materials.enqueue(job{pos: r.pos, changes: changes, replace: true})
	return nil
}

// restored notes that the state was loaded at a position.
func (f *fsm) restored(p position) {
	f.positions.reset(p)
	f.collected = p.index
	f.loaded.Store(p.index)
	f.seen.Store(p.index)
}

// loadSnapshot hands a snapshot to the owner and returns what it holds. The owner's next fails before ok is false unless
// the whole snapshot is sound, so that the owner keeps its old state otherwise.
func loadSnapshot(h Handler, r *snapshotReader) ([]Change, error) {
	var changes []Change
	var failed error
	ended := false
	err := h.Load(r.pos.index, func() ([]byte, []byte, bool, error) {
		if ended || failed != nil {
			return nil, nil, false, failed
		}
		k, v, ok, err := r.next()
		if err != nil {
			failed = err
			return nil, nil, false, err
		}
		ended = !ok
		if ok {
			changes = append(changes, Change{Key: k, Value: v})
		}
		return k, v, ok, nil
	})
	switch {
	case failed != nil:
		return nil, failed
	case err != nil:
		return nil, err
	case !ended:
		return nil, fmt.Errorf("the owner stopped after %d values", len(changes))
	}
	return changes, nil
}

// fsmSnapshot is raft.FSMSnapshot: it streams a view of the materialised copy.
type fsmSnapshot struct {
	view chan view
	kept *atomic.Uint64
	once sync.Once
	v    view
}

func (s *fsmSnapshot) wait() view {
	s.once.Do(func() { s.v = <-s.view })
	return s.v
}

// Persist implements raft.FSMSnapshot.
func (s *fsmSnapshot) Persist(sink raft.SnapshotSink) error {
	v := s.wait()
	if v.err != nil {
		return v.err
	}
	crashpoint("snapshot-begun")
	w, err := newSnapshotWriter(sink, v.pos)
	if err != nil {
		return err
	}
	for next := values(v.tx); ; {
		key, value, ok, err := next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := w.record(key, value); err != nil {
			return err
		}
	}
	crashpoint("snapshot-streamed")
	if err := w.close(sink); err != nil {
		return err
	}
	if err := sink.Close(); err != nil {
		return err
	}
	s.kept.Store(v.pos.index)
	crashpoint("snapshot-persisted")
	return nil
}

// Release implements raft.FSMSnapshot.
func (s *fsmSnapshot) Release() {
	if v := s.wait(); v.tx != nil {
		_ = v.tx.Rollback() // a read transaction has nothing to lose
	}
}
