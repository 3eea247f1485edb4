package protocol

import (
	"encoding/binary"
	"math"

	"github.com/coordinatord/coordinatord/group"
)

// Offsets are most of what the log holds, so they are packed: a partition is written as its distance to the one before
// plus one, a leader epoch as its distance to the one before, and both are a single byte in the ordinary case. The
// distances are taken without a bound, so every int32 has a form.

const (
	minTopicBytes     = 3 // name, flags, count
	minPartitionBytes = 4 // partition, epoch, offset, metadata
	minStoredBytes    = 6 // the same, commit time, expire time
)

// packer keeps what the distances are taken from; its zero value begins a topic.
type packer struct {
	next  int64 // the partition that is expected
	epoch int64
}

func (p *packer) append(dst []byte, o *group.OffsetPartition) []byte {
	dst = appendVarint(dst, int64(o.Partition)-p.next)
	dst = appendVarint(dst, int64(o.LeaderEpoch)-p.epoch)
	dst = appendVarint(dst, o.Offset)
	p.next, p.epoch = int64(o.Partition)+1, int64(o.LeaderEpoch)
	return appendString(dst, o.Metadata)
}

func (p *packer) read(r *reader, o *group.OffsetPartition) {
	o.Partition = r.near(p.next)
	o.LeaderEpoch = r.near(p.epoch)
	o.Offset = r.varint()
	p.next, p.epoch = int64(o.Partition)+1, int64(o.LeaderEpoch)
	if o.Metadata = ""; len(r.src) > 0 && r.src[0] == 0 {
		r.src = r.src[1:]
		return
	}
	o.Metadata = r.name()
}

// near reads an int32 that is written as its distance to base.
func (r *reader) near(base int64) int32 {
	d := r.varint()
	if d < math.MinInt32-base || d > math.MaxInt32-base {
		r.fail(errRange)
		return 0
	}
	return int32(base + d)
}

func appendTopic(dst []byte, name string, id group.TopicID) []byte {
	dst = appendString(dst, name)
	if id == (group.TopicID{}) {
		return append(dst, 0)
	}
	dst = append(dst, flagID)
	return append(dst, id[:]...)
}

func readTopic(r *reader) (name string, id group.TopicID) {
	name = r.name()
	switch r.byte() {
	case 0:
	case flagID:
		if id = r.id(); id == (group.TopicID{}) {
			r.fail(errRange)
		}
	default:
		r.fail(errRange)
	}
	return name, id
}

func appendOffsetCommit(dst []byte, c *group.OffsetCommit) []byte {
	flags := byte(0)
	if c.Guard.Simple {
		flags |= flagSimple
	}
	if c.ExpireTime != -1 {
		flags |= flagExpire
	}
	dst = append(dst, flags)
	dst = appendString(dst, c.Group)
	dst = appendVarint(dst, int64(c.Guard.Generation))
	dst = appendString(dst, c.Guard.MemberID)
	dst = appendStringPtr(dst, c.Guard.InstanceID)
	dst = appendVarint(dst, c.CommitTime)
	if flags&flagExpire != 0 {
		dst = appendVarint(dst, c.ExpireTime)
	}
	dst = binary.AppendUvarint(dst, uint64(len(c.Topics)))
	for i := range c.Topics {
		t := &c.Topics[i]
		dst = appendTopic(dst, t.Name, t.ID)
		dst = binary.AppendUvarint(dst, uint64(len(t.Partitions)))
		var p packer
		for j := range t.Partitions {
			dst = p.append(dst, &t.Partitions[j])
		}
	}
	return dst
}

func readOffsetCommit(r *reader) *group.OffsetCommit {
	flags := r.byte()
	if flags&^(flagSimple|flagExpire) != 0 {
		r.fail(errRange)
	}
	c := &group.OffsetCommit{Group: r.name(), ExpireTime: -1}
	c.Guard.Simple = flags&flagSimple != 0
	c.Guard.Generation = r.int32()
	c.Guard.MemberID = r.name()
	c.Guard.InstanceID = r.namePtr()
	c.CommitTime = r.varint()
	if flags&flagExpire != 0 {
		c.ExpireTime = r.varint()
	}
	if n := r.count(minTopicBytes); n > 0 {
		c.Topics = make([]group.OffsetTopic, n)
	}
	for i := range c.Topics {
		t := &c.Topics[i]
		t.Name, t.ID = readTopic(r)
		if n := r.count(minPartitionBytes); n > 0 {
			t.Partitions = make([]group.OffsetPartition, n)
		}
		var p packer
		for j := range t.Partitions {
			p.read(r, &t.Partitions[j])
		}
	}
	return c
}

// The flag bits of an OffsetDelete record.
const (
	flagExpired = 1 << iota
	flagDropEmpty
)

func appendOffsetDelete(dst []byte, d *group.OffsetDelete) []byte {
	flags := byte(0)
	if d.Expired {
		flags |= flagExpired
	}
	if d.DropEmpty {
		flags |= flagDropEmpty
	}
	dst = append(dst, flags)
	dst = appendString(dst, d.Group)
	dst = appendVarint(dst, d.Before)
	dst = binary.AppendUvarint(dst, uint64(len(d.Topics)))
	for _, t := range d.Topics {
		dst = appendString(dst, t.Topic)
		dst = binary.AppendUvarint(dst, uint64(len(t.Partitions)))
		next := int64(0)
		for _, p := range t.Partitions {
			dst = appendVarint(dst, int64(p)-next)
			next = int64(p) + 1
		}
	}
	return dst
}

func readOffsetDelete(r *reader) *group.OffsetDelete {
	flags := r.byte()
	if flags&^(flagExpired|flagDropEmpty) != 0 {
		r.fail(errRange)
	}
	d := &group.OffsetDelete{Group: r.name(), Expired: flags&flagExpired != 0, DropEmpty: flags&flagDropEmpty != 0}
	d.Before = r.varint()
	if n := r.count(2); n > 0 {
		d.Topics = make([]group.PartitionSet, n)
	}
	for i := range d.Topics {
		t := &d.Topics[i]
		t.Topic = r.name()
		if n := r.count(1); n > 0 {
			t.Partitions = make([]int32, n)
		}
		next := int64(0)
		for j := range t.Partitions {
			t.Partitions[j] = r.near(next)
			next = int64(t.Partitions[j]) + 1
		}
	}
	return d
}

func appendGroupImage(dst []byte, g *group.GroupImage) []byte {
	dst = appendGroupMeta(dst, &g.Meta)
	dst = binary.AppendUvarint(dst, uint64(len(g.Topics)))
	for i := range g.Topics {
		t := &g.Topics[i]
		dst = appendTopic(dst, t.Name, t.ID)
		dst = binary.AppendUvarint(dst, uint64(len(t.Partitions)))
		var p packer
		last := int64(0)
		for j := range t.Partitions {
			o := &t.Partitions[j]
			dst = p.append(dst, &o.OffsetPartition)
			dst = appendVarint(dst, o.CommitTime-last) // wraps, and unwraps alike
			last = o.CommitTime
			dst = appendVarint(dst, o.ExpireTime+1) // -1, the ordinary case, is a single zero
		}
	}
	return dst
}

func readGroupImage(r *reader) *group.GroupImage {
	g := new(group.GroupImage)
	readGroupMeta(r, &g.Meta)
	if n := r.count(minTopicBytes); n > 0 {
		g.Topics = make([]group.StoredTopic, n)
	}
	for i := range g.Topics {
		t := &g.Topics[i]
		t.Name, t.ID = readTopic(r)
		if n := r.count(minStoredBytes); n > 0 {
			t.Partitions = make([]group.StoredOffset, n)
		}
		var p packer
		last := int64(0)
		for j := range t.Partitions {
			o := &t.Partitions[j]
			p.read(r, &o.OffsetPartition)
			o.CommitTime = last + r.varint()
			last = o.CommitTime
			o.ExpireTime = r.varint() - 1
		}
	}
	return g
}
