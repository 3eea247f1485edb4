package protocol

// OffsetDelete, key 47 (KIP-496).
//
//	v0  the only one; never flexible; the error comes before the throttle time

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

type offsetDelete struct {
	msg    *kmsg.OffsetDeleteRequest
	ev     group.DeleteOffsets
	failed group.Code // set when Kafka had to be asked and could not be
	resp   kmsg.OffsetDeleteResponse
	order  []struct{ topic, partition int } // where the event's partitions stand in the response
}

func newOffsetDelete(msg *kmsg.OffsetDeleteRequest) *offsetDelete {
	d := &offsetDelete{msg: msg, ev: group.DeleteOffsets{Group: strings.Clone(msg.Group)}}
	d.resp.Version = msg.Version
	return d
}

// Missing implements [TopicRequest].
func (d *offsetDelete) Missing(known Lookup) (names []string, ids []group.TopicID) {
	for _, t := range d.msg.Topics {
		topic, ok := known.ByName(t.Topic)
		for _, p := range t.Partitions {
			if !ok || !within(p.Partition, topic.Partitions) {
				names = append(names, t.Topic)
				break
			}
		}
	}
	return names, nil
}

// Resolve implements [TopicRequest]. The refused partitions come first, as in OffsetCommit.
func (d *offsetDelete) Resolve(known Lookup, absent group.Code) {
	at := make(map[string]int, len(d.msg.Topics))
	add := func(name string, partition int32, code group.Code) (topic, index int) {
		n, ok := at[name]
		if !ok {
			n = len(d.resp.Topics)
			at[name] = n
			d.resp.Topics = append(d.resp.Topics, kmsg.OffsetDeleteResponseTopic{Topic: strings.Clone(name)})
		}
		out := &d.resp.Topics[n]
		out.Partitions = append(out.Partitions, kmsg.OffsetDeleteResponseTopicPartition{Partition: partition, ErrorCode: int16(code)})
		return n, len(out.Partitions) - 1
	}
	for _, t := range d.msg.Topics {
		topic, ok := known.ByName(t.Topic)
		for _, p := range t.Partitions {
			if !ok || !within(p.Partition, topic.Partitions) {
				d.failed = absent
				add(t.Topic, p.Partition, group.UnknownTopicOrPartition)
			}
		}
	}
	for _, t := range d.msg.Topics {
		topic, ok := known.ByName(t.Topic)
		if !ok {
			continue
		}
		set := group.PartitionSet{Topic: topic.Name}
		for _, p := range t.Partitions {
			if within(p.Partition, topic.Partitions) {
				n, i := add(t.Topic, p.Partition, group.None)
				d.order = append(d.order, struct{ topic, partition int }{n, i})
				set.Partitions = append(set.Partitions, p.Partition)
			}
		}
		if len(set.Partitions) > 0 {
			d.ev.Topics = append(d.ev.Topics, set)
		}
	}
}

// Event implements [Request]. Unlike OffsetCommit the group is asked even when no partition exists.
func (d *offsetDelete) Event(id group.ReqID) group.Event {
	if d.failed != group.None {
		return nil
	}
	d.ev.Req = id
	return d.ev
}

// Answer implements [Request]. A top-level error discards the rest.
func (d *offsetDelete) Answer(res group.Result) kmsg.Response {
	if d.failed != group.None {
		return d.Fail(d.failed)
	}
	r := res.(group.DeleteOffsetsResult)
	if r.Code != group.None {
		return d.Fail(r.Code)
	}
	for i, o := range d.order {
		if i < len(r.Partitions) {
			d.resp.Topics[o.topic].Partitions[o.partition].ErrorCode = int16(r.Partitions[i])
		}
	}
	return &d.resp
}

// Fail implements [Request].
func (d *offsetDelete) Fail(code group.Code) kmsg.Response {
	d.resp.ErrorCode = int16(code)
	d.resp.Topics = nil
	return &d.resp
}
