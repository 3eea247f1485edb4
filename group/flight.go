package group

// flightKind says what a proposal in flight is for.
type flightKind uint8

const (
	flightDone       flightKind = iota // landed, or never there
	flightCommit                       // OffsetCommit of a client
	flightDelete                       // OffsetDelete of a client
	flightCreate                       // the first GroupMeta of a group
	flightGeneration                   // a generation begins
	flightEmptied                      // a generation begins without members
	flightAssignment                   // the leader's assignment
	flightReplace                      // a static member is replaced in Stable
	flightDrop                         // GroupDelete
	flightExpire                       // OffsetDelete of the sweep
	flightTopic                        // TopicUpsert
	flightTopicDrop                    // TopicDrop
)

// flight is a proposal whose outcome is awaited.
type flight struct {
	kind    flightKind
	version int16
	req     ReqID
	group   *group
	codes   []Code // of the partitions, when some were refused before proposing
	call    *deleteCall
	entry   int // of call
	replace *replacement
	topic   string
	count   int
}

// flights finds a flight by its token. Tokens are given in sequence and land nearly in order, so a ring does.
type flights struct {
	ring  []flight // its length is a power of two
	first Token    // the oldest that has not landed
	next  Token
}

// add returns the place of a new flight and its token.
func (f *flights) add() (*flight, Token) {
	if int(f.next-f.first) == len(f.ring) {
		f.grow()
	}
	token := f.next
	f.next++
	return f.at(token), token
}

func (f *flights) at(t Token) *flight { return &f.ring[uint64(t)&uint64(len(f.ring)-1)] }

func (f *flights) grow() {
	bigger := make([]flight, max(64, 2*len(f.ring)))
	for t := f.first; t < f.next; t++ {
		bigger[uint64(t)&uint64(len(bigger)-1)] = *f.at(t)
	}
	f.ring = bigger
}

// land takes out the flight with this token. A token that is unknown, because it was forgotten or has landed, gives a
// flight of the kind flightDone.
func (f *flights) land(t Token) flight {
	if t < f.first || t >= f.next {
		return flight{}
	}
	place := f.at(t)
	landed := *place
	*place = flight{}
	for f.first < f.next && f.at(f.first).kind == flightDone {
		f.first++
	}
	return landed
}

// each calls fn for all flights, oldest first.
func (f *flights) each(fn func(*flight)) {
	for t := f.first; t < f.next; t++ {
		if place := f.at(t); place.kind != flightDone {
			fn(place)
		}
	}
}

// forget lets all flights land unseen.
func (f *flights) forget() {
	for t := f.first; t < f.next; t++ {
		*f.at(t) = flight{}
	}
	f.first = f.next
}
