package keyrange

import "cmp"

// NoLeaderEpoch is the leader epoch of a position of which none is known, as in Kafka.
const NoLeaderEpoch = -1

// Position is a place in the log of a partition: the offset of the next record to process, and the leader epoch of the last
// one that was processed. The epoch lets a truncation of the log be told from an offset that was never there (KIP-320).
type Position struct {
	Offset      int64
	LeaderEpoch int32
}

// Compare orders positions by offset. Of the same offset the one with the older leader epoch comes first: lowering may
// thus forget an epoch, which costs a check, and raising learns one.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Offset, q.Offset), cmp.Compare(p.LeaderEpoch, q.LeaderEpoch))
}

// Less tells whether p comes before q in the order of Compare.
func (p Position) Less(q Position) bool { return p.Compare(q) < 0 }

// inLog returns p, or the beginning of each log where p is before it.
func (p Position) inLog() Position {
	if p.Offset < 0 {
		return Position{LeaderEpoch: NoLeaderEpoch}
	}
	return Position{Offset: p.Offset, LeaderEpoch: max(p.LeaderEpoch, NoLeaderEpoch)}
}
