package raftstore

import (
	"errors"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
)

// writeBehind brings the materialised copy up to date now and then. It waits for the owner, so nothing else is done here.
func (s *Store) writeBehind() {
	ticker := time.NewTicker(s.cfg.WriteBehind)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			// A copy that is still being written takes the changes of the next tick along.
			if !s.materials.busy() {
				s.fsm.collect()
			}
		}
	}
}

// keepHouse looks after what waits too long, and after the log's length.
func (s *Store) keepHouse() {
	watch := min(250*time.Millisecond, max(10*time.Millisecond, min(s.cfg.ProposeTimeout, s.cfg.StallTimeout)/10))
	watcher := time.NewTicker(watch)
	defer watcher.Stop()
	for {
		select {
		case <-s.stop:
			return
		case now := <-watcher.C:
			s.proposer.expire(now)
			s.watchStall(now)
			s.watchMarker(now)
			s.watchBytes()
			if s.behind && s.fsm.seen.Load() > s.fsm.loaded.Load() {
				s.behind = false
				s.askSnapshot()
			}
		}
	}
}

// watchBytes asks for a snapshot when the log has grown by more than the bound, whatever the number of entries, and keeps
// the trailing entries within the same bound.
func (s *Store) watchBytes() {
	total := s.files.log.bytes.Load()
	if total-s.snapshotLog.Load() < s.cfg.SnapshotBytes {
		return
	}
	s.snapshotLog.Store(total)
	if average := total / max(1, s.files.log.entries.Load()); average > 0 {
		rc := s.raft.ReloadableConfig()
		rc.TrailingLogs = min(s.cfg.TrailingLogs, max(1, s.cfg.SnapshotBytes/average))
		if err := s.raft.ReloadConfig(rc); err != nil {
			s.log.Error("the number of trailing entries cannot be changed", zap.Error(err))
		}
	}
	s.askSnapshot()
}

func (s *Store) askSnapshot() {
	select {
	case s.snapshotAsked <- struct{}{}:
	default:
	}
}

// takeSnapshots takes those that were asked for; Raft takes others by itself when enough entries have come.
func (s *Store) takeSnapshots() {
	for {
		select {
		case <-s.stop:
			return
		case <-s.snapshotAsked:
		}
		err := s.raft.Snapshot().Error()
		if err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) && !errors.Is(err, raft.ErrRaftShutdown) {
			s.log.Error("no snapshot could be taken", zap.Error(err))
		}
	}
}
