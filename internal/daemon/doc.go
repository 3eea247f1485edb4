// Package daemon wires one coordinatord process: the broker directory and the gateway in front, the coordinator loop and
// its replicated log behind, the operator's HTTP, and, for coordinatord dev, an in-process Kafka stand-in. It starts the
// parts in the order in which they need one another and stops them in the reverse of it.
package daemon
