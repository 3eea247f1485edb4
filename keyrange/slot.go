package keyrange

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// HashID names the hash of this package, XXH64 with seed 0, where a group or a frame says which one it uses. A group never
// mixes hashes, as two workers would then disagree on who owns a key.
const HashID = 1

// Hash returns the hash of a record: XXH64 with seed 0 over the raw bytes of its key. A nil key is Kafka's null key, which
// promises no order: its record is spread by its offset, hashed as 8 bytes big-endian. An empty key that is not nil is a key
// as any other. The high half is the slot; the low half is free for a choice inside the worker.
func Hash(key []byte, offset int64) uint64 {
	if key != nil {
		return xxhash.Sum64(key)
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(offset))
	return xxhash.Sum64(b[:])
}

// Slot returns the slot of a record, the high half of its [Hash]. Ranges are cut from the top bits and not from a remainder:
// a producer that chooses the partition by the remainder of a hash would otherwise leave most ranges of it empty.
func Slot(key []byte, offset int64) uint32 { return uint32(Hash(key, offset) >> 32) }
