package keyrange

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// space is the number of slots of the models: few, so that a random range meets others. All slots from space on, which the
// model keeps as one more, behave alike as no test ends a range among them.
const space = 24

// someRange draws a range within the model's slots, or one that ends at the last slot of all, or an inverted one.
func someRange() *rapid.Generator[Range] {
	return rapid.Custom(func(t *rapid.T) Range {
		r := Range{rapid.Uint32Range(0, space).Draw(t, "lo"), rapid.Uint32Range(0, space).Draw(t, "hi")}
		if r.Lo > r.Hi && rapid.IntRange(0, 3).Draw(t, "turn") > 0 {
			r.Lo, r.Hi = r.Hi, r.Lo
		}
		if r.Hi == space && !r.Empty() {
			r.Hi = lastSlot
		}
		return r
	})
}

// cells is the dumb model of a function over all slots.
type cells[V comparable] [space + 1]V

// each calls do for the cell of each slot in r.
func (c *cells[V]) each(r Range, do func(v *V)) {
	for i := range c {
		if slot := uint32(i); slot >= r.Lo && slot <= r.Hi {
			do(&c[i])
		}
	}
}

// runs counts the longest runs of equal cells.
func (c *cells[V]) runs() int {
	n := 1
	for i := range c[1:] {
		if c[i] != c[i+1] {
			n++
		}
	}
	return n
}

func requireSteps[S step[S]](t require.TestingT, steps []S) {
	require.Zero(t, steps[0].start(), "invariant 1")
	for i := range steps[1:] {
		require.Less(t, steps[i].start(), steps[i+1].start(), "invariant 1")
		require.NotEqual(t, steps[i].from(0), steps[i+1].from(0), "invariant 2")
	}
}

func TestFindIsTheLastStepAtOrBeforeASlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		starts := rapid.SliceOfNDistinct(rapid.Uint32Range(1, space), 0, space, rapid.ID).Draw(t, "starts")
		f := NewFrontier(Position{})
		for i, lo := range starts {
			f.Reset(Range{lo, lo}, Position{Offset: int64(i + 1)})
		}
		slot := rapid.Uint32Range(0, space+1).Draw(t, "slot")
		want := 0
		for i, m := range f.marks() {
			if m.lo <= slot {
				want = i
			}
		}
		require.Equal(t, want, find(f.marks(), slot))
	})
}
