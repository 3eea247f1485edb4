package raftstore

import (
	"context"
	"errors"
)

// Errors of Propose and of Failed.
var (
	ErrNotLeader = errors.New("raftstore: this node does not lead")
	ErrBusy      = errors.New("raftstore: too many bytes wait to be proposed")
	ErrClosed    = errors.New("raftstore: closed")
)

// Store is one shard's replicated log.
type Store struct{}

// Open opens or creates the data directory, loads the newer of the materialised copy and the newest snapshot into h,
// and starts Raft. Errors are one sentence for the operator (directory in use, another node's directory, another Kafka
// cluster's, a newer format).
func Open(cfg Config, h Handler) (*Store, error) { panic("to be written") }

// Propose queues one command. It never blocks and copies cmd. The answer comes through Handler.Apply with the same ref,
// or through Handler.Failed. An error here means that neither will come.
func (s *Store) Propose(ref Ref, cmd []byte) error { panic("to be written") }

// Confirm calls done once this node has proved that it still leads (a lone voter: at once), so that what was read before
// the call was not stale. Calls that wait together share one round.
func (s *Store) Confirm(done func(err error)) { panic("to be written") }

// SetClusterID records Kafka's cluster.id in a directory that has none yet, and refuses another one.
func (s *Store) SetClusterID(id string) error { panic("to be written") }

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

// Status returns the current status.
func (s *Store) Status() Status { panic("to be written") }

// Close hands leadership over where there is someone to take it, writes the materialised copy, and closes the files.
func (s *Store) Close(ctx context.Context) error { panic("to be written") }
