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
// Behaviour follows Apache Kafka 4.x. One deviation, on purpose: a generation is committed before JoinGroup is answered,
// so that a generation number is never handed out twice (docs/divergences.md).
package group
