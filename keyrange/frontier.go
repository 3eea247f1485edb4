package keyrange

import (
	"iter"
	"slices"
)

// Frontier is how far a partition is processed, slot by slot: each record of a slot below the slot's offset is done. The
// zero value is ready to use and stands at offset 0. It takes 16 bytes for each step. It must not be copied by assignment;
// Clone copies it.
type Frontier struct {
	steps []mark // empty means birth
}

// mark is one step of a frontier, in 16 bytes.
type mark struct {
	offset      int64
	leaderEpoch int32
	lo          uint32
}

// birth is the frontier of the zero value.
var birth = [1]mark{{leaderEpoch: NoLeaderEpoch}}

func (m mark) start() uint32           { return m.lo }
func (m mark) from(slot uint32) mark   { return mark{m.offset, m.leaderEpoch, slot} }
func (m mark) position() Position      { return Position{m.offset, m.leaderEpoch} }
func (m mark) moved(p Position) mark   { return mark{p.Offset, p.LeaderEpoch, m.lo} }
func (m mark) before(p Position) bool  { return m.position().Less(p) }
func (m mark) raised(p Position) mark  { return m.when(m.before(p), p) }
func (m mark) lowered(p Position) mark { return m.when(!m.before(p), p) }

func (m mark) when(yes bool, p Position) mark {
	if yes {
		return m.moved(p)
	}
	return m
}

// NewFrontier returns the frontier that stands at p in each slot. A negative offset means the beginning of the log.
func NewFrontier(p Position) Frontier {
	return Frontier{steps: []mark{mark{}.moved(p.inLog())}}
}

func (f *Frontier) marks() []mark {
	if len(f.steps) == 0 {
		return birth[:]
	}
	return f.steps
}

// own returns steps that may be written to.
func (f *Frontier) own() []mark {
	if len(f.steps) == 0 {
		f.steps = append(f.steps, birth[0])
	}
	return f.steps
}

// Raise lifts each slot of r to at least p, and tells whether any has moved: a commit of the holder of r's lease, or a plain
// commit of the whole. A slot that is further stays where it is, so repeating a raise changes nothing. It allocates only if
// there are more steps than there ever were; the caller bounds them with Cap.
func (f *Frontier) Raise(r Range, p Position) bool {
	p = p.inLog()
	var moved bool
	f.steps, moved = edit(f.own(), r, func(m mark) mark { return m.raised(p) })
	return moved
}

// Lower takes each slot of r down to at most p, and tells whether any has moved. It is always safe: what was done from p on
// is done again. A negative offset means the beginning of the log.
func (f *Frontier) Lower(r Range, p Position) bool {
	p = p.inLog()
	var moved bool
	f.steps, moved = edit(f.own(), r, func(m mark) mark { return m.lowered(p) })
	return moved
}

// LowerTo takes each slot down to at most its place in o, and tells whether any has moved: of two accounts of one partition
// the lower is true.
func (f *Frontier) LowerTo(o *Frontier) bool {
	moved := false
	for r, p := range o.All() {
		moved = f.Lower(r, p) || moved
	}
	return moved
}

// Reset puts each slot of r at p, up or down, and tells whether any has moved: an operator's reset, a rewind of a plain
// member, a commit that is flagged so. A negative offset means the beginning of the log.
func (f *Frontier) Reset(r Range, p Position) bool {
	p = p.inLog()
	var moved bool
	f.steps, moved = edit(f.own(), r, func(m mark) mark { return m.moved(p) })
	return moved
}

// At returns the position of one slot.
func (f *Frontier) At(slot uint32) Position {
	marks := f.marks()
	return marks[find(marks, slot)].position()
}

// LowWatermark returns the least position of all: what a plain client sees as committed.
func (f *Frontier) LowWatermark() Position {
	p, _ := f.Low(Whole())
	return p
}

// Low returns the least position in r, and false if r is empty.
func (f *Frontier) Low(r Range) (Position, bool) { return f.extreme(r, -1) }

// High returns the greatest position in r, and false if r is empty. Less the least it is the spread of r: how much a plain
// member that starts at the low watermark repeats at most.
func (f *Frontier) High(r Range) (Position, bool) { return f.extreme(r, 1) }

func (f *Frontier) extreme(r Range, sign int) (Position, bool) {
	if r.Empty() {
		return Position{}, false
	}
	marks := f.marks()
	first, last := find(marks, r.Lo), find(marks, r.Hi)
	found := marks[first].position()
	for _, m := range marks[first+1 : last+1] {
		if m.position().Compare(found) == sign {
			found = m.position()
		}
	}
	return found, true
}

// LowOf returns the least position of what the worker holds in o, and false if it holds nothing. This is the one offset of
// a worker that people see. It is a view and not what is kept: a single offset of each worker cannot survive that a range
// changes hands.
func (f *Frontier) LowOf(o *Ownership, w Worker) (Position, bool) {
	var found Position
	held := false
	for r := range o.HeldBy(w) {
		if p, _ := f.Low(r); !held || p.Less(found) {
			found, held = p, true
		}
	}
	return found, held
}

// Len returns the number of steps, at least 1.
func (f *Frontier) Len() int { return len(f.marks()) }

// All returns the steps in the order of their slots: the longest ranges of one position each, which cover all slots. The
// frontier must not change meanwhile.
func (f *Frontier) All() iter.Seq2[Range, Position] { return f.In(Whole()) }

// In returns the steps of r as All does, cut to r.
func (f *Frontier) In(r Range) iter.Seq2[Range, Position] {
	return func(yield func(Range, Position) bool) {
		pieces(f.marks(), r, func(r Range, m mark) bool { return yield(r, m.position()) })
	}
}

// Clone returns a copy that shares nothing with f.
func (f *Frontier) Clone() Frontier { return Frontier{steps: slices.Clip(slices.Clone(f.steps))} }

// Equal tells whether f and o have the same position in each slot.
func (f *Frontier) Equal(o *Frontier) bool { return slices.Equal(f.marks(), o.marks()) }
