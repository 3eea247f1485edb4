package keyrange

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEdgesOfARange(t *testing.T) {
	require.EqualValues(t, 1<<32, Whole().Size())
	require.True(t, Whole().Has(0))
	require.True(t, Whole().Has(lastSlot))
	require.Equal(t, "[00000000,ffffffff]", Whole().String())
	require.EqualValues(t, 1, Range{lastSlot, lastSlot}.Size())
	inverted := Range{5, 4}
	require.True(t, inverted.Empty())
	require.Zero(t, inverted.Size())
	require.True(t, Range{1, 1}.Covers(inverted))
	require.False(t, inverted.Covers(Range{4, 4}))
	require.False(t, inverted.Covers(Range{5, 5}))
}

func TestRangesAreSetsOfSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := someRange().Draw(t, "a"), someRange().Draw(t, "b")
		size, covers := uint64(0), true
		for slot := range uint32(space + 1) {
			inA, inB := slot >= a.Lo && slot <= a.Hi, slot >= b.Lo && slot <= b.Hi
			switch {
			case inA && slot == space:
				size += 1<<32 - space
			case inA:
				size++
			}
			covers = covers && (inA || !inB)
			require.Equal(t, inA, a.Has(slot))
			require.Equal(t, inA && inB, a.Overlap(b).Has(slot))
		}
		require.Equal(t, size, a.Size())
		require.Equal(t, size == 0, a.Empty())
		require.Equal(t, covers, a.Covers(b))
	})
}
