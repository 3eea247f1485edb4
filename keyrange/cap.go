package keyrange

// Cap merges neighbouring steps until there are at most limit of them (at least 1), and returns how many it had to give up.
// A merge takes the lower position of the two, so it costs duplicates after a crash and never a record. Of all pairs that one
// is merged which costs the fewest duplicates, where keys are taken to be spread evenly: the smallest product of the offset
// difference and the number of slots that are lowered; of equal ones that of the lowest slots.
func (f *Frontier) Cap(limit int) int {
	before := f.Len()
	for len(f.steps) > max(limit, 1) {
		i := f.cheapest()
		to := f.steps[i-1]
		lowered := i
		if f.steps[i].before(to.position()) {
			to, lowered = f.steps[i], i-1
		}
		f.steps[lowered] = f.steps[lowered].moved(to.position())
		f.steps = join(f.steps, max(lowered, 1)-1, min(lowered+1, len(f.steps)-1))
	}
	return before - f.Len()
}

// cheapest returns the index of the second step of the pair that Cap merges next. There are at least two steps.
func (f *Frontier) cheapest() int {
	found, least := 1, f.mergeCost(1)
	for i := 2; i < len(f.steps); i++ {
		if cost := f.mergeCost(i); cost.less(least) {
			found, least = i, cost
		}
	}
	return found
}

// mergeCost returns what merging steps[i-1] and steps[i] costs: offsets times slots.
func (f *Frontier) mergeCost(i int) product {
	below, above := f.steps[i-1], f.steps[i]
	if above.before(below.position()) {
		return multiply(uint64(below.offset-above.offset), reach(f.steps, i-1).Size())
	}
	return multiply(uint64(above.offset-below.offset), reach(f.steps, i).Size())
}
