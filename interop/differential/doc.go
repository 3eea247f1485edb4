// Package differential plays scripted sequences of raw requests of the group protocol against a real Apache Kafka and
// against the daemon in front of it, and compares the answers field by field.
//
// A Sequence is a Go function over a Script: it opens connections, sends requests at exact versions, leaves some of
// them parked, pipelines others, and records in its own order what came back: an answer, a closed connection, nothing
// within a time, something before or after its timer. It runs against both targets on its own, with group names of its
// own, so that hundreds run at once; then the two recordings are compared step by step. Generated member ids are
// numbered by order of appearance, group names lose their prefix, the coordinator's address is a word if it is the one
// advertised; nothing else is smoothed over.
//
// A step may cite an entry of docs/divergences.md; both sides must then be exactly as that entry says. Where the
// script states what the reference expects, Kafka itself is held to it, so that a sequence that no longer exercises its
// line fails too. Every sequence names the numbered lines that it covers; the table of all lines shows a case or a
// reason for each API and version.
package differential
