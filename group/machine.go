package group

import "time"

// Effects is what a step asks for, in order. The slices belong to the machine and are valid until its next call.
type Effects struct {
	Replies   []Reply
	Proposals []Proposal
	Notices   []Notice
}

// Machine is the coordinator of all groups of a shard. It is not safe for concurrent use: one goroutine owns it.
type Machine struct{}

// New returns a machine with an empty image that does not lead.
func New(cfg Config) *Machine { panic("to be written") }

// Lead begins leadership with a clean volatile half: every known member gets a full session from now.
// Before it, and after Resign, Step answers every request as a coordinator does that is loading
// (docs: Heartbeat 0, SyncGroup 27, others 14).
func (m *Machine) Lead(now time.Time) Effects { panic("to be written") }

// Resign ends leadership: parked requests are answered with NotCoordinator, proposals in flight are forgotten.
func (m *Machine) Resign() Effects { panic("to be written") }

// Step decides. It changes volatile state only.
func (m *Machine) Step(now time.Time, ev Event) Effects { panic("to be written") }

// Apply remembers. It is total, deterministic, and the same on every node.
func (m *Machine) Apply(r Record) Outcome { panic("to be written") }

// NextDeadline says when Step(now, Tick{}) is next worth calling.
func (m *Machine) NextDeadline() (time.Time, bool) { panic("to be written") }

// TakeDirty calls f for every group and topic that changed since the last call, with the record that rebuilds it, in the
// order of their keys; a nil record means it is gone. The records may share memory with the image: encode them at once.
func (m *Machine) TakeDirty(f func(key Key, r Record)) { panic("to be written") }

// Key names one value of the materialised copy.
type Key struct {
	Kind KeyKind
	Name string
}

// KeyKind tells groups from topics.
type KeyKind uint8

// The kinds of [Key].
const (
	KindGroup KeyKind = 1
	KindTopic KeyKind = 2
)

// Stats counts what the image and the volatile half hold, for metrics.
type Stats struct {
	Groups, Members, Offsets, Parked int
	GroupsByState                    map[string]int
}

// Stats returns the counts; its cost does not grow with the number of offsets.
func (m *Machine) Stats() Stats { panic("to be written") }

// Topics calls f for every topic that the image knows, by name.
func (m *Machine) Topics(f func(name string, id TopicID, partitions int32)) { panic("to be written") }
