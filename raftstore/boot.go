package raftstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
	"go.uber.org/zap"
)

// files are the open files of one shard.
type files struct {
	dir       string
	log       *guardedLog
	stable    *boltStable
	state     *stateDB
	snapshots *snapshots
}

// openFiles opens or creates them. A copy of the state that cannot be opened is left nil and told in damage.
func openFiles(cfg *Config, p *poison) (f *files, damage, err error) {
	f = &files{dir: shardDir(cfg.Dir, cfg.Shard)}
	if err := mkdirSynced(f.dir); err != nil {
		return nil, nil, fmt.Errorf("raftstore: %s cannot be created: %w", f.dir, err)
	}
	crashpoint("shard-created")
	defer func() {
		if err != nil {
			f.close()
			f = nil
		}
	}()
	var store closableLog
	if cfg.LogStore == LogStoreWAL {
		store, err = openWALLog(filepath.Join(f.dir, "wal"), newHCLog(cfg.Logger, cfg.lone()))
	} else {
		store, err = openBoltLog(filepath.Join(f.dir, "log.db"))
	}
	if err != nil {
		return f, nil, err
	}
	if cfg.wrapLog != nil {
		store = cfg.wrapLog(store)
	}
	f.log = &guardedLog{closableLog: store, poison: p, observer: cfg.Observer, dir: f.dir}
	if f.stable, err = openBoltStable(filepath.Join(f.dir, "stable.db"), p); err != nil {
		return f, nil, err
	}
	if f.snapshots, err = openSnapshots(f.dir, newHCLog(cfg.Logger, cfg.lone())); err != nil {
		return f, nil, err
	}
	f.state, err = openState(f.statePath())
	if errors.Is(err, ErrDamaged) {
		return f, err, nil
	}
	return f, nil, err
}

func (f *files) statePath() string { return filepath.Join(f.dir, "state.db") }

func (f *files) close() {
	if f.log != nil {
		_ = f.log.Close()
	}
	if f.stable != nil {
		_ = f.stable.Close()
	}
	if f.state != nil {
		_ = f.state.Close()
	}
}

// booted is what the start found out.
type booted struct {
	pos     position           // where the state was loaded
	copied  *raft.SnapshotMeta // the materialised copy as a snapshot for Raft to start from; nil if a snapshot is as new
	rewrite []Change           // the whole state, when the copy must be brought to it
	renew   bool               // the copy must be brought to rewrite
	newest  uint64             // index of the newest snapshot, 0 if there is none
	lag     uint64             // entries between the newest snapshot and pos
}

// boot loads the newest sound copy of the state into the owner. It refuses when what is left on the disk does not reach
// from a sound copy to the end of the log without a gap, because then something that was acknowledged is lost.
func (f *files) boot(cfg *Config, h Handler, damage error) (*booted, error) {
	first, err := f.log.FirstIndex()
	if err != nil {
		return nil, err
	}
	last, err := f.log.LastIndex()
	if err != nil {
		return nil, err
	}
	var pos position
	if damage == nil {
		pos, damage = f.state.position()
	}
	faults := damage
	for {
		meta, head, err := f.newestSnapshot()
		if err != nil {
			return nil, err
		}
		b := &booted{}
		if meta != nil {
			b.newest = meta.Index
		}
		switch {
		case damage == nil && pos.index > 0 && (meta == nil || pos.index >= head.index):
			if err := f.loadCopy(h, pos); err != nil {
				damage, faults = err, errors.Join(faults, err)
				continue
			}
			b.pos = pos
			base := b.newest
			if meta != nil {
				b.pos.newestConfiguration(meta.ConfigurationIndex, meta.Configuration)
			}
			b.lag = max(pos.index, base) - base
			if pos.index > base {
				if b.copied, err = copyAsSnapshot(b.pos); err != nil {
					return nil, err
				}
				base = pos.index
			}
			if err := f.checkLog(cfg, base, first, last, b.copied != nil, &pos); err != nil {
				return nil, errors.Join(err, faults)
			}
		case meta != nil:
			if b.rewrite, err = f.loadSnapshot(h, meta); err != nil {
				cfg.Logger.Error("a snapshot is passed over", zap.String("snapshot", meta.ID), zap.Error(err))
				f.snapshots.hide(meta.ID)
				faults = errors.Join(faults, err)
				continue
			}
			b.pos, b.renew = head, true
			b.pos.newestConfiguration(meta.ConfigurationIndex, meta.Configuration)
			if err := f.checkLog(cfg, meta.Index, first, last, false, nil); err != nil {
				return nil, errors.Join(err, faults)
			}
		default:
			if err := f.checkLog(cfg, 0, first, last, false, nil); err != nil {
				return nil, errors.Join(err, faults)
			}
			if err := h.Load(0, func() ([]byte, []byte, bool, error) { return nil, nil, false, nil }); err != nil {
				return nil, fmt.Errorf("raftstore: the owner refuses the empty state: %w", err)
			}
			b.renew = damage != nil
		}
		if damage != nil {
			if err := f.replaceState(cfg, damage); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
}

// newestSnapshot returns the newest snapshot whose head can be read; nil if there is none.
func (f *files) newestSnapshot() (*raft.SnapshotMeta, position, error) {
	for {
		list, err := f.snapshots.List()
		if err != nil {
			return nil, position{}, fmt.Errorf("raftstore: the snapshots in %s cannot be listed: %w", f.dir, err)
		}
		if len(list) == 0 {
			return nil, position{}, nil
		}
		head, err := f.snapshots.header(f.dir, list[0].ID)
		if err == nil && head.index <= list[0].Index {
			return list[0], head, nil
		}
		f.snapshots.hide(list[0].ID)
	}
}

// checkLog refuses a log that does not go on from base, up to where the state is known to have been.
func (f *files) checkLog(cfg *Config, base, first, last uint64, fromCopy bool, pos *position) error {
	if last > 0 && first > base+1 {
		return fmt.Errorf("%w: the log in %s begins at %d, and no sound copy of the state reaches further than %d", ErrDamaged, f.dir, first, base)
	}
	if last < base && (cfg.lone() || fromCopy) {
		return fmt.Errorf("%w: the log in %s ends at %d, and the state was at %d already", ErrDamaged, f.dir, last, base)
	}
	if pos != nil && pos.index >= first && pos.index <= last && first > 0 {
		var l raft.Log
		if err := f.log.GetLog(pos.index, &l); err != nil {
			return fmt.Errorf("%w: entry %d of the log in %s cannot be read: %w", ErrDamaged, pos.index, f.dir, err)
		}
		if l.Term != pos.term {
			return fmt.Errorf("%w: the log and the copy of the state in %s are not of one history (entry %d has term %d and term %d)",
				ErrDamaged, f.dir, pos.index, l.Term, pos.term)
		}
	}
	if last > 0 && last < base {
		// The process ended between the installation of a snapshot and the removal of the log that it replaced.
		if err := f.log.DeleteRange(first, last); err != nil {
			return err
		}
	}
	return nil
}

// loadCopy loads the materialised copy. An error means that the copy cannot be used, and that the owner kept its old state.
func (f *files) loadCopy(h Handler, pos position) error {
	_, err := guardFaults(func() (struct{}, error) {
		return struct{}{}, f.state.db.View(func(tx *bbolt.Tx) error { return h.Load(pos.index, values(tx)) })
	})
	if err != nil {
		return fmt.Errorf("raftstore: the materialised copy in %s cannot be loaded: %w", f.dir, err)
	}
	return nil
}

func (f *files) loadSnapshot(h Handler, meta *raft.SnapshotMeta) ([]Change, error) {
	r, closer, err := f.snapshots.read(meta.ID)
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	return loadSnapshot(h, r)
}

func copyAsSnapshot(p position) (*raft.SnapshotMeta, error) {
	c, err := p.configuration()
	if err != nil {
		return nil, err
	}
	return &raft.SnapshotMeta{
		Version: raft.SnapshotVersionMax, ID: "materialised-" + strconv.FormatUint(p.index, 10), Index: p.index, Term: p.term,
		Configuration: c, ConfigurationIndex: p.confIndex,
	}, nil
}

// replaceState puts a damaged copy aside, for someone to look at, and begins a new one.
func (f *files) replaceState(cfg *Config, damage error) error {
	path := f.statePath()
	cfg.Logger.Error("the materialised copy is damaged and is made anew", zap.String("kept", path+".damaged"), zap.Error(damage))
	if f.state != nil {
		_ = f.state.Close()
		f.state = nil
	}
	if err := os.Rename(path, path+".damaged"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("raftstore: the damaged %s cannot be put aside: %w", path, err)
	}
	crashpoint("state-set-aside")
	var err error
	f.state, err = openState(path)
	return err
}
