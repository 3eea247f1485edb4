package keyrange

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func somePosition() *rapid.Generator[Position] {
	return rapid.Custom(func(t *rapid.T) Position {
		return Position{rapid.Int64Range(-1, 5).Draw(t, "offset"), rapid.Int32Range(-2, 2).Draw(t, "epoch")}
	})
}

// before and asKept are the model's own words for the order of positions and for what a bad one stands for.
func before(p, q Position) bool {
	return p.Offset < q.Offset || p.Offset == q.Offset && p.LeaderEpoch < q.LeaderEpoch
}

func asKept(p Position) Position {
	if p.Offset < 0 {
		return Position{0, -1}
	}
	if p.LeaderEpoch < -1 {
		p.LeaderEpoch = -1
	}
	return p
}

func requireFrontier(t require.TestingT, want *cells[Position], f *Frontier) {
	requireSteps(t, f.marks())
	require.Equal(t, want.runs(), f.Len(), "invariant 2")
	for i, p := range want {
		require.Equal(t, p, f.At(uint32(i)), "slot %d", i)
	}
	require.Equal(t, want[space], f.At(lastSlot))
}

type frontierMachine struct {
	f    Frontier
	want cells[Position]
}

func (m *frontierMachine) init(t *rapid.T) {
	p := Position{0, -1}
	if rapid.Bool().Draw(t, "pinned") {
		p = somePosition().Draw(t, "base")
		m.f = NewFrontier(p)
	}
	m.want.each(Whole(), func(v *Position) { *v = asKept(p) })
}

func (m *frontierMachine) change(t *rapid.T, call func(Range, Position) bool, moves func(v, p Position) bool) {
	r, p := someRange().Draw(t, "range"), somePosition().Draw(t, "position")
	moved := false
	m.want.each(r, func(v *Position) {
		if k := asKept(p); moves(*v, k) {
			moved = true
			*v = k
		}
	})
	require.Equal(t, moved, call(r, p))
}

func (m *frontierMachine) Raise(t *rapid.T) { m.change(t, m.f.Raise, before) }
func (m *frontierMachine) Lower(t *rapid.T) {
	m.change(t, m.f.Lower, func(v, p Position) bool { return before(p, v) })
}

func (m *frontierMachine) Reset(t *rapid.T) {
	m.change(t, m.f.Reset, func(v, p Position) bool { return v != p })
}

func (m *frontierMachine) LowerTo(t *rapid.T) {
	var other frontierMachine
	other.init(t)
	other.Raise(t)
	other.Raise(t)
	moved := false
	for i, p := range other.want {
		if before(p, m.want[i]) {
			m.want[i] = p
			moved = true
		}
	}
	require.Equal(t, moved, m.f.LowerTo(&other.f))
	requireFrontier(t, &other.want, &other.f)
}

func (m *frontierMachine) Reads(t *rapid.T) {
	r := someRange().Draw(t, "range")
	var got cells[Position]
	seen := map[uint32]int{}
	for in, p := range m.f.In(r) {
		require.True(t, r.Covers(in) && !in.Empty())
		got.each(in, func(v *Position) { *v = p })
		for slot := range uint32(space + 1) {
			if in.Has(slot) {
				seen[slot]++
			}
		}
	}
	low, high, some := Position{math.MaxInt64, 0}, Position{-1, -1}, false
	for i, p := range m.want {
		if !r.Has(uint32(i)) {
			require.Zero(t, seen[uint32(i)])
			continue
		}
		require.Equal(t, 1, seen[uint32(i)])
		require.Equal(t, p, got[i])
		some = true
		if before(p, low) {
			low = p
		}
		if before(high, p) {
			high = p
		}
	}
	gotLow, ok := m.f.Low(r)
	require.Equal(t, some, ok)
	gotHigh, ok := m.f.High(r)
	require.Equal(t, some, ok)
	if some {
		require.Equal(t, []Position{low, high}, []Position{gotLow, gotHigh})
	}
	least := m.want[0]
	for _, p := range m.want {
		if before(p, least) {
			least = p
		}
	}
	require.Equal(t, least, m.f.LowWatermark())
}

func (m *frontierMachine) Copies(t *rapid.T) {
	c := m.f.Clone()
	require.True(t, c.Equal(&m.f))
	if c.Raise(Whole(), Position{9, 9}) {
		require.False(t, c.Equal(&m.f))
	}
	got, rest, err := DecodeFrontier(append(m.f.Append(nil), "rest"...), m.f.Len())
	require.NoError(t, err)
	require.Equal(t, "rest", string(rest))
	require.True(t, got.Equal(&m.f))
	m.f = got
}

// Cap is checked against the model by its rule: it merges a pair of runs at a time, the cheapest first, to the lower.
func (m *frontierMachine) Cap(t *rapid.T) {
	limit := rapid.IntRange(-1, space).Draw(t, "limit")
	before := m.want.runs()
	for m.want.runs() > max(limit, 1) {
		mergeCheapest(&m.want)
	}
	require.Equal(t, before-m.want.runs(), m.f.Cap(limit))
}

func (m *frontierMachine) Check(t *rapid.T) { requireFrontier(t, &m.want, &m.f) }

// mergeCheapest lowers one run of cells to a neighbour. The last cell stands for all the slots from space on.
func mergeCheapest(c *cells[Position]) {
	type run struct{ from, to int }
	var runs []run
	for i := range c {
		if i == 0 || c[i] != c[i-1] {
			runs = append(runs, run{from: i})
		}
		runs[len(runs)-1].to = i
	}
	width := func(r run) float64 {
		if r.to == space {
			return float64(1<<32 - r.from)
		}
		return float64(r.to - r.from + 1)
	}
	least, lower, value := math.Inf(1), run{}, Position{}
	for i := range runs[1:] {
		high, low := runs[i], runs[i+1]
		if before(c[high.from], c[low.from]) {
			high, low = low, high
		}
		if cost := float64(c[high.from].Offset-c[low.from].Offset) * width(high); cost < least {
			least, lower, value = cost, high, c[low.from]
		}
	}
	for i := lower.from; i <= lower.to; i++ {
		c[i] = value
	}
}

func TestFrontierIsAFunctionOfSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m frontierMachine
		m.init(t)
		t.Repeat(rapid.StateMachineActions(&m))
	})
}

// TestRaiseAndLowerDoNotMindTheOrder: commits of one entry, and retries of them, may be applied in any order.
func TestRaiseAndLowerDoNotMindTheOrder(t *testing.T) {
	type move struct {
		r Range
		p Position
	}
	rapid.Check(t, func(t *rapid.T) {
		moves := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) move {
			return move{someRange().Draw(t, "range"), somePosition().Draw(t, "position")}
		}), 1, 8).Draw(t, "moves")
		again := append(rapid.Permutation(moves).Draw(t, "again"), moves...)
		for _, call := range []func(*Frontier, Range, Position) bool{(*Frontier).Raise, (*Frontier).Lower} {
			once, twice := NewFrontier(Position{2, 1}), NewFrontier(Position{2, 1})
			for _, m := range moves {
				call(&once, m.r, m.p)
			}
			for _, m := range again {
				call(&twice, m.r, m.p)
			}
			require.True(t, once.Equal(&twice))
		}
	})
}

func TestMergeTakesTheLowerOffsetOfTheCheapestPair(t *testing.T) {
	f := NewFrontier(Position{Offset: 1000})
	f.Reset(Range{100, 109}, Position{Offset: 1100}) // costs 10 slots x 100 to give up
	f.Reset(Range{200, 209}, Position{Offset: 1001}) // costs 10 x 1
	f.Reset(Range{300, 300}, Position{Offset: 0})    // a hung slot: the slots on either side of it would have to go back far
	require.Equal(t, 7, f.Len())
	require.Equal(t, 2, f.Cap(6))
	require.EqualValues(t, 1000, f.At(200).Offset)
	require.EqualValues(t, 1100, f.At(100).Offset)
	require.EqualValues(t, 0, f.At(300).Offset)
	require.Equal(t, 2, f.Cap(3))
	require.EqualValues(t, 1000, f.At(100).Offset)
	require.Equal(t, 1, f.Cap(2), "now the side of fewer slots goes back")
	require.EqualValues(t, 0, f.At(0).Offset)
	require.EqualValues(t, 1000, f.At(lastSlot).Offset)
	require.Equal(t, 1, f.Cap(0), "the lowest limit is one step")
	require.EqualValues(t, 0, f.At(lastSlot).Offset)
	require.Zero(t, f.Cap(1))
}

// TestCapCountsInMoreThan64Bits: the widest step and the highest offset do not overflow.
func TestCapCountsInMoreThan64Bits(t *testing.T) {
	f := NewFrontier(Position{Offset: math.MaxInt64})
	f.Lower(Range{0, 0}, Position{})
	f.Raise(Range{lastSlot, lastSlot}, Position{Offset: math.MaxInt64, LeaderEpoch: 1})
	f.Lower(Range{lastSlot, lastSlot}, Position{Offset: 1 << 40})
	require.Equal(t, 3, f.Len())
	f.Cap(2)
	require.EqualValues(t, 0, f.At(0).Offset)
	require.EqualValues(t, 1<<40, f.At(lastSlot).Offset)
	require.EqualValues(t, 1<<40, f.At(1).Offset)
}
