package raftstore

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"go.uber.org/zap"
)

// Log stores that Config.LogStore names.
const (
	LogStoreBBolt = "bbolt"
	LogStoreWAL   = "wal"
)

// Defaults of Config.
const (
	defaultLoneTimeout       = 25 * time.Millisecond
	maxLoneTimeout           = 100 * time.Millisecond
	defaultClusterTimeout    = 500 * time.Millisecond
	defaultSnapshotInterval  = 10 * time.Second
	defaultSnapshotThreshold = 20_000
	defaultSnapshotBytes     = 256 << 20
	defaultTrailingLogs      = 50_000
	// A lone voter has no follower that could need old entries, and a short log opens faster.
	defaultLoneTrailingLogs = 1_024
	defaultWriteBehind      = time.Second
	defaultQueueBytes       = 8 << 20
	defaultProposeTimeout   = 5 * time.Second
	defaultStallTimeout     = 5 * time.Second
)

// Config says where and how a shard's log is kept.
type Config struct {
	NodeID    uint64 // --node-id, at least 1
	Shard     uint32 // 0
	Dir       string // --data-dir
	ClusterID string // Kafka's cluster.id, recorded in the directory; a mismatch refuses to open. Empty: not known yet (see Store.SetClusterID)
	LogStore  string // --raft-log-store: "bbolt" (default) or "wal"

	Listen string // --raft-listen; with a single voter nothing is bound
	Peers  []Peer // --cluster; empty: a single voter

	HeartbeatTimeout  time.Duration // 500 ms in a cluster, at most 100 ms for a lone voter (25 ms by default)
	SnapshotInterval  time.Duration // default 10 s
	SnapshotThreshold uint64        // entries, default 20000
	SnapshotBytes     uint64        // log bytes since the last snapshot that force one, default 256 MiB
	TrailingLogs      uint64        // entries kept behind a snapshot, default 50000 (1024 for a lone voter), fewer if they exceed SnapshotBytes
	WriteBehind       time.Duration // how often the materialised copy is brought up to date, default 1 s
	QueueBytes        int           // bytes of commands waiting to be proposed before Propose refuses, default 8 MiB
	ProposeTimeout    time.Duration // how long a command may wait for its commit before Failed tells that nobody knows, default 5 s
	StallTimeout      time.Duration // how long one write to the log may take before the disk counts as stalled, default 5 s

	// Fatal is called when the disk has refused a write or a sync, after which nothing that this process believes about the
	// file can be trusted, and when a committed entry cannot be read, which must not be passed over. It must not return in
	// production; the default logs and ends the process with status 1. The store acknowledges nothing more, should it return.
	Fatal    func(err error)
	Observer Observer // optional
	Logger   *zap.Logger

	wrapLog func(closableLog) closableLog // tests put a faulty disk here
}

// Peer is an initial voter.
type Peer struct {
	ID   uint64
	Addr string
}

// Observer is told what the metrics show. It is called on hot paths from several goroutines at once: it must neither
// block nor allocate.
type Observer interface {
	// Proposed tells that a batch of commands, and their bytes with framing, was handed to Raft.
	Proposed(commands, bytes int)
	// Synced tells how long one append of entries to the log took, its syncs included.
	Synced(entries int, d time.Duration)
	// Committed tells how long an own batch took from being handed to Raft until it was applied.
	Committed(d time.Duration)
	// Materialised tells how many changes were written behind to the materialised copy, and how long that took.
	Materialised(changes int, d time.Duration)
}

// lone tells whether the configuration names no voter but this node.
func (c *Config) lone() bool { return len(c.Peers) <= 1 }

// validate refuses contradictory values and fills in the defaults.
func (c *Config) validate() error {
	if c.NodeID == 0 {
		return errors.New("raftstore: the node id must be at least 1")
	}
	if c.Dir == "" {
		return errors.New("raftstore: no data directory is given")
	}
	switch c.LogStore {
	case "":
		c.LogStore = LogStoreBBolt
	case LogStoreBBolt, LogStoreWAL:
	default:
		return fmt.Errorf("raftstore: the log store %q is neither %q nor %q", c.LogStore, LogStoreBBolt, LogStoreWAL)
	}
	if err := c.validatePeers(); err != nil {
		return err
	}
	if c.QueueBytes < 0 {
		return fmt.Errorf("raftstore: the queue's bound of %d bytes is negative", c.QueueBytes)
	}
	for _, d := range []time.Duration{c.HeartbeatTimeout, c.SnapshotInterval, c.WriteBehind, c.ProposeTimeout, c.StallTimeout} {
		if d < 0 {
			return fmt.Errorf("raftstore: the duration %s is negative", d)
		}
	}
	c.applyDefaults()
	if c.lone() && c.HeartbeatTimeout > maxLoneTimeout {
		c.HeartbeatTimeout = maxLoneTimeout
	}
	return nil
}

func (c *Config) validatePeers() error {
	if len(c.Peers) == 0 {
		return nil
	}
	self := false
	ids := make(map[uint64]bool, len(c.Peers))
	addrs := make(map[string]bool, len(c.Peers))
	for _, p := range c.Peers {
		if p.ID == 0 {
			return errors.New("raftstore: a voter's node id must be at least 1")
		}
		if _, _, err := net.SplitHostPort(p.Addr); err != nil {
			return fmt.Errorf("raftstore: the address %q of voter %d is not host:port: %w", p.Addr, p.ID, err)
		}
		if ids[p.ID] {
			return fmt.Errorf("raftstore: voter %d is named twice", p.ID)
		}
		if addrs[p.Addr] {
			return fmt.Errorf("raftstore: the address %s is given to two voters", p.Addr)
		}
		ids[p.ID], addrs[p.Addr] = true, true
		self = self || p.ID == c.NodeID
	}
	if !self {
		return fmt.Errorf("raftstore: this node, %d, is not among the voters", c.NodeID)
	}
	if !c.lone() && c.Listen == "" {
		return errors.New("raftstore: several voters are named but no address to listen on for them")
	}
	return nil
}

func (c *Config) applyDefaults() {
	heartbeat, trailing := defaultClusterTimeout, uint64(defaultTrailingLogs)
	if c.lone() {
		heartbeat, trailing = defaultLoneTimeout, defaultLoneTrailingLogs
	}
	orDefault(&c.HeartbeatTimeout, heartbeat)
	orDefault(&c.SnapshotInterval, defaultSnapshotInterval)
	orDefault(&c.SnapshotThreshold, defaultSnapshotThreshold)
	orDefault(&c.SnapshotBytes, defaultSnapshotBytes)
	orDefault(&c.TrailingLogs, trailing)
	orDefault(&c.WriteBehind, defaultWriteBehind)
	orDefault(&c.QueueBytes, defaultQueueBytes)
	orDefault(&c.ProposeTimeout, defaultProposeTimeout)
	orDefault(&c.StallTimeout, defaultStallTimeout)
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	if c.Fatal == nil {
		log := c.Logger
		c.Fatal = func(err error) {
			log.Error("the process ends at once", zap.Error(err))
			_ = log.Sync()
			os.Exit(1)
		}
	}
}

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
