// Package coordinator is the one owner of the group machine: a loop with one inbox, one timer and the parked replies,
// between the clients' requests (package protocol), the replicated log (package raftstore, seen through [Log]) and the
// machine (package group). It is the one place where the clock, ids, logs and metrics meet the pure core.
package coordinator
