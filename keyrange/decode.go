package keyrange

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrEncoding is what each error of decoding wraps.
var ErrEncoding = errors.New("keyrange: bad encoding")

// DecodeFrontier reads a frontier of at most limit steps from the beginning of b, and returns it and the bytes after it. It
// accepts only what Append writes, and allocates no more than 8 times the bytes that it is given.
func DecodeFrontier(b []byte, limit int) (Frontier, []byte, error) {
	r := reader{rest: b}
	r.version()
	n := r.count(limit, 3)
	if r.err != nil {
		return Frontier{}, nil, r.err
	}
	steps := make([]mark, 0, n)
	var last mark
	for i := range n {
		m := mark{lo: last.lo}
		if i > 0 {
			m.lo = r.distance(last.lo)
		}
		m.offset = r.add(last.offset, 0, math.MaxInt64, "offset")
		m.leaderEpoch = int32(r.add(int64(last.leaderEpoch), NoLeaderEpoch, math.MaxInt32, "leader epoch"))
		if i > 0 && m.from(0) == last.from(0) {
			r.fail("steps %d and %d do not differ", i-1, i)
		}
		if r.err != nil {
			return Frontier{}, nil, r.err
		}
		steps = append(steps, m)
		last = m
	}
	return Frontier{steps: steps}, r.rest, nil
}

// DecodeOwnership reads an ownership of at most limit steps, free ones included, from the beginning of b, and returns it and
// the bytes after it. It accepts only what Append writes, and allocates no more than 8 times the bytes that it is given.
func DecodeOwnership(b []byte, limit int) (Ownership, []byte, error) {
	r := reader{rest: b}
	r.version()
	next := Lease(r.number(uint64(MaxLease)+1, "next lease"))
	if next == 0 {
		r.fail("the next lease is 0")
	}
	n := r.count(limit, 2)
	if r.err != nil {
		return Ownership{}, nil, r.err
	}
	steps := make([]arc, 0, n)
	var last arc
	for i := range n {
		a := arc{lo: last.lo}
		if i > 0 {
			a.lo = r.distance(last.lo)
		}
		a.worker = Worker(r.number(math.MaxUint32, "worker"))
		if a.worker != 0 {
			a.lease = next - Lease(r.number(uint64(max(next, 1))-1, "age of a lease"))
		}
		if a.lease > MaxLease {
			r.fail("the lease is above %d", MaxLease)
		}
		if i > 0 && a.from(0) == last.from(0) {
			r.fail("steps %d and %d do not differ", i-1, i)
		}
		if r.err != nil {
			return Ownership{}, nil, r.err
		}
		steps = append(steps, a)
		last = a
	}
	return Ownership{steps: steps, next: next}, r.rest, nil
}

// reader reads varints until something is wrong; from then on it keeps the first error and returns zeros.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrEncoding, fmt.Sprintf(format, args...))
	}
}

func (r *reader) version() {
	if len(r.rest) == 0 {
		r.fail("it is empty")
		return
	}
	if r.rest[0] != formatVersion {
		r.fail("version %d is not known", r.rest[0])
	}
	r.rest = r.rest[1:]
}

// count reads a number of steps, of which the first takes at least size-1 bytes and each other one size.
func (r *reader) count(limit, size int) int {
	n := r.number(math.MaxInt32, "number of steps")
	switch {
	case r.err != nil:
		return 0
	case n == 0:
		r.fail("there is no step")
	case n > uint64(max(limit, 0)):
		r.fail("there are %d steps, at most %d may be", n, limit)
	case n*uint64(size)-1 > uint64(len(r.rest)):
		r.fail("%d steps do not fit in %d bytes", n, len(r.rest))
	}
	return int(n)
}

func (r *reader) number(most uint64, what string) uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.rest)
	switch {
	case n == 0:
		r.fail("it ends within the %s", what)
	case n < 0 || v > most:
		r.fail("the %s is above %d", what, most)
	case n > 1 && r.rest[n-1] == 0:
		r.fail("the %s is longer than it needs to be", what)
	}
	if r.err != nil {
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// distance reads how far after the slot the next step begins.
func (r *reader) distance(slot uint32) uint32 {
	d := r.number(lastSlot, "distance")
	switch {
	case r.err != nil:
		return slot
	case d == 0:
		r.fail("a step begins at slot %08x as the one before", slot)
	case d > uint64(lastSlot-slot):
		r.fail("a step begins after the last slot")
	}
	return slot + uint32(d)
}

// add reads a signed difference and returns the sum, which must lie from least to most.
func (r *reader) add(to, least, most int64, what string) int64 {
	u := r.number(math.MaxUint64, what)
	d := int64(u>>1) ^ -int64(u&1)
	sum := to + d
	if overflow := (sum > to) != (d > 0) && d != 0; overflow || sum < least || sum > most {
		r.fail("the %s is not from %d to %d", what, least, most)
		return to
	}
	return sum
}
