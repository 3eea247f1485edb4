package raftstore

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hashicorp/raft"
)

// keyTerm is the key under which Raft keeps the term.
var keyTerm = []byte("CurrentTerm")

func serverID(node uint64) raft.ServerID { return raft.ServerID(strconv.FormatUint(node, 10)) }

// nodeOf undoes serverID; 0 for none.
func nodeOf(id raft.ServerID) uint64 {
	n, err := strconv.ParseUint(string(id), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// loneAddress stands for the address of a single voter, which nobody dials.
func loneAddress(node uint64) string { return "node-" + strconv.FormatUint(node, 10) }

// voters is the configuration that an empty directory begins with, the same on every node.
func (c *Config) voters() raft.Configuration {
	if len(c.Peers) == 0 {
		return raft.Configuration{Servers: []raft.Server{{ID: serverID(c.NodeID), Address: raft.ServerAddress(loneAddress(c.NodeID))}}}
	}
	peers := slices.Clone(c.Peers)
	slices.SortFunc(peers, func(a, b Peer) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	var servers []raft.Server
	for _, p := range peers {
		servers = append(servers, raft.Server{ID: serverID(p.ID), Address: raft.ServerAddress(p.Addr)})
	}
	return raft.Configuration{Servers: servers}
}

// bootstrap writes the first entry of an empty log: the voters. Unlike the library's own function it can be repeated after
// a crash between its steps. A log that is empty although elections were held is a lost one.
func (f *files) bootstrap(cfg *Config) error {
	last, err := f.log.LastIndex()
	if err != nil {
		return err
	}
	list, err := f.snapshots.List()
	if err != nil {
		return err
	}
	if last > 0 || len(list) > 0 {
		return nil
	}
	term, err := f.stable.GetUint64(keyTerm)
	if err != nil && err != errNotFound { //nolint:errorlint // our own store returns it as it is
		return err
	}
	if term > 1 {
		return fmt.Errorf("%w: the log in %s is empty, and term %d was reached already", ErrDamaged, f.dir, term)
	}
	if err := f.stable.SetUint64(keyTerm, 1); err != nil {
		return err
	}
	crashpoint("term-written")
	return f.log.StoreLog(&raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(cfg.voters())})
}

// checkVoters refuses to go on with other voters than the directory was set up for: nodes that begin with an empty
// directory would form a cluster of their own.
func checkVoters(cfg *Config, have raft.Configuration) error {
	want := cfg.voters()
	ids := func(c raft.Configuration) (ids []uint64) {
		for _, s := range c.Servers {
			ids = append(ids, nodeOf(s.ID))
		}
		slices.Sort(ids)
		return ids
	}
	if h, w := ids(have), ids(want); !slices.Equal(h, w) {
		return fmt.Errorf("%w: it is of the voters %v, and %v are named", ErrOtherVoters, h, w)
	}
	return nil
}
