package raftstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"go.uber.org/zap"
)

// Errors of Propose and of Failed.
var (
	ErrNotLeader = errors.New("raftstore: this node does not lead")
	ErrBusy      = errors.New("raftstore: too many bytes wait to be proposed")
	ErrClosed    = errors.New("raftstore: closed")
	ErrTooLarge  = errors.New("raftstore: the command is larger than everything that may wait")
	ErrTimeout   = errors.New("raftstore: the command was not committed in time")

	errStalled = errors.New("raftstore: the disk does not answer, and another voter can lead only when this process ends")
)

// Store is one shard's replicated log.
type Store struct {
	cfg     Config
	handler Handler
	log     *zap.Logger

	dirMu sync.Mutex // guards dir.id
	dir   *directory
	files *files

	poison    *poison
	proposer  *proposer
	fsm       *fsm
	materials *materialiser
	confirmer *confirmer
	raft      *raft.Raft
	transport raft.Transport

	notify chan bool
	stop   chan struct{}
	wg     sync.WaitGroup // everything that ends with stop
	sender sync.WaitGroup // the proposer's goroutines

	leadMu  sync.Mutex
	leading uint64 // the term in which the owner was told to lead; 0: none
	marked  atomic.Int64

	stallLogged   bool // owned by the housekeeping goroutine
	behind        bool // likewise, once it runs: the newest snapshot was old at the start
	snapshotLog   atomic.Uint64
	snapshotAsked chan struct{}
	closeOnce     sync.Once
	closeErr      error
}

// Open opens or creates the data directory, loads the newer of the materialised copy and the newest snapshot into h,
// and starts Raft. Errors are one sentence for the operator (directory in use, another node's directory, another Kafka
// cluster's, a newer format).
//
// Handler.Load is called before Open returns, and other methods may be: the owner must already answer, and must go on
// answering until Close has returned. A fresh directory loads the empty state at index 0.
func Open(cfg Config, h Handler) (*Store, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Store{
		cfg: cfg, handler: h, log: cfg.Logger.With(zap.Uint32("shard", cfg.Shard)), poison: &poison{fatal: cfg.Fatal},
		notify: make(chan bool, 16), stop: make(chan struct{}), snapshotAsked: make(chan struct{}, 1), confirmer: newConfirmer(),
	}
	var err error
	if s.dir, err = openDirectory(&s.cfg); err != nil {
		return nil, err
	}
	if err := s.start(); err != nil {
		s.abort()
		return nil, err
	}
	return s, nil
}

func (s *Store) start() error {
	files, damage, err := openFiles(&s.cfg, s.poison)
	if err != nil {
		return err
	}
	s.files = files
	b, err := files.boot(&s.cfg, s.handler, damage)
	if err != nil {
		return err
	}
	if b.copied == nil {
		if err := files.bootstrap(&s.cfg); err != nil {
			return err
		}
	}
	if err := s.dir.markLog(); err != nil {
		return err
	}
	if s.proposer, err = newProposer(&s.cfg, s.handler); err != nil {
		return err
	}
	at := b.pos.index
	if b.renew {
		at = 0
	}
	s.materials = newMaterialiser(files.state, at, s.poison, s.cfg.Observer)
	s.fsm = &fsm{handler: s.handler, proposer: s.proposer, materials: s.materials, poison: s.poison, led: s.led}
	s.fsm.restored(b.pos)
	s.fsm.kept.Store(b.newest)
	if b.renew && b.pos.index > 0 {
		s.materials.enqueue(job{pos: b.pos, changes: b.rewrite, replace: true})
	}
	if err := s.startRaft(b); err != nil {
		return err
	}
	// Raft counts from where it started: a process that is often killed would never truncate its log.
	s.behind = b.lag >= s.cfg.SnapshotThreshold
	s.run()
	return nil
}

func (s *Store) startRaft(b *booted) error {
	logs := raft.LogStore(s.files.log)
	if !s.cfg.lone() {
		// Replication reads what was just written. A lone voter never does, and a cache would only keep its batches alive.
		cache, err := raft.NewLogCache(logCacheEntries, logs)
		if err != nil {
			return err
		}
		logs = cache
	}
	s.files.snapshots.offerCopy(b.copied)
	if err := s.checkConfiguration(logs); err != nil {
		return err
	}
	transport, closer, err := newTransport(&s.cfg)
	if err != nil {
		return err
	}
	s.raft, err = raft.NewRaft(s.raftConfig(), s.fsm, logs, s.files.stable, s.files.snapshots, transport)
	s.files.snapshots.offerCopy(nil)
	if err != nil {
		_ = closer.Close()
		return fmt.Errorf("raftstore: Raft cannot start in %s: %w", s.files.dir, err)
	}
	s.transport = transport
	s.proposer.raft, s.proposer.lost = s.raft, s.resign
	s.confirmer.raft = s.raft
	return nil
}

// checkConfiguration compares the voters before Raft says a word to them.
func (s *Store) checkConfiguration(logs raft.LogStore) error {
	_, nowhere := raft.NewInmemTransport("")
	c := s.raftConfig()
	c.Logger = hclog.NewNullLogger()
	have, err := raft.GetConfiguration(c, s.fsm, logs, s.files.stable, s.files.snapshots, nowhere)
	if err != nil {
		return fmt.Errorf("raftstore: Raft cannot start in %s: %w", s.files.dir, err)
	}
	if err := checkVoters(&s.cfg, have); err != nil {
		return fmt.Errorf("%w (directory %s)", err, s.cfg.Dir)
	}
	return nil
}

const (
	logCacheEntries = 128
	// closeGrace is how long Raft may take to end although the caller's patience is over: an idle one needs a millisecond.
	closeGrace = 250 * time.Millisecond
	// maxAppendEntries entries of up to 256 KiB make a message of at most 8 MiB.
	maxAppendEntries = 32
)

func (s *Store) raftConfig() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = serverID(s.cfg.NodeID)
	c.HeartbeatTimeout, c.ElectionTimeout = s.cfg.HeartbeatTimeout, s.cfg.HeartbeatTimeout
	c.LeaderLeaseTimeout = s.cfg.HeartbeatTimeout
	if !s.cfg.lone() {
		c.LeaderLeaseTimeout = s.cfg.HeartbeatTimeout / 2
	}
	c.CommitTimeout = min(c.CommitTimeout, max(s.cfg.HeartbeatTimeout/4, time.Millisecond))
	c.MaxAppendEntries = maxAppendEntries
	c.SnapshotInterval, c.SnapshotThreshold = s.cfg.SnapshotInterval, s.cfg.SnapshotThreshold
	c.TrailingLogs = s.cfg.TrailingLogs
	c.ShutdownOnRemove = false
	c.NoSnapshotRestoreOnStart = true // boot has loaded the newest copy there is
	c.NoLegacyTelemetry = true
	c.NotifyCh = s.notify
	c.Logger = newHCLog(s.cfg.Logger, s.cfg.lone())
	return c
}

func (s *Store) run() {
	for _, f := range []func(){s.watchLeadership, s.keepHouse, s.writeBehind, s.takeSnapshots, s.confirmer.run} {
		s.wg.Go(f)
	}
	s.sender.Go(s.proposer.send)
	s.sender.Go(s.proposer.settle)
}

// Propose queues one command. It never blocks and copies cmd. The answer comes through Handler.Apply with the same ref,
// or through Handler.Failed. An error here (ErrNotLeader, ErrBusy, ErrTooLarge, ErrClosed) means that neither will come.
func (s *Store) Propose(ref Ref, cmd []byte) error { return s.proposer.propose(ref, cmd) }

// Confirm calls done once this node has proved that it still leads (a lone voter: at once), so that what was read before
// the call was not stale. Calls that wait together share one round. done must not block.
func (s *Store) Confirm(done func(err error)) {
	s.proposer.mu.Lock()
	term, closed := s.proposer.term, s.proposer.closed
	s.proposer.mu.Unlock()
	switch {
	case closed:
		done(ErrClosed)
	case term == 0:
		done(ErrNotLeader)
	case s.cfg.lone():
		done(nil)
	default:
		s.confirmer.add(done)
	}
}

// SetClusterID records Kafka's cluster.id in a directory that has none yet, and refuses another one.
func (s *Store) SetClusterID(id string) error {
	if id == "" {
		return errors.New("raftstore: Kafka's cluster.id is empty")
	}
	s.dirMu.Lock()
	defer s.dirMu.Unlock()
	return s.dir.setClusterID(id)
}

// Identity returns what the data directory records.
func (s *Store) Identity() Identity {
	s.dirMu.Lock()
	defer s.dirMu.Unlock()
	return s.dir.id
}

// Status is what /v1/cluster, /readyz and the metrics show.
type Status struct {
	NodeID, LeaderID     uint64
	Term                 uint64
	LastIndex, Applied   uint64
	Snapshot             uint64 // index of the newest snapshot
	Materialised         uint64 // index of the materialised copy
	State                string // Raft's word: Leader, Follower, Candidate, Shutdown
	QueuedBytes          int
	Batches, Commands    uint64 // proposed since the start
	LogBytes, StateBytes int64  // on disk
}

// Status returns the current status. It costs a few locks and two calls of stat.
func (s *Store) Status() Status {
	_, leader := s.raft.LeaderWithID()
	st := Status{
		NodeID: s.cfg.NodeID, LeaderID: nodeOf(leader), Term: s.raft.CurrentTerm(), LastIndex: s.raft.LastIndex(),
		Applied: s.fsm.seen.Load(), Snapshot: s.fsm.kept.Load(), Materialised: s.materials.index.Load(),
		State: s.raft.State().String(), LogBytes: s.files.logBytes(), StateBytes: fileSize(s.files.statePath()),
	}
	p := s.proposer
	p.mu.Lock()
	defer p.mu.Unlock()
	st.QueuedBytes, st.Batches, st.Commands = p.queued, p.batches, p.commands
	return st
}

// Close hands leadership over where there is someone to take it, writes the materialised copy, and closes the files.
// Commands that are on their way are waited for until ctx is done. The owner must answer until Close has returned. When the
// disk does not answer, Close returns an error soon after ctx is done, and the directory stays locked until the process ends.
func (s *Store) Close(ctx context.Context) error {
	s.closeOnce.Do(func() { s.closeErr = s.close(ctx) })
	return s.closeErr
}

func (s *Store) close(ctx context.Context) error {
	s.proposer.close()
	drained := s.proposer.drained(ctx.Done())
	if !s.cfg.lone() && s.raft.State() == raft.Leader {
		s.handOver(ctx)
	}
	s.resign(0)
	down := make(chan error, 1)
	go func() { down <- s.raft.Shutdown().Error() }()
	var err error
	select {
	case err = <-down:
	case <-ctx.Done():
		select {
		case err = <-down:
		case <-time.After(closeGrace):
			// Raft's loop is in a write that does not return. The files must stay open under it.
			return fmt.Errorf("raftstore: the disk does not answer, and %s is left as after a crash: %w", s.cfg.Dir, ctx.Err())
		}
	}
	s.halt(drained)
	if !s.poison.failed.Load() {
		s.fsm.collect() // nothing is applied any more
	}
	s.materials.close()
	return errors.Join(err, s.closeFiles())
}

// halt ends the goroutines. What Raft left unanswered when it was shut down will never be answered, and is not waited for.
func (s *Store) halt(drained bool) {
	close(s.stop)
	close(s.confirmer.stop)
	close(s.proposer.stop)
	s.wg.Wait()
	answered := make(chan struct{})
	go func() {
		s.sender.Wait()
		close(answered)
	}()
	if drained {
		<-answered
		return
	}
	select {
	case <-answered:
	case <-time.After(closeGrace):
	}
}

// handOver asks Raft to let another voter lead, a few times because one may just be behind.
func (s *Store) handOver(ctx context.Context) {
	for range 3 {
		done := make(chan error, 1)
		go func() { done <- s.raft.LeadershipTransfer().Error() }()
		select {
		case err := <-done:
			if err == nil {
				return
			}
			s.log.Warn("leadership was not handed over", zap.Error(err))
		case <-ctx.Done():
			return
		}
	}
}

func (s *Store) closeFiles() error {
	var errs []error
	if c, ok := s.transport.(interface{ Close() error }); ok {
		errs = append(errs, c.Close())
	}
	errs = append(errs, s.files.log.Close(), s.files.stable.Close(), s.files.state.Close())
	s.dir.close()
	return errors.Join(errs...)
}

// abort undoes a start that failed.
func (s *Store) abort() {
	if s.raft != nil {
		_ = s.raft.Shutdown().Error()
	}
	if s.materials != nil {
		s.materials.close()
	}
	if c, ok := s.transport.(interface{ Close() error }); ok {
		_ = c.Close()
	}
	if s.files != nil {
		s.files.close()
	}
	s.dir.close()
}

func (f *files) logBytes() int64 {
	if _, ok := f.log.closableLog.(*boltLog); ok {
		return fileSize(filepath.Join(f.dir, "log.db"))
	}
	var n int64
	found, err := os.ReadDir(filepath.Join(f.dir, "wal"))
	if err != nil {
		return 0
	}
	for _, e := range found {
		if i, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".wal") {
			n += i.Size()
		}
	}
	return n
}

func fileSize(path string) int64 {
	i, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return i.Size()
}
