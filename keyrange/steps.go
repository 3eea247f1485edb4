package keyrange

// step is one piece of a function over all slots: its value holds from start to the slot before the next step.
type step[S any] interface {
	comparable
	start() uint32
	from(slot uint32) S // the same value, beginning at the slot
}

// find returns the index of the step that holds the slot.
func find[S step[S]](steps []S, slot uint32) int {
	low, high := 0, len(steps) // steps[low] begins at or before the slot, steps[high] after it
	for high-low > 1 {
		if mid := int(uint(low+high) / 2); steps[mid].start() <= slot {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// reach returns the slots of steps[i].
func reach[S step[S]](steps []S, i int) Range {
	r := Range{Lo: steps[i].start(), Hi: lastSlot}
	if i+1 < len(steps) {
		r.Hi = steps[i+1].start() - 1
	}
	return r
}

// edit replaces the value of each slot in r by what change says, and tells whether any slot has changed. The change must
// keep a step's start. It allocates only if there are more steps than there ever were.
func edit[S step[S]](steps []S, r Range, change func(S) S) ([]S, bool) {
	if r.Empty() {
		return steps, false
	}
	first, last := find(steps, r.Lo), find(steps, r.Hi)
	for first <= last && change(steps[first]) == steps[first] {
		first++
	}
	if first > last {
		return steps, false
	}
	for change(steps[last]) == steps[last] {
		last--
	}
	lo, hi := max(r.Lo, steps[first].start()), min(r.Hi, reach(steps, last).Hi)
	if lo > steps[first].start() {
		steps = insert(steps, first+1, steps[first].from(lo))
		first++
		last++
	}
	if hi < reach(steps, last).Hi {
		steps = insert(steps, last+1, steps[last].from(hi+1))
	}
	for i := first; i <= last; i++ {
		steps[i] = change(steps[i])
	}
	return join(steps, max(first, 1)-1, min(last+1, len(steps)-1)), true
}

func insert[S step[S]](steps []S, i int, s S) []S {
	steps = append(steps, s)
	copy(steps[i+1:], steps[i:])
	steps[i] = s
	return steps
}

// join makes one step of neighbours of equal value among steps[first] to steps[last].
func join[S step[S]](steps []S, first, last int) []S {
	kept := first
	for i := first + 1; i <= last; i++ {
		if steps[i].from(0) == steps[kept].from(0) {
			continue
		}
		kept++
		steps[kept] = steps[i]
	}
	end := copy(steps[kept+1:], steps[last+1:])
	return steps[:kept+1+end]
}

// pieces calls yield with each step of r in order, cut to r, until it returns false.
func pieces[S step[S]](steps []S, r Range, yield func(Range, S) bool) {
	if r.Empty() {
		return
	}
	for i := find(steps, r.Lo); i < len(steps) && steps[i].start() <= r.Hi; i++ {
		if !yield(reach(steps, i).Overlap(r), steps[i]) {
			return
		}
	}
}
