package keyrange

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// ownershipMachine compares an ownership with an array of owners. The array also remembers each lease that a slot has lost.
type ownershipMachine struct {
	o    Ownership
	want cells[Owner]
	lost [space + 1]map[Owner]bool
	next Lease
}

func (m *ownershipMachine) owner(t *rapid.T) Owner {
	return Owner{Worker(rapid.Uint32Range(0, 3).Draw(t, "worker")), m.lease(t)}
}

// lease draws one that is due, mostly, or an old one, or none.
func (m *ownershipMachine) lease(t *rapid.T) Lease {
	if rapid.IntRange(0, 4).Draw(t, "old") == 0 {
		return Lease(rapid.Uint64Range(0, uint64(m.next)).Draw(t, "lease"))
	}
	return m.next + Lease(rapid.Uint64Range(0, 2).Draw(t, "lease"))
}

// give sets cells of the model and notes what they lose.
func (m *ownershipMachine) give(t *rapid.T, r Range, to Owner) {
	for i := range m.want {
		if !r.Has(uint32(i)) {
			continue
		}
		if was := m.want[i]; !was.Free() {
			m.lost[i][was] = true
			if to.Free() {
				m.next = max(m.next, was.Lease+1)
			}
		}
		require.False(t, m.lost[i][to], "invariant 5")
		m.want[i] = to
	}
	m.next = max(m.next, to.Lease)
}

// all tells whether each cell in r, of which there is one, is as the test says.
func (m *ownershipMachine) all(r Range, is func(Owner) bool) bool {
	all := !r.Empty()
	m.want.each(r, func(v *Owner) { all = all && is(*v) })
	return all
}

func (m *ownershipMachine) Grant(t *rapid.T) {
	r, to := someRange().Draw(t, "range"), m.owner(t)
	err := m.o.Grant(r, to)
	switch {
	case r.Empty():
		require.ErrorIs(t, err, ErrEmptyRange)
	case to.Worker == 0 || to.Lease == 0:
		require.ErrorIs(t, err, ErrNoOwner)
	case to.Lease < m.next:
		require.ErrorIs(t, err, ErrOldLease)
	case !m.all(r, Owner.Free):
		require.ErrorIs(t, err, ErrNotFree)
	default:
		require.NoError(t, err)
		m.give(t, r, to)
	}
}

func (m *ownershipMachine) Release(t *rapid.T) {
	r := someRange().Draw(t, "range")
	owner := m.someone(t)
	err := m.o.Release(r, owner)
	switch {
	case r.Empty():
		require.ErrorIs(t, err, ErrEmptyRange)
	case owner.Free() || !m.all(r, func(o Owner) bool { return o == owner }):
		require.ErrorIs(t, err, ErrNotHeld)
	default:
		require.NoError(t, err)
		m.give(t, r, Owner{})
	}
}

// someone draws an owner of some cell, or any.
func (m *ownershipMachine) someone(t *rapid.T) Owner {
	if rapid.IntRange(0, 3).Draw(t, "anyone") == 0 {
		return m.owner(t)
	}
	return m.want[rapid.IntRange(0, space).Draw(t, "cell")]
}

func (m *ownershipMachine) Evict(t *rapid.T) {
	w := Worker(rapid.Uint32Range(0, 3).Draw(t, "worker"))
	var slots uint64
	for i, o := range m.want {
		if w == 0 || o.Worker != w {
			continue
		}
		slots++
		r := Range{uint32(i), uint32(i)}
		if i == space {
			r.Hi, slots = lastSlot, slots+1<<32-space-1
		}
		m.give(t, r, Owner{})
	}
	require.Equal(t, slots, m.o.Evict(w))
}

// renewed checks the end of Split, Carve and Merge: r, if allowed, is still of its workers but under the new lease.
func (m *ownershipMachine) renewed(t *rapid.T, r Range, lease Lease, allowed bool, err error) {
	fresh := m.all(r, func(o Owner) bool { return o.Lease != lease })
	if !allowed || !fresh || lease == 0 || lease < m.next {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	m.give(t, r, Owner{m.want[r.Lo].Worker, lease})
}

func (m *ownershipMachine) Split(t *rapid.T) {
	slot, lease := rapid.Uint32Range(0, space).Draw(t, "slot"), m.lease(t)
	r := Range{slot, slot}
	for r.Hi < space && m.want[r.Hi+1] == m.want[slot] {
		r.Hi++
	}
	if r.Hi == space {
		r.Hi = lastSlot
	}
	inside := slot > 0 && m.want[slot-1] == m.want[slot]
	m.renewed(t, r, lease, inside && !m.want[slot].Free(), m.o.Split(slot, lease))
}

func (m *ownershipMachine) Carve(t *rapid.T) {
	r, lease := someRange().Draw(t, "range"), m.lease(t)
	owner := m.want[r.Lo]
	allowed := !owner.Free() && m.all(r, func(o Owner) bool { return o == owner })
	m.renewed(t, r, lease, allowed, m.o.Carve(r, lease))
}

func (m *ownershipMachine) Merge(t *rapid.T) {
	r, lease := someRange().Draw(t, "range"), m.lease(t)
	owner := m.want[r.Lo]
	allowed := !owner.Free() && m.all(r, func(o Owner) bool { return o.Worker == owner.Worker })
	m.renewed(t, r, lease, allowed, m.o.Merge(r, lease))
}

func (m *ownershipMachine) Reads(t *rapid.T) {
	r, owner := someRange().Draw(t, "range"), m.someone(t)
	require.Equal(t, !owner.Free() && m.all(r, func(o Owner) bool { return o == owner }), m.o.Holds(r, owner))

	var got cells[Owner]
	for in, o := range m.o.In(r) {
		require.True(t, r.Covers(in) && !in.Empty())
		got.each(in, func(v *Owner) { require.True(t, v.Free()); *v = o })
	}
	var held cells[Lease]
	for in, lease := range m.o.HeldBy(owner.Worker) {
		held.each(in, func(v *Lease) { require.Zero(t, *v); *v = lease })
	}
	for i, o := range m.want {
		if !r.Has(uint32(i)) {
			o = Owner{}
		}
		require.Equal(t, o, got[i])
		if o = m.want[i]; o.Worker != owner.Worker {
			o = Owner{}
		}
		require.Equal(t, o.Lease, held[i])
	}
}

// Views compares the one offset of a worker with the least of its cells.
func (m *ownershipMachine) Views(t *rapid.T) {
	var f frontierMachine
	f.init(t)
	f.Raise(t)
	f.Raise(t)
	w := Worker(rapid.Uint32Range(0, 3).Draw(t, "worker"))
	var want Position
	held := false
	for i, o := range m.want {
		if w != 0 && o.Worker == w && (!held || before(f.want[i], want)) {
			want, held = f.want[i], true
		}
	}
	got, ok := f.f.LowOf(&m.o, w)
	require.Equal(t, held, ok)
	require.Equal(t, want, got)
}

func (m *ownershipMachine) Copies(t *rapid.T) {
	c := m.o.Clone()
	require.True(t, c.Equal(&m.o))
	if c.Evict(1) > 0 {
		require.False(t, c.Equal(&m.o))
	}
	got, rest, err := DecodeOwnership(append(m.o.Append(nil), "rest"...), len(m.o.arcs()))
	require.NoError(t, err)
	require.Equal(t, "rest", string(rest))
	require.True(t, got.Equal(&m.o))
	m.o = got
}

func (m *ownershipMachine) Check(t *rapid.T) {
	requireSteps(t, m.o.arcs())
	require.Len(t, m.o.arcs(), m.want.runs(), "invariant 2")
	held := 0
	for i, want := range m.want {
		r, got := m.o.At(uint32(i))
		require.Equal(t, want, got, "slot %d", i)
		require.Equal(t, got.Worker == 0, got.Lease == 0, "invariant 4")
		require.Equal(t, i == 0 || m.want[i-1] != want, r.Lo == uint32(i))
		require.Equal(t, i == space || m.want[i+1] != want, r.Hi == uint32(i) || r.Hi == lastSlot && i == space)
		if r.Lo == uint32(i) && !want.Free() {
			held++
		}
	}
	require.Equal(t, held, m.o.Len())
	require.Equal(t, m.next, max(m.o.next, 1))
}

func TestOwnershipIsAFunctionOfSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := ownershipMachine{next: 1}
		for i := range m.lost {
			m.lost[i] = map[Owner]bool{}
		}
		t.Repeat(rapid.StateMachineActions(&m))
	})
}

// TestAHungSlotStays: a worker that is stuck in one slot gives up all around it, and the slot goes at the end.
func TestAHungSlotStays(t *testing.T) {
	var o Ownership
	first, second := Owner{1, 10}, Owner{2, 11}
	require.NoError(t, o.Grant(Whole(), first))
	require.NoError(t, o.Release(Range{0, 99}, first))
	require.NoError(t, o.Release(Range{101, lastSlot}, first))
	require.ErrorIs(t, o.Grant(Whole(), second), ErrNotFree)
	require.NoError(t, o.Grant(Range{0, 99}, second))
	require.NoError(t, o.Grant(Range{101, lastSlot}, second))
	require.True(t, o.Holds(Range{100, 100}, first))
	require.NoError(t, o.Release(Range{100, 100}, first))
	require.EqualError(t, o.Grant(Range{100, 100}, first),
		"grant of [00000064,00000064] to worker 1 with lease 10, 11 or later is due: "+ErrOldLease.Error())
	require.NoError(t, o.Grant(Range{100, 100}, second))
	require.Equal(t, 1, o.Len())
}

// TestTheLastLeaseIsGivenOnce: at the end of the numbers there is an error and no return to the first one.
func TestTheLastLeaseIsGivenOnce(t *testing.T) {
	var o Ownership
	require.ErrorIs(t, o.Grant(Whole(), Owner{1, MaxLease + 1}), ErrNoOwner)
	require.NoError(t, o.Grant(Whole(), Owner{1, MaxLease}))
	require.NoError(t, o.Release(Range{0, 9}, Owner{1, MaxLease}))
	require.ErrorIs(t, o.Grant(Range{0, 9}, Owner{2, MaxLease}), ErrOldLease)
	got, rest, err := DecodeOwnership(o.Append(nil), 2)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.True(t, got.Equal(&o))
}
