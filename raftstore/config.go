package raftstore

import (
	"time"

	"go.uber.org/zap"
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

	HeartbeatTimeout  time.Duration // 500 ms in a cluster, at most 100 ms for a lone voter
	SnapshotInterval  time.Duration // default 10 s
	SnapshotThreshold uint64        // entries, default 20000
	SnapshotBytes     uint64        // log bytes since the last snapshot that force one, default 256 MiB
	TrailingLogs      uint64        // entries kept behind a snapshot, default 50000
	WriteBehind       time.Duration // how often the materialised copy is brought up to date, default 1 s
	QueueBytes        int           // bytes of commands waiting to be proposed before Propose refuses, default 8 MiB

	Logger *zap.Logger
}

// Peer is an initial voter.
type Peer struct {
	ID   uint64
	Addr string
}
