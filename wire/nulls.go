package wire

import (
	"encoding/binary"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// kmsg reads a null array as an empty one, also where the protocol has no null. Kafka closes the connection on those, so the
// requests of our own keys are walked once more for the lengths of their arrays and byte strings.

var errNull = errors.New("null where the protocol has none")

type kind uint8

const (
	fixed kind = iota // size bytes
	text              // string, nullable or not: kmsg tells these apart itself
	data              // bytes, not nullable
	list              // array of of
)

// field is one field of a request in the order of the bytes, in the versions since to until.
type field struct {
	kind         kind
	size         int
	since, until int16
	nullable     int16 // the first version in which a list may be null
	of           []field
}

const (
	always = int16(1<<15 - 1)
	never  = always
)

func fix(size int, since int16) field {
	return field{kind: fixed, size: size, since: since, until: always}
}
func str(since int16) field { return field{kind: text, since: since, until: always} }
func arr(since int16, of ...field) field {
	return field{kind: list, since: since, until: always, nullable: never, of: of}
}

func (f field) to(version int16) field { f.until = version; return f }

func (f field) nullFrom(version int16) field { f.nullable = version; return f }

// layouts holds the own requests that have arrays, as Kafka's message definitions give them.
var layouts = map[int16][]field{
	int16(kmsg.OffsetCommit): {
		str(0), fix(4, 1), str(1), str(7), fix(8, 2).to(4),
		arr(0, str(0).to(9), fix(16, 10), arr(0, fix(4, 0), fix(8, 0), fix(4, 6), str(0))),
	},
	int16(kmsg.OffsetFetch): {
		str(0).to(7),
		arr(0, str(0), arr(0, fix(4, 0))).to(7).nullFrom(2),
		arr(8, str(8), str(9), fix(4, 9), arr(8, str(8).to(9), fix(16, 10), arr(8, fix(4, 8))).nullFrom(8)),
		fix(1, 7),
	},
	int16(kmsg.FindCoordinator): {str(0).to(3), fix(1, 1), arr(4, str(4))},
	int16(kmsg.JoinGroup): {
		str(0), fix(4, 0), fix(4, 1), str(0), str(5), str(0),
		arr(0, str(0), field{kind: data, until: always}), str(8),
	},
	int16(kmsg.LeaveGroup):     {str(0), str(0).to(2), arr(3, str(3), str(3), str(5))},
	int16(kmsg.SyncGroup):      {str(0), fix(4, 0), str(0), str(3), str(5), str(5), arr(0, str(0), field{kind: data, until: always})},
	int16(kmsg.DescribeGroups): {arr(0, str(0)), fix(1, 3)},
	int16(kmsg.ListGroups):     {arr(4, str(4)), arr(5, str(5))},
	int16(kmsg.DeleteGroups):   {arr(0, str(0))},
	int16(kmsg.OffsetDelete):   {str(0), arr(0, str(0), arr(0, fix(4, 0)))},
}

// checkNulls refuses a request in which something is null that must not be. kmsg has read body as msg without an error.
func checkNulls(msg kmsg.Request, body []byte) error {
	if commit, ok := msg.(*kmsg.OffsetCommitRequest); ok && !emptyLists(commit) {
		return nil // what is not empty is not null, and this one is hot
	}
	layout, ok := layouts[msg.Key()]
	if !ok {
		return nil
	}
	w := walker{cursor: cursor{b: body}, version: msg.GetVersion(), flexible: msg.IsFlexible()}
	w.structure(layout)
	if w.null || w.short { // short cannot be: the layouts are those of kmsg
		return errNull
	}
	return nil
}

func emptyLists(r *kmsg.OffsetCommitRequest) bool {
	for i := range r.Topics {
		if len(r.Topics[i].Partitions) == 0 {
			return true
		}
	}
	return len(r.Topics) == 0
}

// walker reads the lengths of a request that has been decoded already, so that they are true.
type walker struct {
	cursor
	version  int16
	flexible bool
	null     bool
}

// structure reads fields and the tags that end them.
func (w *walker) structure(fs []field) {
	for i := range fs {
		if f := &fs[i]; w.version >= f.since && w.version <= f.until && !w.short && !w.null {
			w.field(f)
		}
	}
	if w.flexible {
		w.skipTags()
	}
}

func (w *walker) field(f *field) {
	switch f.kind {
	case fixed:
		w.span(f.size)
	case text:
		if w.flexible {
			w.compactString()
		} else {
			w.nullableString()
		}
	case data:
		w.span(w.length(never))
	case list:
		// An element has a byte at least: the bytes bound the loop, not the length.
		for n := w.length(f.nullable); n > 0 && !w.short && !w.null; n-- {
			if len(f.of) == 1 { // a primitive, which has no tags; every structure has two fields or more
				w.field(&f.of[0])
			} else {
				w.structure(f.of)
			}
		}
	}
}

// length reads the length of an array or of bytes; a null is 0 elements where it is allowed, from the version nullable on.
func (w *walker) length(nullable int16) int {
	n := 0
	if w.flexible {
		n = int(int32(w.uvarint())) - 1
	} else if b := w.span(4); b != nil {
		n = int(int32(binary.BigEndian.Uint32(b)))
	}
	if n < 0 {
		w.null = w.version < nullable && !w.short
		n = 0
	}
	return n
}
