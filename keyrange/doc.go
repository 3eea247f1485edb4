// Package keyrange divides one topic partition among several workers by the hash of a record's key. It holds the slot of a
// key, the range of slots, and the two functions over all slots that a shared group keeps for each partition: Ownership
// (slot → worker and lease, or free) and Frontier (slot → offset up to which everything is processed). It is pure: no
// goroutine, channel, clock, randomness or I/O, and no lock either; its caller is the one owner of a value.
//
// Both functions are piecewise constant and stored as steps: a step reaches from its first slot to the slot before the next
// step. These hold after each call, and the decoders accept nothing else:
//
//  1. The first step begins at slot 0, and steps begin at ascending slots. So they cover each slot exactly once.
//  2. Neighbouring steps differ. So equal functions have equal steps and equal bytes, and the least number of both.
//  3. An offset is at least 0 and a leader epoch at least [NoLeaderEpoch].
//  4. A slot has a worker exactly if it has a lease.
//  5. A slot that has lost a lease never carries that lease again, and a lease is never older than one given before it.
//
// And of the operations:
//
//  6. Raise lowers no slot, Lower and Cap raise none. Lowering a frontier is always safe: it costs duplicates. Raising one
//     needs a commit of whoever holds the lease, which Holds tells. Whoever is in doubt lowers.
//  7. No operation changes a slot outside the range that it is given.
//  8. Split, Carve and Merge change no slot's worker, and neither Ownership nor Frontier changes with the other.
//  9. A call that returns an error has changed nothing.
package keyrange
