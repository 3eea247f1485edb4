package daemon

import (
	"context"
	"time"

	"github.com/coordinatord/coordinatord/gateway"
	"github.com/coordinatord/coordinatord/group"
	"github.com/coordinatord/coordinatord/internal/coordinator"
	"github.com/coordinatord/coordinatord/raftstore"
	"github.com/coordinatord/coordinatord/wire"
)

// The types of this file translate between packages that do not know one another.

// local hands the requests of the connections to the loop.
type local struct{ loop *coordinator.Loop }

func (l local) Serve(r *wire.Request) {
	l.loop.Serve(coordinator.Call{Msg: r.Msg, ClientID: r.ClientID, Host: r.Host, Broker: r.Broker, To: r})
}

// storeLog is the store as the loop sees it.
type storeLog struct{ store *raftstore.Store }

func (l storeLog) Propose(ref uint64, cmd []byte) error {
	return l.store.Propose(ref, cmd)
}
func (l storeLog) Confirm(done func(error)) { l.store.Confirm(done) }

// handler is the loop as the store sees it, and tells the daemon when leadership begins and ends.
type handler struct {
	loop    *coordinator.Loop
	leading func(bool)
}

func (h handler) Apply(b raftstore.Batch) {
	// The loop applies the batch after this returns. The lists are the batch's own, and the commands are part of a Raft
	// entry, which nobody changes or uses again.
	h.loop.Apply(coordinator.Batch{Index: b.Index, Time: b.Time, Commands: b.Commands, Refs: b.Refs})
}

func (h handler) Failed(refs []raftstore.Ref, err error, _ bool) { h.loop.Failed(refs, err) }

func (h handler) Collect() (uint64, []raftstore.Change) {
	var changes []raftstore.Change
	index := h.loop.Collect(func(key, value []byte) {
		changes = append(changes, raftstore.Change{Key: key, Value: value})
	})
	return index, changes
}

func (h handler) Load(index uint64, next func() (key, value []byte, ok bool, err error)) error {
	return h.loop.Load(index, next)
}

func (h handler) Lead(term uint64) {
	h.loop.Lead(term)
	h.leading(true)
}

func (h handler) Resign(leader uint64) {
	h.leading(false)
	h.loop.Resign(leader)
}

// topics is the directory as the loop sees it.
type topics struct{ directory *gateway.Directory }

func (t topics) ByName(name string) (coordinator.Topic, bool) {
	id, partitions, ok := t.directory.LookupName(name)
	return coordinator.Topic{Name: name, ID: id, Partitions: partitions}, ok
}

func (t topics) ByID(id group.TopicID) (coordinator.Topic, bool) {
	name, partitions, ok := t.directory.LookupID(id)
	return coordinator.Topic{Name: name, ID: id, Partitions: partitions}, ok
}

func (t topics) Fresh(name string, within time.Duration) bool {
	return t.directory.FreshName(name, within)
}

func (t topics) Ask(ctx context.Context, names []string, ids []group.TopicID) error {
	plain := make([][16]byte, len(ids))
	for i, id := range ids {
		plain[i] = id
	}
	return t.directory.AskTopics(ctx, names, plain)
}

func (t topics) Gone(ctx context.Context, id group.TopicID) (bool, error) {
	return t.directory.TopicGone(ctx, id)
}
