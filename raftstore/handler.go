package raftstore

// Ref is chosen by the proposer to recognise its command when it comes back; zero is not used.
type Ref = uint64

// Batch is one committed Raft entry.
type Batch struct {
	Index, Term uint64
	Time        int64    // the proposing leader's clock, Unix milliseconds
	Commands    [][]byte // in the order proposed; they must not be changed, and not be kept without being copied
	Refs        []Ref    // of this process's own commands, parallel to Commands; nil when another process or an earlier run proposed the batch
}

// Change is one value of the materialised copy: Value nil deletes the key. The store owns both once handed over.
type Change struct{ Key, Value []byte }

// Handler is the owner of the state. The store calls it from its own goroutines; calls to Apply, Collect for a snapshot,
// Load and Lead arrive in log order. The owner is expected to post each call to its own queue.
type Handler interface {
	// Apply hands over a committed batch. It should only enqueue: the log waits for its return.
	Apply(b Batch)
	// Failed tells that own commands were not committed, or that nobody knows whether they were (Unknown). The store calls
	// it at most once for each ref and never together with Apply for the same ref, unless unknown is true.
	Failed(refs []Ref, err error, unknown bool)
	// Collect returns every change of the state since the last Collect (or Load), and the index of the last batch that
	// the state holds. It blocks until the owner has answered.
	Collect() (index uint64, changes []Change)
	// Load replaces the whole state by the values that next yields until ok is false: at boot, and when a snapshot is
	// installed. On an error the old state must stay.
	Load(index uint64, next func() (key, value []byte, ok bool, err error)) error
	// Lead tells that this node leads, that everything committed before has been handed to Apply, and that it may serve.
	Lead(term uint64)
	// Resign tells that this node no longer leads (leader is the id of the new one, 0 if unknown).
	Resign(leader uint64)
}
