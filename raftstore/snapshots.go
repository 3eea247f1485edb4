package raftstore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// retainedSnapshots is how many snapshots stay on disk: should the newest be damaged, the log of the older one is gone,
// but the older one still tells something to the operator.
const retainedSnapshots = 2

// snapshots is raft.SnapshotStore on the library's file store. While Raft starts it also lists the materialised copy,
// which is as good as a snapshot and usually newer, so that Raft neither scans nor replays the entries before it.
type snapshots struct {
	*raft.FileSnapshotStore

	mu     sync.Mutex
	hidden map[string]bool
	copied *raft.SnapshotMeta
}

func openSnapshots(dir string, log hclog.Logger) (*snapshots, error) {
	if err := removeUnfinished(filepath.Join(dir, "snapshots")); err != nil {
		return nil, fmt.Errorf("raftstore: unfinished snapshots in %s cannot be removed: %w", dir, err)
	}
	files, err := raft.NewFileSnapshotStoreWithLogger(dir, retainedSnapshots, log)
	if err != nil {
		return nil, fmt.Errorf("raftstore: the snapshots in %s cannot be opened: %w", dir, err)
	}
	return &snapshots{FileSnapshotStore: files, hidden: map[string]bool{}}, nil
}

// removeUnfinished removes what a crash left of snapshots that were being written.
func removeUnfinished(dir string) error {
	found, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, f := range found {
		if strings.HasSuffix(f.Name(), ".tmp") {
			if err := os.RemoveAll(filepath.Join(dir, f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// List lists the snapshots that can be used, newest first.
func (s *snapshots) List() ([]*raft.SnapshotMeta, error) {
	found, err := s.FileSnapshotStore.List()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*raft.SnapshotMeta, 0, len(found)+1)
	if s.copied != nil {
		list = append(list, s.copied)
	}
	for _, m := range found {
		if !s.hidden[m.ID] {
			list = append(list, m)
		}
	}
	return list, nil
}

// hide keeps a damaged snapshot from Raft and from followers.
func (s *snapshots) hide(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden[id] = true
}

// offerCopy lists the materialised copy as the newest snapshot, or stops doing so.
func (s *snapshots) offerCopy(m *raft.SnapshotMeta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.copied = m
}

// read opens a snapshot after its checksum was compared with the file's bytes.
func (s *snapshots) read(id string) (*snapshotReader, io.Closer, error) {
	_, rc, err := s.Open(id)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s: %w", errSnapshotDamaged, id, err)
	}
	r, err := newSnapshotReader(rc)
	if err != nil {
		_ = rc.Close()
		return nil, nil, err
	}
	return r, rc, nil
}

// header reads only the head of a snapshot.
func (s *snapshots) header(dir, id string) (position, error) {
	f, err := os.Open(filepath.Join(dir, "snapshots", id, "state.bin"))
	if err != nil {
		return position{}, err
	}
	defer f.Close()
	r, err := newSnapshotReader(f)
	if err != nil {
		return position{}, err
	}
	return r.pos, nil
}

// maxSnapshotMeta bounds a snapshot's description.
const maxSnapshotMeta = 8 << 20

// listSnapshotMetas reads the descriptions of the finished snapshots in a directory, newest first.
func listSnapshotMetas(dir string) ([]*raft.SnapshotMeta, error) {
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []*raft.SnapshotMeta
	for _, e := range found {
		if !e.IsDir() || strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name(), "meta.json"))
		if err != nil {
			continue // an unreadable snapshot is none
		}
		var m raft.SnapshotMeta
		err = json.NewDecoder(io.LimitReader(f, maxSnapshotMeta)).Decode(&m)
		_ = f.Close()
		if err == nil && m.ID == e.Name() {
			list = append(list, &m)
		}
	}
	slices.SortFunc(list, func(a, b *raft.SnapshotMeta) int {
		return cmp.Or(cmp.Compare(b.Term, a.Term), cmp.Compare(b.Index, a.Index), strings.Compare(b.ID, a.ID))
	})
	return list, nil
}
