package keyrange

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// commits returns what raises a frontier of n steps: the commit of one range after the other, round and round, each a little
// further than the last. The ranges do not meet the steps, so that steps come and go.
func commits(f *Frontier, n int) func() {
	const ranges = 100
	offset := f.LowWatermark().Offset
	i := uint32(0)
	return func() {
		offset++
		lo := i % ranges * (lastSlot / ranges)
		f.Raise(Range{lo, lo + lastSlot/ranges - 1}, Position{offset, 12})
		f.Cap(n)
		i++
	}
}

// TestRaiseDoesNotAllocate: neither where the step is there already nor where steps are split, merged and capped.
func TestRaiseDoesNotAllocate(t *testing.T) {
	f := full(256, 1000)
	raise := commits(&f, 256)
	for range 1000 {
		raise()
	}
	require.Zero(t, testing.AllocsPerRun(10_000, raise))
	require.Greater(t, f.Len(), 90, "there are still steps")

	var one Frontier
	one.Raise(Whole(), Position{Offset: 1})
	offset := int64(1)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		offset++
		one.Raise(Whole(), Position{Offset: offset})
	}))
	require.Equal(t, offset, one.LowWatermark().Offset)
}

func TestHoldsDoesNotAllocate(t *testing.T) {
	var o Ownership
	require.NoError(t, o.Grant(Range{0, 99}, Owner{1, 1}))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if !o.Holds(Range{10, 20}, Owner{1, 1}) {
			t.Fatal("it is held")
		}
	}))
}

func BenchmarkRaise(b *testing.B) {
	f := full(256, 1000)
	raise := commits(&f, 256)
	b.ReportAllocs()
	for b.Loop() {
		raise()
	}
}

func BenchmarkLowWatermark(b *testing.B) {
	f := full(256, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if f.LowWatermark().Offset == 0 {
			b.Fatal("not the frontier")
		}
	}
}

func BenchmarkSlot(b *testing.B) {
	key := []byte("order:2024-06-01:000017")
	b.ReportAllocs()
	var sum uint32
	for b.Loop() {
		sum += Slot(key, 0)
	}
	_ = sum
}
