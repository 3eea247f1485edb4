package protocol

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

func commitTopic(topic Topic, partitions ...int32) kmsg.OffsetCommitRequestTopic {
	t := kmsg.OffsetCommitRequestTopic{Topic: topic.Name, TopicID: topic.ID}
	for _, p := range partitions {
		t.Partitions = append(t.Partitions, kmsg.OffsetCommitRequestTopicPartition{
			Partition: p, Offset: 100 + int64(p), LeaderEpoch: 5, Metadata: new("m"),
		})
	}
	return t
}

// code is one partition of an OffsetCommit answer.
type code struct {
	topic     string
	id        group.TopicID
	partition int32
	code      int16
}

func commitCodes(resp *kmsg.OffsetCommitResponse) []code {
	var out []code
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			out = append(out, code{t.Topic, t.TopicID, p.Partition, p.ErrorCode})
		}
	}
	return out
}

// named is the topic as an answer of the version has it.
func named(v int16, t Topic, partition int32, c group.Code) code {
	if v >= 10 {
		return code{id: t.ID, partition: partition, code: int16(c)}
	}
	return code{topic: t.Name, partition: partition, code: int16(c)}
}

func TestOffsetCommit(t *testing.T) {
	in := &kmsg.OffsetCommitRequest{
		Group: "g", Generation: 7, MemberID: "m", InstanceID: new("i"), RetentionTimeMillis: 60000,
		Topics: []kmsg.OffsetCommitRequestTopic{commitTopic(orders, 0, 5), commitTopic(audit, 0)},
	}
	in.Topics[1].Partitions[0].Metadata = nil
	eachVersion(t, 2, 10, func(t *testing.T, v int16) {
		epoch := int32(5)
		if v < 6 {
			epoch = -1
		}
		retention := time.Minute
		if v > 4 {
			retention = -1
		}
		req := translate(t, in, v)
		require.Equal(t, &group.Commit{
			Req: reqID, Version: v, Group: "g", MemberID: "m", InstanceID: from(v, 7, new("i")), Generation: 7, Retention: retention,
			Topics: []group.OffsetTopic{
				{Name: "orders", ID: orders.ID, Partitions: []group.OffsetPartition{
					{Partition: 0, LeaderEpoch: epoch, Offset: 100, Metadata: "m"}, {Partition: 5, LeaderEpoch: epoch, Offset: 105, Metadata: "m"},
				}},
				{Name: "audit", ID: audit.ID, Partitions: []group.OffsetPartition{{Partition: 0, LeaderEpoch: epoch, Offset: 100}}},
			},
		}, req.Event(reqID))

		all := func(codes ...group.Code) []code {
			return []code{named(v, orders, 0, codes[0]), named(v, orders, 5, codes[1]), named(v, audit, 0, codes[2])}
		}
		require.Equal(t, all(0, 0, 0), commitCodes(answered[*kmsg.OffsetCommitResponse](t, req.Answer(&group.CommitResult{}))))
		require.Equal(t, all(22, 22, 22), commitCodes(answered[*kmsg.OffsetCommitResponse](t,
			translate(t, in, v).Answer(&group.CommitResult{Code: group.IllegalGeneration}))))
		require.Equal(t, all(0, 12, 0), commitCodes(answered[*kmsg.OffsetCommitResponse](t,
			translate(t, in, v).Answer(&group.CommitResult{Partitions: []group.Code{0, group.OffsetMetadataTooLarge, 0}}))))
		require.Equal(t, all(15, 15, 15), commitCodes(answered[*kmsg.OffsetCommitResponse](t,
			translate(t, in, v).Fail(group.CoordinatorNotAvailable))))
	})
}

// TestOffsetCommitOfWhatDoesNotExist: what does not exist is answered first, as Kafka does, and the rest is committed.
func TestOffsetCommitOfWhatDoesNotExist(t *testing.T) {
	ghost := Topic{Name: "ghost", ID: absent}
	in := &kmsg.OffsetCommitRequest{Group: "g", Topics: []kmsg.OffsetCommitRequestTopic{
		commitTopic(orders, 0, 6, 1), commitTopic(ghost, 3), commitTopic(audit, 0),
	}}
	eachVersion(t, 2, 10, func(t *testing.T, v int16) {
		unknown := group.UnknownTopicOrPartition
		if v >= 10 {
			unknown = group.UnknownTopicID
		}
		req := translate(t, in, v).(TopicRequest)
		ev := req.Event(reqID).(*group.Commit)
		require.Len(t, ev.Topics, 2)
		require.Len(t, ev.Topics[0].Partitions, 2)
		resp := answered[*kmsg.OffsetCommitResponse](t, req.Answer(&group.CommitResult{Partitions: []group.Code{0, 12, 27}}))
		require.Equal(t, []code{
			named(v, orders, 6, group.UnknownTopicOrPartition), named(v, orders, 0, 0), named(v, orders, 1, 12),
			named(v, ghost, 3, unknown), named(v, audit, 0, 27),
		}, commitCodes(resp))

		names, ids := req.Missing(topics{orders, audit})
		if v >= 10 {
			require.Empty(t, names)
			require.Equal(t, []group.TopicID{orders.ID, absent}, ids, "a partition beyond the count may be new")
		} else {
			require.Empty(t, ids)
			require.Equal(t, []string{"orders", "ghost"}, names)
		}
	})
}

func TestOffsetCommitWithNothingValidDoesNotReachTheGroup(t *testing.T) {
	for _, in := range []*kmsg.OffsetCommitRequest{
		{Group: "g"},
		{Group: "g", Topics: []kmsg.OffsetCommitRequestTopic{commitTopic(Topic{Name: "ghost"}, 0)}},
		{Group: "g", Topics: []kmsg.OffsetCommitRequestTopic{commitTopic(orders, -1)}},
	} {
		req := translate(t, in, 9)
		require.Nil(t, req.Event(reqID))
		for _, c := range commitCodes(answered[*kmsg.OffsetCommitResponse](t, req.Answer(nil))) {
			require.EqualValues(t, 3, c.code)
		}
	}
}

// TestOffsetCommitWhileKafkaCannotBeAsked: what nobody knows is not declared missing.
func TestOffsetCommitWhileKafkaCannotBeAsked(t *testing.T) {
	in := &kmsg.OffsetCommitRequest{Group: "g", Topics: []kmsg.OffsetCommitRequestTopic{
		commitTopic(orders, 0, 9), commitTopic(Topic{Name: "new", ID: absent}, 1),
	}}
	eachVersion(t, 2, 10, func(t *testing.T, v int16) {
		req, err := New(overWire(t, in, v), client, freshID)
		require.NoError(t, err)
		req.(TopicRequest).Resolve(topics{orders}, group.CoordinatorNotAvailable)
		require.Len(t, req.Event(reqID).(*group.Commit).Topics, 1)
		require.Equal(t, []code{
			named(v, orders, 9, 15), named(v, orders, 0, 0), named(v, Topic{Name: "new", ID: absent}, 1, 15),
		}, commitCodes(answered[*kmsg.OffsetCommitResponse](t, req.Answer(&group.CommitResult{}))))
	})
}

// TestTheZeroTopicIDIsUnknownWithoutAsking: whether Kafka can be asked or not.
func TestTheZeroTopicIDIsUnknownWithoutAsking(t *testing.T) {
	for _, absent := range []group.Code{group.None, group.CoordinatorNotAvailable} {
		old := Topic{Name: "old", Partitions: 3} // of a broker without ids
		commit, err := New(overWire(t, &kmsg.OffsetCommitRequest{Group: "g", Topics: []kmsg.OffsetCommitRequestTopic{commitTopic(old, 0)}}, 10), client, freshID)
		require.NoError(t, err)
		fetch, err := New(overWire(t, &kmsg.OffsetFetchRequest{Groups: []kmsg.OffsetFetchRequestGroup{
			{Group: "g", Topics: []kmsg.OffsetFetchRequestGroupTopic{{Partitions: []int32{7}}}},
		}}, 10), client, freshID)
		require.NoError(t, err)
		for _, req := range []Request{commit, fetch} {
			names, ids := req.(TopicRequest).Missing(topics{old})
			require.Empty(t, names)
			require.Empty(t, ids)
			req.(TopicRequest).Resolve(topics{old}, absent)
		}
		require.Nil(t, commit.Event(reqID))
		require.Equal(t, []code{{code: 100}}, commitCodes(answered[*kmsg.OffsetCommitResponse](t, commit.Answer(nil))))
		require.NotNil(t, fetch.Event(reqID))
		g := answered[*kmsg.OffsetFetchResponse](t, fetch.Answer(group.FetchResult{Groups: []group.FetchedGroup{{Group: "g"}}})).Groups[0]
		require.Zero(t, g.ErrorCode)
		require.EqualValues(t, 100, g.Topics[0].Partitions[0].ErrorCode)
		require.EqualValues(t, -1, g.Topics[0].Partitions[0].Offset)
	}
}

func TestRetentionDoesNotOverflow(t *testing.T) {
	in := &kmsg.OffsetCommitRequest{Group: "g", Topics: []kmsg.OffsetCommitRequestTopic{commitTopic(orders, 0)}}
	for ms, want := range map[int64]time.Duration{-1: -1, 0: 0, -7: -1, math.MaxInt64: math.MaxInt64 / time.Millisecond * time.Millisecond} {
		in.RetentionTimeMillis = ms
		require.Equal(t, want, translate(t, in, 2).Event(reqID).(*group.Commit).Retention)
	}
}

func TestOffsetFetchSingle(t *testing.T) {
	in := &kmsg.OffsetFetchRequest{Group: "g", RequireStable: true, Topics: []kmsg.OffsetFetchRequestTopic{{Topic: "orders", Partitions: []int32{0, 1}}}}
	eachVersion(t, 1, 7, func(t *testing.T, v int16) {
		req := translate(t, in, v)
		require.Equal(t, group.Fetch{Req: reqID, RequireStable: v >= 7, Groups: []group.FetchGroup{{
			Group: "g", MemberEpoch: -1, Topics: []group.PartitionSet{{Topic: "orders", Partitions: []int32{0, 1}}}, IDs: []group.TopicID{orders.ID},
		}}}, req.Event(reqID))
		resp := answered[*kmsg.OffsetFetchResponse](t, req.Answer(group.FetchResult{Groups: []group.FetchedGroup{{
			Group: "g", Topics: []group.FetchedTopic{{Topic: "orders", ID: orders.ID, Partitions: []group.FetchedPartition{
				{Partition: 0, LeaderEpoch: 4, Offset: 9, Metadata: "m"}, {Partition: 1, LeaderEpoch: -1, Offset: -1, Code: group.UnstableOffsetCommit},
			}}},
		}}}))
		require.Zero(t, resp.ErrorCode)
		ps := resp.Topics[0].Partitions
		require.EqualValues(t, 9, ps[0].Offset)
		require.Equal(t, new("m"), ps[0].Metadata)
		if v >= 5 {
			require.EqualValues(t, 4, ps[0].LeaderEpoch)
		}
		require.Equal(t, new(""), ps[1].Metadata)
		require.EqualValues(t, 88, ps[1].ErrorCode)

		// A group's error stands on the partitions where there is no other place for it.
		resp = answered[*kmsg.OffsetFetchResponse](t, translate(t, in, v).Answer(group.FetchResult{Groups: []group.FetchedGroup{{Group: "g", Code: 14}}}))
		if v >= 2 {
			require.EqualValues(t, 14, resp.ErrorCode)
			require.Empty(t, resp.Topics)
			return
		}
		require.Len(t, resp.Topics, 1)
		for _, p := range resp.Topics[0].Partitions {
			require.EqualValues(t, 14, p.ErrorCode)
			require.EqualValues(t, -1, p.Offset)
			require.Equal(t, new(""), p.Metadata)
		}
	})
	for v := int16(2); v <= 7; v++ {
		all := translate(t, &kmsg.OffsetFetchRequest{Group: "g"}, v).Event(reqID).(group.Fetch)
		require.True(t, all.Groups[0].All, "null topics mean all")
		none := translate(t, &kmsg.OffsetFetchRequest{Group: "g", Topics: []kmsg.OffsetFetchRequestTopic{}}, v).Event(reqID).(group.Fetch)
		require.False(t, none.Groups[0].All, "no topics mean none")
	}
}

func TestOffsetFetchBatched(t *testing.T) {
	in := &kmsg.OffsetFetchRequest{RequireStable: true, Groups: []kmsg.OffsetFetchRequestGroup{
		{Group: "g", MemberID: new("m"), MemberEpoch: 3, Topics: []kmsg.OffsetFetchRequestGroupTopic{
			{Topic: "ghost", TopicID: absent, Partitions: []int32{7}},
			{Topic: "orders", TopicID: orders.ID, Partitions: []int32{0}},
		}},
		{Group: "h", MemberEpoch: -1},
		{Group: "bad", MemberEpoch: -1, Topics: []kmsg.OffsetFetchRequestGroupTopic{}},
	}}
	eachVersion(t, 8, 10, func(t *testing.T, v int16) {
		req := translate(t, in, v)
		set := []group.PartitionSet{{Topic: "ghost", Partitions: []int32{7}}, {Topic: "orders", Partitions: []int32{0}}}
		ids := []group.TopicID{{}, orders.ID}
		if v >= 10 {
			set, ids = set[1:], ids[1:]
		}
		epoch := int32(-1)
		if v >= 9 {
			epoch = 3
		}
		require.Equal(t, group.Fetch{Req: reqID, RequireStable: true, Groups: []group.FetchGroup{
			{Group: "g", MemberID: from(v, 9, new("m")), MemberEpoch: epoch, Topics: set, IDs: ids},
			{Group: "h", MemberEpoch: -1, All: true},
			{Group: "bad", MemberEpoch: -1},
		}}, req.Event(reqID))

		res := group.FetchResult{Groups: []group.FetchedGroup{
			{Group: "g", Topics: []group.FetchedTopic{
				{Topic: "ghost", Partitions: []group.FetchedPartition{{Partition: 7, Offset: -1, LeaderEpoch: -1}}},
				{Topic: "orders", Partitions: []group.FetchedPartition{{Partition: 0, Offset: 5, LeaderEpoch: 1, Metadata: "m"}}},
			}},
			{Group: "h", Topics: []group.FetchedTopic{
				{Topic: "audit", ID: audit.ID, Partitions: []group.FetchedPartition{{Offset: 6}}},
				{Topic: "unnamed", Partitions: []group.FetchedPartition{{Offset: 7}}},
			}},
			{Group: "bad", Code: group.NotCoordinator},
		}}
		if v >= 10 {
			res.Groups[0].Topics = res.Groups[0].Topics[1:]
		}
		resp := answered[*kmsg.OffsetFetchResponse](t, req.Answer(res))
		require.Len(t, resp.Groups, 3)
		g, h, bad := resp.Groups[0], resp.Groups[1], resp.Groups[2]
		require.EqualValues(t, 16, bad.ErrorCode)
		require.Empty(t, bad.Topics)
		require.Len(t, g.Topics, 2)
		if v >= 10 {
			require.Equal(t, [16]byte(orders.ID), g.Topics[0].TopicID)
			require.EqualValues(t, 5, g.Topics[0].Partitions[0].Offset)
			require.Equal(t, [16]byte(absent), g.Topics[1].TopicID)
			require.EqualValues(t, 100, g.Topics[1].Partitions[0].ErrorCode)
			require.EqualValues(t, 7, g.Topics[1].Partitions[0].Partition)
			require.Len(t, h.Topics, 1, "a topic without an id cannot be named in ids")
			require.Equal(t, [16]byte(audit.ID), h.Topics[0].TopicID)
		} else {
			require.Equal(t, "ghost", g.Topics[0].Topic)
			require.Zero(t, g.Topics[0].Partitions[0].ErrorCode, "a fetch by name does not ask whether the topic exists")
			require.Len(t, h.Topics, 2)
		}

		resp = answered[*kmsg.OffsetFetchResponse](t, translate(t, in, v).Fail(group.CoordinatorNotAvailable))
		require.Len(t, resp.Groups, 3)
		for _, g := range resp.Groups {
			require.EqualValues(t, 16, g.ErrorCode)
			require.Empty(t, g.Topics)
		}
	})
}

func TestOffsetFetchByIDWhileKafkaCannotBeAsked(t *testing.T) {
	in := &kmsg.OffsetFetchRequest{Groups: []kmsg.OffsetFetchRequestGroup{
		{Group: "g", Topics: []kmsg.OffsetFetchRequestGroupTopic{{TopicID: absent, Partitions: []int32{7}}}},
	}}
	req, err := New(overWire(t, in, 10), client, freshID)
	require.NoError(t, err)
	_, ids := req.(TopicRequest).Missing(topics{orders})
	require.Equal(t, []group.TopicID{absent}, ids)
	req.(TopicRequest).Resolve(topics{orders}, group.CoordinatorNotAvailable)
	require.Nil(t, req.Event(reqID))
	resp := answered[*kmsg.OffsetFetchResponse](t, req.Answer(nil))
	require.EqualValues(t, 16, resp.Groups[0].ErrorCode, "retriable, and known to every consumer")
}

func TestOffsetDelete(t *testing.T) {
	in := &kmsg.OffsetDeleteRequest{Group: "g", Topics: []kmsg.OffsetDeleteRequestTopic{
		{Topic: "orders", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}, {Partition: 6}, {Partition: 1}}},
		{Topic: "ghost", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 2}}},
	}}
	req := translate(t, in, 0)
	require.Equal(t, group.DeleteOffsets{Req: reqID, Group: "g", Topics: []group.PartitionSet{{Topic: "orders", Partitions: []int32{0, 1}}}}, req.Event(reqID))
	resp := answered[*kmsg.OffsetDeleteResponse](t, req.Answer(group.DeleteOffsetsResult{Partitions: []group.Code{0, group.GroupSubscribedToTopic}}))
	require.Zero(t, resp.ErrorCode)
	require.Equal(t, []kmsg.OffsetDeleteResponseTopic{
		{Topic: "orders", Partitions: []kmsg.OffsetDeleteResponseTopicPartition{{Partition: 6, ErrorCode: 3}, {Partition: 0}, {Partition: 1, ErrorCode: 86}}},
		{Topic: "ghost", Partitions: []kmsg.OffsetDeleteResponseTopicPartition{{Partition: 2, ErrorCode: 3}}},
	}, resp.Topics)

	// The bytes: the error comes before the throttle time.
	raw := translate(t, in, 0).Fail(group.GroupIDNotFound).AppendTo(nil)
	require.Equal(t, []byte{0, 69, 0, 0, 0, 0, 0, 0, 0, 0}, raw)

	none := translate(t, &kmsg.OffsetDeleteRequest{Group: "g", Topics: in.Topics[1:]}, 0)
	require.Equal(t, group.DeleteOffsets{Req: reqID, Group: "g"}, none.Event(reqID), "the group is asked all the same")
	resp = answered[*kmsg.OffsetDeleteResponse](t, none.Answer(group.DeleteOffsetsResult{Code: group.GroupIDNotFound}))
	require.EqualValues(t, 69, resp.ErrorCode)
	require.Empty(t, resp.Topics)

	lost, err := New(overWire(t, in, 0), client, freshID)
	require.NoError(t, err)
	lost.(TopicRequest).Resolve(topics{orders}, group.CoordinatorNotAvailable)
	require.Nil(t, lost.Event(reqID))
	require.EqualValues(t, 15, answered[*kmsg.OffsetDeleteResponse](t, lost.Answer(nil)).ErrorCode)
}

// BenchmarkOffsetCommitTranslation is the part of a commit that runs on the connection's goroutine, decoding included.
func BenchmarkOffsetCommitTranslation(b *testing.B) {
	in := &kmsg.OffsetCommitRequest{Version: 8, Group: "g", Generation: 7, MemberID: "m"}
	big := Topic{Name: "orders", ID: orders.ID, Partitions: 10}
	in.Topics = []kmsg.OffsetCommitRequestTopic{commitTopic(big, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)}
	raw := in.AppendTo(nil)
	known := &topics{big}
	res := &group.CommitResult{}
	b.ReportAllocs()
	for b.Loop() {
		msg := &kmsg.OffsetCommitRequest{Version: 8}
		if err := msg.UnsafeReadFrom(raw); err != nil {
			b.Fatal(err)
		}
		req := newOffsetCommit(msg)
		if names, ids := req.Missing(known); names != nil || ids != nil {
			b.Fatal("missing")
		}
		req.Resolve(known, group.None)
		req.Event(1)
		req.Answer(res)
	}
}

// A name may pass to another topic, an id does not.
func TestNamesThatHaveAged(t *testing.T) {
	commit := &kmsg.OffsetCommitRequest{Group: "g", Topics: []kmsg.OffsetCommitRequestTopic{commitTopic(orders, 0), commitTopic(audit, 0)}}
	single := &kmsg.OffsetFetchRequest{Group: "g", Topics: []kmsg.OffsetFetchRequestTopic{{Topic: "orders"}, {Topic: "audit"}}}
	batched := &kmsg.OffsetFetchRequest{Groups: []kmsg.OffsetFetchRequestGroup{{Group: "g", Topics: []kmsg.OffsetFetchRequestGroupTopic{
		{Topic: "orders", TopicID: orders.ID}, {Topic: "audit", TopicID: audit.ID},
	}}}}
	for _, tc := range []struct {
		msg     kmsg.Request
		version int16
		aged    []string
	}{
		{commit, 8, []string{"audit"}}, {commit, 10, nil}, {single, 7, []string{"audit"}}, {batched, 8, []string{"audit"}}, {batched, 10, nil},
	} {
		req := translate(t, tc.msg, tc.version).(NamingRequest)
		require.Equal(t, tc.aged, req.Aged(func(name string) bool { return name == "orders" }))
		require.Nil(t, req.Aged(func(string) bool { return true }))
	}
}
