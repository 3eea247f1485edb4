package keyrange

import (
	"fmt"
	"math/bits"
)

const lastSlot = 1<<32 - 1

// Range is the slots from Lo to Hi, both included, so that all slots fit into one. A range with Lo above Hi is inverted: it
// holds no slot.
type Range struct{ Lo, Hi uint32 }

// Whole returns the range of all slots.
func Whole() Range { return Range{Hi: lastSlot} }

// Empty tells whether r is inverted and so holds no slot.
func (r Range) Empty() bool { return r.Lo > r.Hi }

// Size returns the number of slots of r, at most 2^32.
func (r Range) Size() uint64 {
	if r.Empty() {
		return 0
	}
	return uint64(r.Hi-r.Lo) + 1
}

// Has tells whether r holds the slot.
func (r Range) Has(slot uint32) bool { return r.Lo <= slot && slot <= r.Hi }

// Covers tells whether r holds each slot of o. Each range covers an empty one.
func (r Range) Covers(o Range) bool { return o.Empty() || r.Lo <= o.Lo && o.Hi <= r.Hi }

// Overlap returns the slots that both r and o hold: an empty range if there are none.
func (r Range) Overlap(o Range) Range { return Range{Lo: max(r.Lo, o.Lo), Hi: min(r.Hi, o.Hi)} }

// String returns r as it is shown to people: both ends in hexadecimal, as in [00000000,7fffffff].
func (r Range) String() string { return fmt.Sprintf("[%08x,%08x]", r.Lo, r.Hi) }

// product is a number of 128 bits: an offset difference times a number of slots needs 95.
type product struct{ high, low uint64 }

func multiply(a, b uint64) product {
	high, low := bits.Mul64(a, b)
	return product{high, low}
}

func (p product) less(q product) bool {
	return p.high < q.high || p.high == q.high && p.low < q.low
}
