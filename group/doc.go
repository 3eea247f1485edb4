// Package group holds Kafka's classic group protocol as a pure state machine: events go in, effects come out, and
// committed records are applied.
//
// The machine has two halves. Step decides: it runs on the leader only, touches only volatile state (joins in progress,
// deadlines, parked requests) and returns what is to be answered and what is to be replicated. Apply remembers: it runs
// on every node, in log order, is total and deterministic, and reads nothing but the record and the image.
//
// The package has no goroutine, channel, clock, randomness or I/O, and never lets the order of a map be seen. Time and
// fresh ids are inputs; waiting clients are [ReqID] values; timers are deadlines ([Machine.NextDeadline]).
//
// The durable half of a group is its image: members, generation, assignment, offsets. The volatile half, live, exists on
// the leader while the group is not idle: it runs ahead of the image while a rebalance is prepared, and takes over from
// the image what a committed GroupMeta decided. At most one such record of a group is in flight; joins, leaves, deletions
// and deadlines that come meanwhile wait in the group's queue, heartbeats and commits do not. A record that was reported
// failed may still be committed: its sequence makes whatever was decided on an older image stale, and the next decision is
// taken from the image as it then is.
//
// To read the package: machine.go (the verbs), group.go and member.go (what they work on), join.go, rebalance.go, sync.go,
// land.go (what a committed or failed proposal leads to), apply.go (the durable half); state.go has the states, and
// invariants.go what always holds. The scripts in testdata are the protocol by example.
//
// Behaviour follows Apache Kafka 4.x. One deviation, on purpose: a generation is committed before JoinGroup is answered,
// so that a generation number is never handed out twice (docs/divergences.md).
package group
