package group

import (
	"encoding/binary"
	"hash"
)

// hasher writes values so that no two sequences of them read alike.
type hasher struct{ hash.Hash64 }

func (h hasher) number(n int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	_, _ = h.Write(b[:]) // a hash never fails
}

func (h hasher) bytes(b []byte) {
	h.number(int64(len(b)))
	_, _ = h.Write(b)
}

func (h hasher) text(s string) { h.bytes([]byte(s)) }

func (h hasher) group(r *GroupImage) {
	h.text(r.Meta.Group)
	h.number(int64(r.Meta.Sequence))
	h.number(int64(r.Meta.Phase))
	h.number(int64(r.Meta.Generation))
	h.text(r.Meta.ProtocolType)
	h.text(r.Meta.Protocol)
	h.text(r.Meta.Leader)
	h.number(r.Meta.StateTime)
	h.number(int64(len(r.Meta.Members)))
	for i := range r.Meta.Members {
		h.member(&r.Meta.Members[i])
	}
	h.number(int64(len(r.Topics)))
	for _, t := range r.Topics {
		h.text(t.Name)
		h.bytes(t.ID[:])
		h.number(int64(len(t.Partitions)))
		for _, p := range t.Partitions {
			h.number(int64(p.Partition))
			h.number(int64(p.LeaderEpoch))
			h.number(p.Offset)
			h.text(p.Metadata)
			h.number(p.CommitTime)
			h.number(p.ExpireTime)
		}
	}
}

func (h hasher) member(mi *MemberImage) {
	h.text(mi.MemberID)
	if mi.InstanceID != nil {
		h.text(*mi.InstanceID)
	} else {
		h.number(-1)
	}
	h.text(mi.Client.ID)
	h.text(mi.Client.Host)
	h.number(int64(mi.SessionTimeout))
	h.number(int64(mi.RebalanceTimeout))
	h.number(int64(len(mi.Protocols)))
	for _, p := range mi.Protocols {
		h.text(p.Name)
		h.bytes(p.Metadata)
	}
	h.bytes(mi.Assignment)
}
