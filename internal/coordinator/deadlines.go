package coordinator

import "time"

// deadlines are those of the proposals. All have the same time-out, so they are in order as they come, and those that
// have had their outcome are dropped when they reach the front.
type deadlines struct {
	timeout time.Duration
	queue   []deadline
	head    int
}

type deadline struct {
	ref uint64
	at  time.Time
}

func (d *deadlines) add(ref uint64, now time.Time) {
	if d.head > 1024 && d.head*2 > len(d.queue) {
		n := copy(d.queue, d.queue[d.head:])
		d.queue, d.head = d.queue[:n], 0
	}
	d.queue = append(d.queue, deadline{ref, now.Add(d.timeout)})
}

// next returns the first deadline of a proposal that is still open.
func (d *deadlines) next(open *slab[pending]) (time.Time, bool) {
	for ; d.head < len(d.queue); d.head++ {
		if _, ok := open.get(d.queue[d.head].ref); ok {
			return d.queue[d.head].at, true
		}
	}
	d.queue, d.head = d.queue[:0], 0
	return time.Time{}, false
}

// due returns, and forgets, a proposal whose deadline has passed.
func (d *deadlines) due(now time.Time, open *slab[pending]) (ref uint64, ok bool) {
	at, ok := d.next(open)
	if !ok || at.After(now) {
		return 0, false
	}
	ref = d.queue[d.head].ref
	d.head++
	return ref, true
}
