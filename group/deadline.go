package group

import "time"

// deadline is a timer that is data: an instant on the machine's clock and what it is about. Renewing it later than its
// place in the heap leaves it there; it moves when it comes to the front. So a heartbeat costs one store.
type deadline struct {
	at     time.Duration // its place in the heap; never later than due
	due    time.Duration // when it takes effect
	seq    uint64        // breaks ties in the order of arming
	pos    int           // index in the heap plus one; 0: not armed; overdue: has come, and waits to take effect
	kind   deadlineKind
	group  *group
	member *member
	ticket *ticket
}

// overdue is the place of a deadline that has come and can still be called off.
const overdue = -1

type deadlineKind uint8

const (
	sessionDeadline deadlineKind = iota
	ticketDeadline
	joinDeadline
	syncDeadline
	sweepDeadline
)

// deadlines is a binary heap, ordered by at and then by seq.
type deadlines struct {
	heap []*deadline
	seq  uint64
}

func (h *deadlines) less(i, j int) bool {
	a, b := h.heap[i], h.heap[j]
	if a.at != b.at {
		return a.at < b.at
	}
	return a.seq < b.seq
}

func (h *deadlines) swap(i, j int) {
	h.heap[i], h.heap[j] = h.heap[j], h.heap[i]
	h.heap[i].pos, h.heap[j].pos = i+1, j+1
}

func (h *deadlines) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h *deadlines) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.heap) {
			return
		}
		if right := child + 1; right < len(h.heap) && h.less(right, child) {
			child = right
		}
		if !h.less(child, i) {
			return
		}
		h.swap(i, child)
		i = child
	}
}

// arm sets when d takes effect, whether it was armed or not.
func (h *deadlines) arm(d *deadline, due time.Duration) {
	d.due = due
	switch {
	case d.pos <= 0:
		h.seq++
		d.at, d.seq = due, h.seq
		h.heap = append(h.heap, d)
		d.pos = len(h.heap)
		h.up(d.pos - 1)
	case due < d.at:
		d.at = due
		h.up(d.pos - 1)
	}
}

// disarm calls d off.
func (h *deadlines) disarm(d *deadline) {
	if d.pos <= 0 {
		d.pos = 0
		return
	}
	i, last := d.pos-1, len(h.heap)-1
	if i != last {
		h.swap(i, last)
	}
	h.heap[last] = nil
	h.heap = h.heap[:last]
	d.pos = 0
	if i != last {
		h.down(i)
		h.up(i)
	}
}

// next returns the earliest deadline with its place brought up to date, or nil.
func (h *deadlines) next() *deadline {
	for len(h.heap) > 0 {
		d := h.heap[0]
		if d.due == d.at {
			return d
		}
		d.at = d.due
		h.down(0)
	}
	return nil
}

// expired takes out and returns the earliest deadline that has come by now, or nil.
func (h *deadlines) expired(now time.Duration) *deadline {
	d := h.next()
	if d == nil || d.due > now {
		return nil
	}
	h.disarm(d)
	return d
}

func (h *deadlines) reset() {
	for i, d := range h.heap {
		d.pos = 0
		h.heap[i] = nil
	}
	h.heap = h.heap[:0]
}
