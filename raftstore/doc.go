// Package raftstore is a replicated log of opaque commands: hashicorp/raft over a bbolt (or raft-wal) log, snapshots, a
// materialised copy of the owner's state in bbolt that is written behind, and leadership events.
//
// The owner of the state implements [Handler]. Commands that are proposed while an earlier batch is on its way to disk
// leave together in the next Raft entry (group commit without a timer). The store never looks inside a command.
package raftstore
