package raftstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// formatVersion is the layout of the data directory: 1.
const formatVersion = 1

const (
	metaFile = "meta"
	lockFile = "lock"
	raftDir  = "raft"
)

// Errors of Open and OpenReader, each wrapped into one sentence for the operator.
var (
	ErrInUse           = errors.New("raftstore: the data directory is in use")
	ErrOtherNode       = errors.New("raftstore: the data directory belongs to another node")
	ErrOtherCluster    = errors.New("raftstore: the data directory belongs to another Kafka cluster")
	ErrNewerFormat     = errors.New("raftstore: the data directory was written by a newer version")
	ErrOtherLogStore   = errors.New("raftstore: the data directory keeps its log in another store")
	ErrOtherVoters     = errors.New("raftstore: the data directory was set up for other voters")
	ErrDamaged         = errors.New("raftstore: the data directory is damaged")
	ErrNoDataDirectory = errors.New("raftstore: there is no data directory")
)

// Identity is what a data directory says about itself, kept as JSON in the file "meta".
type Identity struct {
	Format    int    `json:"format"`               // 1
	NodeID    uint64 `json:"node_id"`              // at least 1
	ClusterID string `json:"cluster_id,omitempty"` // Kafka's cluster.id; empty until it is known
	LogStore  string `json:"log_store"`            // "bbolt" or "wal"
	LogMade   bool   `json:"log_made,omitempty"`   // the log has had its first entry, so that it must be there from now on
}

// directory is a locked data directory.
type directory struct {
	path string
	lock *os.File
	id   Identity
}

// openDirectory locks the directory, creating it when it does not exist, and compares what it records with the configuration.
func openDirectory(cfg *Config) (*directory, error) {
	if err := mkdirSynced(cfg.Dir); err != nil {
		return nil, fmt.Errorf("raftstore: the data directory %s cannot be created: %w", cfg.Dir, err)
	}
	crashpoint("directory-created")
	d := &directory{path: cfg.Dir}
	var err error
	if d.lock, err = lockDirectory(cfg.Dir, unix.LOCK_EX); err != nil {
		return nil, err
	}
	err = d.identify(cfg)
	if err == nil {
		err = checkRoom(cfg.Dir)
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *directory) identify(cfg *Config) error {
	id, err := readIdentity(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Join(d.path, raftDir)); err == nil {
			return fmt.Errorf("%w: %s holds a Raft log but its file %q is missing", ErrDamaged, d.path, metaFile)
		}
		d.id = Identity{Format: formatVersion, NodeID: cfg.NodeID, ClusterID: cfg.ClusterID, LogStore: cfg.LogStore}
		return d.write()
	case err != nil:
		return err
	}
	d.id = id
	if id.NodeID != cfg.NodeID {
		return fmt.Errorf("%w: %s is of node %d, and this is node %d", ErrOtherNode, d.path, id.NodeID, cfg.NodeID)
	}
	if id.LogStore != cfg.LogStore {
		return fmt.Errorf("%w: %s has its log in %s, and %s is asked for", ErrOtherLogStore, d.path, id.LogStore, cfg.LogStore)
	}
	if err := d.checkMark(cfg.Shard); err != nil {
		return err
	}
	if cfg.ClusterID == "" {
		return nil
	}
	return d.setClusterID(cfg.ClusterID)
}

// setClusterID records Kafka's cluster.id where none is recorded yet, and refuses another one.
func (d *directory) setClusterID(cluster string) error {
	switch d.id.ClusterID {
	case cluster:
		return nil
	case "":
		old := d.id
		d.id.ClusterID = cluster
		if err := d.write(); err != nil {
			d.id = old
			return err
		}
		return nil
	}
	return fmt.Errorf("%w: %s is of Kafka cluster %q, and the brokers are of %q", ErrOtherCluster, d.path, d.id.ClusterID, cluster)
}

// markLog records that the log has been made. Directories from before this mark get it at their next start.
func (d *directory) markLog() error {
	if d.id.LogMade {
		return nil
	}
	d.id.LogMade = true
	if err := d.write(); err != nil {
		d.id.LogMade = false
		return err
	}
	return nil
}

// checkMark refuses a marked directory whose log is not there: to start with an empty one would forget what was
// acknowledged, and without the file of the term and the vote this node could vote twice.
func (d *directory) checkMark(shard uint32) error {
	if !d.id.LogMade {
		return nil
	}
	log := "log.db"
	if d.id.LogStore == LogStoreWAL {
		log = "wal"
	}
	for _, name := range []string{log, "stable.db"} {
		path := filepath.Join(shardDir(d.path, shard), name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s has been in use, but %s is missing; put it back, or begin with another directory", ErrDamaged, d.path, path)
		} else if err != nil {
			return fmt.Errorf("raftstore: %s cannot be looked at: %w", path, err)
		}
	}
	return nil
}

// write replaces the file "meta" in one step that survives a crash.
func (d *directory) write() error {
	b, err := json.Marshal(d.id)
	if err != nil {
		return err
	}
	path := filepath.Join(d.path, metaFile)
	if err := writeSynced(path+".new", append(b, '\n')); err != nil {
		return fmt.Errorf("raftstore: %s cannot be written: %w", path, err)
	}
	crashpoint("meta-written")
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("raftstore: %s cannot be replaced: %w", path, err)
	}
	crashpoint("meta-renamed")
	return syncDir(d.path)
}

func (d *directory) close() {
	// Closing the file gives up the lock; nothing is buffered in it.
	_ = d.lock.Close()
}

// shard names the directory of one shard.
func shardDir(dir string, shard uint32) string {
	return filepath.Join(dir, raftDir, strconv.FormatUint(uint64(shard), 10))
}

// maxIdentity bounds the file "meta", which holds two short strings.
const maxIdentity = 64 << 10

func readIdentity(dir string) (Identity, error) {
	path := filepath.Join(dir, metaFile)
	f, err := os.Open(path)
	if err != nil {
		return Identity{}, fmt.Errorf("raftstore: %s cannot be read: %w", path, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxIdentity+1))
	if err != nil {
		return Identity{}, fmt.Errorf("raftstore: %s cannot be read: %w", path, err)
	}
	var id Identity
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&id); err != nil || len(b) > maxIdentity {
		return Identity{}, fmt.Errorf("%w: %s is not what this program writes", ErrDamaged, path)
	}
	if id.Format > formatVersion {
		return Identity{}, fmt.Errorf("%w: %s has format %d, and this program knows up to %d", ErrNewerFormat, dir, id.Format, formatVersion)
	}
	if id.Format < 1 || id.NodeID == 0 || (id.LogStore != LogStoreBBolt && id.LogStore != LogStoreWAL) {
		return Identity{}, fmt.Errorf("%w: %s is not what this program writes", ErrDamaged, path)
	}
	return id, nil
}

// lockDirectory takes the lock for as long as the returned file is open; how is LOCK_EX or LOCK_SH.
func lockDirectory(dir string, how int) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	flags := os.O_RDWR | os.O_CREATE
	if how == unix.LOCK_SH {
		flags = os.O_RDONLY
	}
	f, err := os.OpenFile(path, flags, 0o640)
	if err != nil {
		return nil, fmt.Errorf("raftstore: %s cannot be opened: %w", path, err)
	}
	if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: another process holds %s", ErrInUse, path)
		}
		return nil, fmt.Errorf("raftstore: %s cannot be locked: %w", path, err)
	}
	return f, nil
}

func writeSynced(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// mkdirSynced creates the directory and those above it, each durable in its parent before anything is put into it.
func mkdirSynced(path string) error {
	st, err := os.Stat(path)
	if err == nil {
		if !st.IsDir() {
			return errors.New("it is not a directory")
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := mkdirSynced(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}
