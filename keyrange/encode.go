package keyrange

import "encoding/binary"

// formatVersion is the first byte of both encodings.
const formatVersion = 1

// Both encodings begin with the version byte. What follows are varints of the least length, as in protocol buffers;
// "signed" ones are zigzag. Each step but the first begins with the distance from the start of the step before, at least 1.
//
//	frontier:  version, number of steps, steps of {distance, signed offset, signed leader epoch}
//	ownership: version, next lease, number of steps, steps of {distance, worker, and if that is not 0: next lease - lease}
//
// Offset and epoch are differences from the step before, and of the first step from 0. As the functions are canonical,
// there is exactly one encoding of each, and decoding accepts no other.

// Append appends the encoding of f to b: about 9 bytes for each step.
func (f *Frontier) Append(b []byte) []byte {
	marks := f.marks()
	b = append(b, formatVersion)
	b = binary.AppendUvarint(b, uint64(len(marks)))
	var last mark
	for i, m := range marks {
		if i > 0 {
			b = binary.AppendUvarint(b, uint64(m.lo-last.lo))
		}
		b = binary.AppendVarint(b, m.offset-last.offset)
		b = binary.AppendVarint(b, int64(m.leaderEpoch)-int64(last.leaderEpoch))
		last = m
	}
	return b
}

// Append appends the encoding of o to b: about 8 bytes for each range.
func (o *Ownership) Append(b []byte) []byte {
	arcs := o.arcs()
	next := max(o.next, 1)
	b = append(b, formatVersion)
	b = binary.AppendUvarint(b, uint64(next))
	b = binary.AppendUvarint(b, uint64(len(arcs)))
	var last arc
	for i, a := range arcs {
		if i > 0 {
			b = binary.AppendUvarint(b, uint64(a.lo-last.lo))
		}
		b = binary.AppendUvarint(b, uint64(a.worker))
		if a.worker != 0 {
			b = binary.AppendUvarint(b, uint64(next-a.lease))
		}
		last = a
	}
	return b
}
