package keyrange

import "fmt"

// Split divides the range that holds the slot in two: the part below the slot keeps its lease, the slot and the part above
// it get the new one, and both stay with their worker. The frontier does not move.
func (o *Ownership) Split(slot uint32, lease Lease) error {
	r, owner := o.At(slot)
	if slot == r.Lo {
		return fmt.Errorf("split of %v at its first slot: %w", r, ErrEmptyRange)
	}
	r.Lo = slot
	if err := o.renew(r, owner, lease); err != nil {
		return fmt.Errorf("split at %08x: %w", slot, err)
	}
	return nil
}

// Carve gives a new lease to r, which must lie within one range of one worker, and stays with it. What is left on either
// side keeps its lease, so that one hot slot can be released, or all but it.
func (o *Ownership) Carve(r Range, lease Lease) error {
	in, owner := o.At(r.Lo)
	if !r.Empty() && !in.Covers(r) {
		return fmt.Errorf("carve of %v out of %v: %w", r, in, ErrNotHeld)
	}
	if err := o.renew(r, owner, lease); err != nil {
		return fmt.Errorf("carve of %v: %w", r, err)
	}
	return nil
}

// Merge puts all of r, which one worker must hold under whichever leases, under one new lease. It is also how a range that
// returns to its owner while it is draining gets the lease that tells it from before. As the worker knows only the old
// leases until it is told, the caller merges when the worker syncs.
func (o *Ownership) Merge(r Range, lease Lease) error {
	_, owner := o.At(r.Lo)
	for in, other := range o.In(r) {
		if other.Worker != owner.Worker {
			return fmt.Errorf("merge of %v for %v: %v is of %v: %w", r, owner, in, other, ErrNotHeld)
		}
	}
	if err := o.renew(r, owner, lease); err != nil {
		return fmt.Errorf("merge of %v: %w", r, err)
	}
	return nil
}

// renew puts r, which is all the owner's worker's, under the new lease. A lease that is already somewhere in r would not
// tell after from before.
func (o *Ownership) renew(r Range, owner Owner, lease Lease) error {
	if r.Empty() {
		return ErrEmptyRange
	}
	if owner.Free() {
		return ErrNotHeld
	}
	to := Owner{owner.Worker, lease}
	if !to.valid() {
		return fmt.Errorf("%v: %w", to, ErrNoOwner)
	}
	if lease < o.next {
		return fmt.Errorf("%v, %d or later is due: %w", to, o.next, ErrOldLease)
	}
	for in, old := range o.In(r) {
		if old.Lease == lease {
			return fmt.Errorf("%v has lease %d already: %w", in, lease, ErrOldLease)
		}
	}
	o.give(r, to)
	return nil
}
