package raftstore

import (
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"
)

// watchLeadership follows Raft's notifications, which must always be drained.
func (s *Store) watchLeadership() {
	for {
		select {
		case <-s.stop:
			return
		case leads := <-s.notify:
			if leads {
				s.mark()
			} else {
				s.resign(0)
			}
		}
	}
}

// mark proposes an empty batch. When it is applied, everything before it in the log has been handed to the owner: that is
// Raft's barrier, but seen by the state machine itself, so that Handler.Lead comes in log order.
func (s *Store) mark() {
	b := make([]byte, envelopeHead)
	now := time.Now()
	putEnvelopeHead(b, s.proposer.origin, 0, now.UnixMilli())
	s.marked.Store(now.UnixNano())
	// The future is not waited for: the state machine sees a success, and a failure is a lost leadership, which is notified,
	// or one that watchMarker repairs.
	s.raft.Apply(b, s.cfg.ProposeTimeout)
}

// led is called when a marker of this node was applied.
func (s *Store) led(term uint64) {
	s.leadMu.Lock()
	defer s.leadMu.Unlock()
	if s.leading == term || s.raft.State() != raft.Leader || s.raft.CurrentTerm() != term {
		return // leadership was lost meanwhile, or is announced already
	}
	s.leading = term
	s.proposer.lead(term)
	s.log.Info("this node leads", zap.Uint64("term", term))
	s.handler.Lead(term)
}

// resign tells the owner that the term is over (0: any), and then reports what was never sent.
func (s *Store) resign(term uint64) {
	s.leadMu.Lock()
	defer s.leadMu.Unlock()
	if s.leading == 0 || (term != 0 && s.leading != term) {
		return
	}
	unsent := s.proposer.resign()
	_, id := s.raft.LeaderWithID()
	leader := nodeOf(id)
	if leader == s.cfg.NodeID {
		leader = 0
	}
	s.log.Info("this node leads no more", zap.Uint64("term", s.leading), zap.Uint64("leader", leader))
	s.leading = 0
	s.handler.Resign(leader)
	if len(unsent) > 0 {
		s.handler.Failed(unsent, ErrNotLeader, false)
	}
}

// watchMarker repeats a marker that Raft refused, for example because leadership was being handed over in vain.
func (s *Store) watchMarker(now time.Time) {
	if s.raft.State() != raft.Leader {
		return
	}
	s.leadMu.Lock()
	leading := s.leading
	s.leadMu.Unlock()
	if leading == 0 && now.UnixNano()-s.marked.Load() > int64(s.cfg.ProposeTimeout) {
		s.mark()
	}
}

// watchStall deals with a disk that does not answer. Heartbeats go on without it, so the followers would wait for ever.
func (s *Store) watchStall(now time.Time) {
	stalled := s.files.log.stalled(now)
	sent, ok := s.proposer.oldest()
	late := ok && now.Sub(sent) > s.cfg.StallTimeout
	if stalled <= s.cfg.StallTimeout && !late {
		s.stallLogged = false
		return
	}
	if !s.stallLogged {
		s.stallLogged = true
		s.log.Error("commits do not come through", zap.Duration("disk_silent", stalled), zap.Bool("lone_voter", s.cfg.lone()))
		if !s.cfg.lone() && s.raft.State() == raft.Leader {
			// Raft takes this up as soon as its loop is free again; the future is of no use.
			s.raft.LeadershipTransfer()
		}
	}
	if !s.cfg.lone() && stalled > 2*s.cfg.StallTimeout && s.raft.State() == raft.Leader {
		// Its loop is not free: only the end of the process lets another voter lead.
		s.cfg.Fatal(errStalled)
	}
}
