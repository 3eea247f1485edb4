package raftstore

import (
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
)

// walLog is raft.LogStore on raft-wal's segments.
type walLog struct {
	*wal.WAL
	meta *metadb.BoltMetaDB
}

func openWALLog(dir string, log hclog.Logger) (*walLog, error) {
	if err := mkdirSynced(dir); err != nil {
		return nil, fmt.Errorf("raftstore: %s cannot be created: %w", dir, err)
	}
	// The WAL never closes the meta store that it opens by itself, and its lock would outlive the WAL.
	meta := &metadb.BoltMetaDB{}
	w, err := wal.Open(dir, wal.WithMetaStore(meta), wal.WithLogger(log))
	if err != nil {
		_ = meta.Close()
		return nil, fmt.Errorf("%w: the log in %s cannot be opened: %w", ErrDamaged, dir, err)
	}
	return &walLog{WAL: w, meta: meta}, nil
}

func (w *walLog) Close() error { return errors.Join(w.WAL.Close(), w.meta.Close()) }

// GetLog reads one entry, or returns raft.ErrLogNotFound, also for one that was truncated but still lies in a segment.
func (w *walLog) GetLog(index uint64, l *raft.Log) error {
	first, err := w.FirstIndex()
	if err != nil {
		return err
	}
	if index < first {
		return raft.ErrLogNotFound
	}
	return w.WAL.GetLog(index, l)
}
