// Package raftstore is a replicated log of opaque commands: hashicorp/raft over a bbolt (or raft-wal) log, snapshots, a
// materialised copy of the owner's state in bbolt that is written behind, and leadership events.
//
// The owner of the state implements [Handler]. Commands that are proposed while an earlier batch is on its way to disk
// leave together in the next Raft entry (group commit without a timer). The store never looks inside a command.
//
// # On disk
//
//	<dir>/lock                    held by whoever has the directory open (flock)
//	<dir>/meta                    format version, node id, Kafka's cluster.id, log store: JSON, replaced in one step
//	<dir>/raft/<shard>/log.db     the log in bbolt, one key per entry ("wal/" with raft-wal)
//	<dir>/raft/<shard>/stable.db  Raft's term and vote
//	<dir>/raft/<shard>/snapshots/ the newest two snapshots
//	<dir>/raft/<shard>/state.db   the materialised copy: a value per key, and the position in the log that they stand for
//
// Everything that is written is synced before it counts, and carries a checksum. A write or sync that fails ends the
// process ([Config.Fatal]): after a failed sync nobody knows what is on the disk.
//
// # What a restart does
//
// It loads the materialised copy, or the newest snapshot if the copy is older or damaged, and Raft goes on after it. The
// copy is offered to Raft as a snapshot, so that entries that it holds are neither read nor applied again. If no sound
// copy reaches to where the log begins, or the log ends before a copy does, Open refuses: something that was acknowledged
// is missing, and an operator must know. Every step in between can be the last one of a process: a snapshot that an
// unfinished installation left behind is newer than the copy and wins, a log that it should have replaced is removed.
//
// # What the answers mean
//
// [Handler.Apply] with a ref: committed, on the disks of a majority, and in order. [Handler.Failed] with unknown false: it
// was never in the log and never will be. With unknown true it may be, now or later; Apply then comes without a ref.
package raftstore
