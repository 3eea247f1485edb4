package wire

// entry is one slot of the order in which the answers of a connection leave: one of req, body and neither (the broker's
// turn) says where the answer comes from.
type entry struct {
	Slot
	req   *Request
	body  []byte
	held  int32 // bytes of the request that stay in memory until the answer has left
	large bool  // held is taken from what all connections share
}

// local says whether Local answers the entry's request; the other answers with a req are there from the beginning.
func (e *entry) local() bool { return e.req != nil && e.req.Msg != nil }

// fifo is a ring of entries that grows to a bound. Its user holds the connection's lock.
type fifo struct {
	ring []entry
	head int
	n    int
}

func (f *fifo) push(e entry) {
	if f.n == len(f.ring) {
		ring := make([]entry, max(8, 2*len(f.ring)))
		for i := range f.n {
			ring[i] = f.ring[(f.head+i)%len(f.ring)]
		}
		f.ring, f.head = ring, 0
	}
	f.ring[(f.head+f.n)%len(f.ring)] = e
	f.n++
}

func (f *fifo) first() *entry { return &f.ring[f.head] }

// pop drops the first entry and what it refers to. An emptied ring that a burst has made large is let go.
func (f *fifo) pop() {
	f.ring[f.head] = entry{}
	f.head = (f.head + 1) % len(f.ring)
	if f.n--; f.n == 0 && len(f.ring) > 32 {
		f.ring, f.head = nil, 0
	}
}
