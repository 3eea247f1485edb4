package protocol

// OffsetFetch, key 9.
//
//	v0   offsets kept in ZooKeeper; gone
//	v1   from the coordinator; there is no top-level error, so a group's error stands on every partition
//	v2   null topics mean all; top-level error
//	v3   throttle time in the response
//	v4   throttling after the response
//	v5   leader epoch in the response (KIP-320)
//	v6   flexible
//	v7   require stable (KIP-447)
//	v8   many groups, each with its own error; the old fields are gone
//	v9   member id and epoch (KIP-848)
//	v10  topic ids instead of names, in both directions

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

const (
	offsetFetchTopError = 2
	offsetFetchBatched  = 8
	offsetFetchTopicIDs = 10
)

type offsetFetch struct {
	version int16
	ev      group.Fetch
	msg     *kmsg.OffsetFetchRequest
	failed  group.Code      // v10: Kafka had to be asked for an id and could not be
	unknown [][]fetchedByID // v10, by group: topics whose id does not exist
	known   Lookup          // what Kafka has told of topics; nil: nothing
}

type fetchedByID struct {
	id         group.TopicID
	partitions []int32
}

func newOffsetFetch(msg *kmsg.OffsetFetchRequest) *offsetFetch {
	f := &offsetFetch{version: msg.Version, msg: msg, ev: group.Fetch{RequireStable: msg.RequireStable}}
	if msg.Version < offsetFetchBatched {
		g := group.FetchGroup{Group: strings.Clone(msg.Group), MemberEpoch: -1, All: msg.Topics == nil}
		for _, t := range msg.Topics {
			g.Topics = append(g.Topics, partitionSet(t.Topic, t.Partitions))
		}
		f.ev.Groups = []group.FetchGroup{g}
		return f
	}
	f.ev.Groups = make([]group.FetchGroup, len(msg.Groups))
	for i, in := range msg.Groups {
		g := &f.ev.Groups[i]
		g.Group, g.MemberID, g.MemberEpoch, g.All = strings.Clone(in.Group), clone(in.MemberID), in.MemberEpoch, in.Topics == nil
		if msg.Version >= offsetFetchTopicIDs {
			continue // Resolve gives the names
		}
		for _, t := range in.Topics {
			g.Topics = append(g.Topics, partitionSet(t.Topic, t.Partitions))
		}
	}
	return f
}

func partitionSet(topic string, partitions []int32) group.PartitionSet {
	return group.PartitionSet{Topic: strings.Clone(topic), Partitions: partitions}
}

// Missing implements [TopicRequest]. Only ids have to be known: a fetch by name is answered for any name.
func (f *offsetFetch) Missing(known Lookup) (names []string, ids []group.TopicID) {
	if f.version < offsetFetchTopicIDs {
		return nil, nil
	}
	for _, g := range f.msg.Groups {
		for _, t := range g.Topics {
			if _, ok := byID(known, t.TopicID); !ok && t.TopicID != noTopicID {
				ids = append(ids, t.TopicID)
			}
		}
	}
	return nil, ids
}

// Resolve implements [TopicRequest].
func (f *offsetFetch) Resolve(known Lookup, absent group.Code) {
	f.known = known
	if f.version < offsetFetchTopicIDs {
		f.resolveNames(known)
		return
	}
	f.unknown = make([][]fetchedByID, len(f.msg.Groups))
	for i, g := range f.msg.Groups {
		for _, t := range g.Topics {
			topic, ok := byID(known, t.TopicID)
			if !ok {
				if t.TopicID != noTopicID {
					f.failed = absent
				}
				f.unknown[i] = append(f.unknown[i], fetchedByID{t.TopicID, t.Partitions})
				continue
			}
			f.ev.Groups[i].Topics = append(f.ev.Groups[i].Topics, partitionSet(topic.Name, t.Partitions))
			f.ev.Groups[i].IDs = append(f.ev.Groups[i].IDs, t.TopicID)
		}
	}
}

// resolveNames gives the group the ids that Kafka has for the names: a topic that was created anew does not inherit.
func (f *offsetFetch) resolveNames(known Lookup) {
	for i := range f.ev.Groups {
		g := &f.ev.Groups[i]
		for j := range g.Topics {
			topic, _ := known.ByName(g.Topics[j].Topic) // the zero id for one that is not known
			g.IDs = append(g.IDs, topic.ID)
		}
	}
}

// Aged implements [NamingRequest].
func (f *offsetFetch) Aged(fresh func(name string) bool) (names []string) {
	if f.version >= offsetFetchTopicIDs {
		return nil
	}
	for i := range f.ev.Groups {
		for j := range f.ev.Groups[i].Topics {
			if name := f.ev.Groups[i].Topics[j].Topic; !fresh(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Event implements [Request].
func (f *offsetFetch) Event(id group.ReqID) group.Event {
	if f.failed != group.None {
		return nil
	}
	f.ev.Req = id
	return f.ev
}

// Answer implements [Request].
func (f *offsetFetch) Answer(res group.Result) kmsg.Response {
	if f.failed != group.None {
		return f.Fail(f.failed)
	}
	r := res.(group.FetchResult)
	for i := range r.Groups {
		if f.ev.Groups[i].All && f.known != nil {
			r.Groups[i].Topics = Present(r.Groups[i].Topics, f.known)
		}
	}
	if f.version < offsetFetchBatched {
		return f.single(&r.Groups[0])
	}
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.Version = f.version
	resp.Groups = make([]kmsg.OffsetFetchResponseGroup, len(r.Groups))
	for i := range r.Groups {
		resp.Groups[i] = f.group(i, &r.Groups[i])
	}
	return resp
}

// Present keeps the topics that still have their names, as far as known tells: one that was created anew does not inherit,
// also while the image has yet to hear of its id. It changes topics in place.
func Present(topics []group.FetchedTopic, known Lookup) []group.FetchedTopic {
	return slices.DeleteFunc(topics, func(t group.FetchedTopic) bool {
		now, ok := known.ByName(t.Topic)
		return ok && t.ID != noTopicID && now.ID != noTopicID && now.ID != t.ID
	})
}

// single is the layout before v8.
func (f *offsetFetch) single(g *group.FetchedGroup) kmsg.Response {
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.Version = f.version
	if g.Code != group.None {
		if f.version >= offsetFetchTopError {
			resp.ErrorCode = int16(g.Code)
			return resp
		}
		resp.Topics = make([]kmsg.OffsetFetchResponseTopic, len(f.ev.Groups[0].Topics))
		for i, t := range f.ev.Groups[0].Topics {
			resp.Topics[i].Topic = t.Topic
			for _, p := range t.Partitions {
				resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, kmsg.OffsetFetchResponseTopicPartition{
					Partition: p, Offset: -1, LeaderEpoch: -1, Metadata: new(string), ErrorCode: int16(g.Code),
				})
			}
		}
		return resp
	}
	resp.Topics = make([]kmsg.OffsetFetchResponseTopic, len(g.Topics))
	for i := range g.Topics {
		t := &g.Topics[i]
		resp.Topics[i].Topic = t.Topic
		resp.Topics[i].Partitions = make([]kmsg.OffsetFetchResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			p := &t.Partitions[j]
			resp.Topics[i].Partitions[j] = kmsg.OffsetFetchResponseTopicPartition{
				Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: &p.Metadata, ErrorCode: int16(p.Code),
			}
		}
	}
	return resp
}

// group is one group of the layout from v8 on.
func (f *offsetFetch) group(i int, g *group.FetchedGroup) kmsg.OffsetFetchResponseGroup {
	out := kmsg.OffsetFetchResponseGroup{Group: g.Group, ErrorCode: int16(g.Code)}
	if g.Code != group.None {
		return out
	}
	out.Topics = make([]kmsg.OffsetFetchResponseGroupTopic, 0, len(g.Topics))
	for n := range g.Topics {
		t := &g.Topics[n]
		topic := kmsg.OffsetFetchResponseGroupTopic{Partitions: make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(t.Partitions))}
		switch {
		case f.version < offsetFetchTopicIDs:
			topic.Topic = t.Topic
		case !f.ev.Groups[i].All && n < len(f.ev.Groups[i].IDs):
			topic.TopicID = f.ev.Groups[i].IDs[n]
		case t.ID == noTopicID:
			continue // an answer in ids has no way to name it
		default:
			topic.TopicID = t.ID
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			topic.Partitions[j] = kmsg.OffsetFetchResponseGroupTopicPartition{
				Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: &p.Metadata, ErrorCode: int16(p.Code),
			}
		}
		out.Topics = append(out.Topics, topic)
	}
	if f.version < offsetFetchTopicIDs {
		return out
	}
	for _, u := range f.unknown[i] {
		topic := kmsg.OffsetFetchResponseGroupTopic{TopicID: u.id}
		for _, p := range u.partitions {
			topic.Partitions = append(topic.Partitions, kmsg.OffsetFetchResponseGroupTopicPartition{
				Partition: p, Offset: -1, LeaderEpoch: -1, Metadata: new(string), ErrorCode: int16(group.UnknownTopicID),
			})
		}
		out.Topics = append(out.Topics, topic)
	}
	return out
}

// Fail implements [Request]. COORDINATOR_NOT_AVAILABLE becomes NOT_COORDINATOR: older consumers do not know the former in
// this answer, and both make a client look for the coordinator again.
func (f *offsetFetch) Fail(code group.Code) kmsg.Response {
	if code == group.CoordinatorNotAvailable {
		code = group.NotCoordinator
	}
	r := group.FetchResult{Groups: make([]group.FetchedGroup, len(f.ev.Groups))}
	for i, g := range f.ev.Groups {
		r.Groups[i] = group.FetchedGroup{Group: g.Group, Code: code}
	}
	f.failed = group.None
	return f.Answer(r)
}
