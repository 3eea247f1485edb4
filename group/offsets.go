package group

import (
	"cmp"
	"slices"
	"strings"
)

// offsets are those of one group in one topic under one id. Partitions are a slice by number, because nearly all of a
// topic's partitions are committed and 24 bytes in a slice cost a third of what a map costs. A number that does not fit
// the ones before it goes to a sorted list instead, so that one strange request cannot claim gigabytes.
type offsets struct {
	topic  *topic
	id     TopicID
	dense  []offset
	sparse []sparseOffset // sorted; its partitions are at least len(dense)
	extras []extra
	free   []int32 // extras that are not in use
	count  int
}

// offset is one committed offset. The zero value means none.
type offset struct {
	offset     int64
	commitTime int64
	epoch      int32
	slot       int32 // absent, plain, or the index of an extra plus firstExtra
}

const (
	absent     int32 = iota
	plain            // no metadata, and no expiry of its own
	firstExtra       // from here on: an extra
)

type sparseOffset struct {
	partition int32
	offset
}

// extra is what few offsets have.
type extra struct {
	metadata string
	expire   int64
}

// slack is how many partitions beyond those in use a dense slice may span.
const slack = 16

// find returns where in the image the offsets of this topic and id are, or would be.
func (im *image) find(name string, id TopicID) (int, bool) {
	low, high := 0, len(im.topics)
	for low < high {
		mid := int(uint(low+high) >> 1)
		if compareTopics(im.topics[mid], name, id) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, low < len(im.topics) && compareTopics(im.topics[low], name, id) == 0
}

func compareTopics(o *offsets, name string, id TopicID) int {
	if c := strings.Compare(o.topic.name, name); c != 0 {
		return c
	}
	if o.id == id {
		return 0
	}
	return slices.Compare(o.id[:], id[:])
}

// named returns the range of the offsets of a topic under all its ids; the zero id comes first.
func (im *image) named(name string) []*offsets {
	low, _ := im.find(name, TopicID{})
	high := low
	for high < len(im.topics) && im.topics[high].topic.name == name {
		high++
	}
	return im.topics[low:high]
}

// at returns the place of a partition, or nil if nothing was ever committed there.
func (o *offsets) at(partition int32) *offset {
	if partition < 0 {
		return nil
	}
	if int(partition) < len(o.dense) {
		return &o.dense[partition]
	}
	if i, ok := o.findSparse(partition); ok {
		return &o.sparse[i].offset
	}
	return nil
}

// get returns a committed offset.
func (o *offsets) get(partition int32) (offset, bool) {
	if p := o.at(partition); p != nil && p.slot != absent {
		return *p, true
	}
	return offset{}, false
}

func (o *offsets) findSparse(partition int32) (int, bool) {
	return slices.BinarySearchFunc(o.sparse, partition, func(s sparseOffset, p int32) int { return cmp.Compare(s.partition, p) })
}

// grow makes the dense slice span so many partitions, if those are not too many for what is in it and what is coming.
func (o *offsets) grow(to, coming int) {
	if to <= len(o.dense) || to > 2*(o.count+coming)+slack {
		return
	}
	size := max(to, len(o.dense)+len(o.dense)/4)
	if known := int(o.topic.partitions); o.topic.known && known >= to {
		size = min(size, known)
	}
	dense := make([]offset, size)
	copy(dense, o.dense)
	moved := 0
	for moved < len(o.sparse) && int(o.sparse[moved].partition) < size {
		dense[o.sparse[moved].partition] = o.sparse[moved].offset
		moved++
	}
	o.dense, o.sparse = dense, slices.Delete(o.sparse, 0, moved)
	if len(o.sparse) == 0 {
		o.sparse = nil
	}
}

// put stores an offset and tells whether the partition had none.
func (o *offsets) put(p *OffsetPartition, commitTime, expire int64) bool {
	place := o.at(p.Partition)
	if place == nil {
		i, _ := o.findSparse(p.Partition)
		o.sparse = slices.Insert(o.sparse, i, sparseOffset{partition: p.Partition})
		place = &o.sparse[i].offset
	}
	added := place.slot == absent
	if added {
		o.count++
		place.slot = plain
	}
	place.offset, place.commitTime, place.epoch = p.Offset, commitTime, p.LeaderEpoch
	if place.slot != plain || p.Metadata != "" || expire >= 0 {
		o.setExtra(place, p.Metadata, expire)
	}
	return added
}

// setExtra stores metadata and expiry; the string is copied, unless it is the one that is there.
func (o *offsets) setExtra(place *offset, metadata string, expire int64) {
	if metadata == "" && expire < 0 {
		o.dropExtra(place)
		place.slot = plain
		return
	}
	if place.slot < firstExtra {
		if n := len(o.free); n > 0 {
			place.slot, o.free = o.free[n-1]+firstExtra, o.free[:n-1]
		} else {
			place.slot = int32(len(o.extras)) + firstExtra
			o.extras = append(o.extras, extra{})
		}
	}
	e := &o.extras[place.slot-firstExtra]
	e.expire = expire
	if e.metadata != metadata {
		e.metadata = strings.Clone(metadata)
	}
}

func (o *offsets) dropExtra(place *offset) {
	if place.slot >= firstExtra {
		o.extras[place.slot-firstExtra] = extra{}
		o.free = append(o.free, place.slot-firstExtra)
	}
}

// extra returns the metadata and the expiry of an offset; -1: none.
func (o *offsets) extra(p offset) (metadata string, expire int64) {
	if p.slot < firstExtra {
		return "", -1
	}
	e := &o.extras[p.slot-firstExtra]
	return e.metadata, e.expire
}

// remove takes an offset out and tells whether there was one.
func (o *offsets) remove(partition int32) bool {
	place := o.at(partition)
	if place == nil || place.slot == absent {
		return false
	}
	o.dropExtra(place)
	*place = offset{}
	o.count--
	if int(partition) >= len(o.dense) {
		i, _ := o.findSparse(partition)
		o.sparse = slices.Delete(o.sparse, i, i+1)
	}
	return true
}

// each calls f for all offsets, by partition.
func (o *offsets) each(f func(partition int32, p offset)) {
	for i := range o.dense {
		if o.dense[i].slot != absent {
			f(int32(i), o.dense[i])
		}
	}
	for i := range o.sparse {
		f(o.sparse[i].partition, o.sparse[i].offset)
	}
}
