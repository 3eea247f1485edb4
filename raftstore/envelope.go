package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// An envelope is the data of one Raft entry, big-endian: format 1, origin 8, sequence 8, the leader's clock 8 (Unix
// milliseconds), then the commands, each with its length as an unsigned varint before it.
const (
	envelopeFormat = 1
	envelopeHead   = 1 + 8 + 8 + 8
)

var (
	errEnvelopeFormat  = errors.New("raftstore: an entry of the log has a format that this version does not know")
	errEnvelopeDamaged = errors.New("raftstore: an entry of the log is damaged")
)

// Envelope is a decoded entry of the log that carries commands.
type Envelope struct {
	Origin   uint64    // random, of the process that proposed it
	Sequence uint64    // counts the batches of that process
	Time     time.Time // the proposing leader's clock, in milliseconds
	Commands [][]byte  // parts of the entry
}

// putEnvelopeHead fills in the bytes that were left free for the head.
func putEnvelopeHead(b []byte, origin, sequence uint64, unixMillis int64) {
	b[0] = envelopeFormat
	binary.BigEndian.PutUint64(b[1:], origin)
	binary.BigEndian.PutUint64(b[9:], sequence)
	binary.BigEndian.PutUint64(b[17:], uint64(unixMillis))
}

// decodeEnvelope reads an entry. The result holds parts of b.
func decodeEnvelope(b []byte) (Envelope, error) {
	if len(b) == 0 {
		return Envelope{}, fmt.Errorf("%w: it is empty", errEnvelopeDamaged)
	}
	if b[0] != envelopeFormat {
		return Envelope{}, fmt.Errorf("%w: format %d, and this version knows %d", errEnvelopeFormat, b[0], envelopeFormat)
	}
	if len(b) < envelopeHead {
		return Envelope{}, fmt.Errorf("%w: %d bytes are less than a head", errEnvelopeDamaged, len(b))
	}
	e := Envelope{
		Origin:   binary.BigEndian.Uint64(b[1:]),
		Sequence: binary.BigEndian.Uint64(b[9:]),
		Time:     time.UnixMilli(int64(binary.BigEndian.Uint64(b[17:]))),
	}
	// Counting first makes it one allocation of the right size, whatever the lengths claim.
	n := 0
	for rest := b[envelopeHead:]; len(rest) > 0; n++ {
		size, w := binary.Uvarint(rest)
		if w <= 0 || size > uint64(len(rest)-w) {
			return Envelope{}, fmt.Errorf("%w: a command is longer than what is left of the entry", errEnvelopeDamaged)
		}
		rest = rest[w+int(size):]
	}
	if n == 0 {
		return e, nil
	}
	e.Commands = make([][]byte, 0, n)
	for rest := b[envelopeHead:]; len(rest) > 0; {
		size, w := binary.Uvarint(rest)
		e.Commands = append(e.Commands, rest[w:w+int(size):w+int(size)])
		rest = rest[w+int(size):]
	}
	return e, nil
}
