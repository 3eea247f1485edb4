package keyrange

import (
	"errors"
	"fmt"
	"iter"
	"slices"
)

// What may be wrong with a change of ownership. They come wrapped, with the range and what is there.
var (
	ErrEmptyRange = errors.New("the range holds no slot")
	ErrNotFree    = errors.New("the range is not free")
	ErrNotHeld    = errors.New("the range is not held so")
	ErrOldLease   = errors.New("the lease is older than one given before")
	ErrNoOwner    = errors.New("a worker and a lease of at least 1 are needed")
)

// Worker is the number that a group has given to one of its worker-ids. 0 is no worker.
type Worker uint32

// Lease fences one grant of a range: a commit or a release that names an older one is refused. It is the Raft index of the
// grant, so a later grant has a higher lease. 0 is no lease.
type Lease uint64

// MaxLease is the highest lease.
const MaxLease Lease = 1<<63 - 1

// Owner is who holds a slot, and by which grant. The zero value means that the slot is free.
type Owner struct {
	Worker Worker
	Lease  Lease
}

// Free tells whether o is nobody.
func (o Owner) Free() bool { return o == Owner{} }

func (o Owner) valid() bool { return o.Worker != 0 && o.Lease != 0 && o.Lease <= MaxLease }

// String returns o as it is shown in errors.
func (o Owner) String() string {
	if o.Free() {
		return "nobody"
	}
	return fmt.Sprintf("worker %d with lease %d", o.Worker, o.Lease)
}

// Ownership is who holds each slot of a partition. The zero value is ready to use: all is free. Each operation takes any
// range, so a part of what a worker holds may be released or granted, and nothing has to be split before. It must not be
// copied by assignment; Clone copies it.
type Ownership struct {
	steps []arc // empty means that all is free
	next  Lease // the lowest lease that a grant may carry; 0 is as good as 1
}

// arc is one step of an ownership, in 16 bytes.
type arc struct {
	lease  Lease
	worker Worker
	lo     uint32
}

// unowned is the ownership of the zero value.
var unowned [1]arc

func (a arc) start() uint32        { return a.lo }
func (a arc) from(slot uint32) arc { return arc{a.lease, a.worker, slot} }
func (a arc) owner() Owner         { return Owner{a.worker, a.lease} }
func (a arc) given(o Owner) arc    { return arc{o.Lease, o.Worker, a.lo} }

func (o *Ownership) arcs() []arc {
	if len(o.steps) == 0 {
		return unowned[:]
	}
	return o.steps
}

// give makes all of r the new owner's.
func (o *Ownership) give(r Range, to Owner) {
	if len(o.steps) == 0 {
		o.steps = append(o.steps, unowned[0])
	}
	o.steps, _ = edit(o.steps, r, func(a arc) arc { return a.given(to) })
	o.next = max(o.next, to.Lease)
}

// Grant gives r, all of which must be free, to a worker under a lease that is not older than any before. One lease may cover
// several grants, of one worker or more, as long as nothing of it has been given back.
func (o *Ownership) Grant(r Range, to Owner) error {
	if r.Empty() {
		return fmt.Errorf("grant of %v: %w", r, ErrEmptyRange)
	}
	if !to.valid() {
		return fmt.Errorf("grant of %v to %v: %w", r, to, ErrNoOwner)
	}
	if to.Lease < o.next {
		return fmt.Errorf("grant of %v to %v, %d or later is due: %w", r, to, o.next, ErrOldLease)
	}
	for in, holder := range o.In(r) {
		if !holder.Free() {
			return fmt.Errorf("grant of %v to %v: %v is of %v: %w", r, to, in, holder, ErrNotFree)
		}
	}
	o.give(r, to)
	return nil
}

// Release frees r, all of which the owner must hold under just this lease. The rest of the lease stays: a hung slot is kept
// while its neighbours go.
func (o *Ownership) Release(r Range, owner Owner) error {
	if r.Empty() {
		return fmt.Errorf("release of %v: %w", r, ErrEmptyRange)
	}
	if !o.Holds(r, owner) {
		return fmt.Errorf("release of %v by %v: %w", r, owner, ErrNotHeld)
	}
	o.give(r, Owner{})
	o.next = max(o.next, owner.Lease+1)
	return nil
}

// Evict frees all that the worker holds, under whichever leases, and returns how many slots that are. It is for a worker
// that has left, died, or is fenced by another of its worker-id.
func (o *Ownership) Evict(w Worker) uint64 {
	var slots uint64
	for i := 0; w != 0 && i < len(o.steps); i++ {
		if o.steps[i].worker == w {
			slots += reach(o.steps, i).Size()
			o.next = max(o.next, o.steps[i].lease+1)
			o.steps[i] = o.steps[i].given(Owner{})
		}
	}
	if slots > 0 {
		o.steps = join(o.steps, 0, len(o.steps)-1)
	}
	return slots
}

// Holds tells whether the owner holds each slot of r under just this lease: what allows it to raise the frontier there. It
// is false of an empty range and of nobody.
func (o *Ownership) Holds(r Range, owner Owner) bool {
	if r.Empty() || owner.Free() {
		return false
	}
	arcs := o.arcs()
	i := find(arcs, r.Lo)
	return arcs[i].owner() == owner && r.Hi <= reach(arcs, i).Hi
}

// At returns who holds the slot, and all the slots around it that are held by the same grant (or are free with it).
func (o *Ownership) At(slot uint32) (Range, Owner) {
	arcs := o.arcs()
	i := find(arcs, slot)
	return reach(arcs, i), arcs[i].owner()
}

// Len returns the number of ranges that are held: neighbours under one grant count once.
func (o *Ownership) Len() int {
	n := 0
	for _, a := range o.steps {
		if a.worker != 0 {
			n++
		}
	}
	return n
}

// All returns the ranges in the order of their slots, each the longest of one owner, the free ones among them. The ownership
// must not change meanwhile.
func (o *Ownership) All() iter.Seq2[Range, Owner] { return o.In(Whole()) }

// In returns the ranges of r as All does, cut to r.
func (o *Ownership) In(r Range) iter.Seq2[Range, Owner] {
	return func(yield func(Range, Owner) bool) {
		pieces(o.arcs(), r, func(r Range, a arc) bool { return yield(r, a.owner()) })
	}
}

// HeldBy returns what the worker holds and under which leases, in the order of the slots. Nobody holds nothing.
func (o *Ownership) HeldBy(w Worker) iter.Seq2[Range, Lease] {
	return func(yield func(Range, Lease) bool) {
		for r, owner := range o.All() {
			if w != 0 && owner.Worker == w && !yield(r, owner.Lease) {
				return
			}
		}
	}
}

// Clone returns a copy that shares nothing with o.
func (o *Ownership) Clone() Ownership {
	return Ownership{steps: slices.Clip(slices.Clone(o.steps)), next: o.next}
}

// Equal tells whether o and p give each slot to the same owner and would grant the same leases.
func (o *Ownership) Equal(p *Ownership) bool {
	return max(o.next, 1) == max(p.next, 1) && slices.Equal(o.arcs(), p.arcs())
}
