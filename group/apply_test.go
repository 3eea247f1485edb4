package group

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// twoMembers is the image of a group of a dynamic and a static member, in generation 3.
func twoMembers(t *testing.T, extra int) *Machine {
	t.Helper()
	m := New(DefaultConfig())
	instance := "i1"
	meta := &GroupMeta{
		Group: "g", Sequence: 1, Phase: PhaseStable, Generation: 3, ProtocolType: "consumer", Protocol: "range", Leader: "a",
		Members: []MemberImage{{MemberID: "a"}, {MemberID: "s", InstanceID: &instance}},
	}
	for range extra {
		meta.Members = append(meta.Members, MemberImage{MemberID: "x" + string(rune('0'+len(meta.Members)))})
	}
	require.Equal(t, Outcome{}, m.Apply(meta))
	return m
}

func TestCommitIsCheckedAgainWhenApplied(t *testing.T) {
	i1, i2 := "i1", "i2"
	for name, c := range map[string]struct {
		guard Guard
		want  Code
	}{
		"a member":                         {Guard{Generation: 3, MemberID: "a"}, None},
		"a static member":                  {Guard{Generation: 3, MemberID: "s", InstanceID: &i1}, None},
		"a static member by its id":        {Guard{Generation: 3, MemberID: "s"}, None},
		"a member that the image lacks":    {Guard{Generation: 3}, None},
		"an older generation":              {Guard{Generation: 2, MemberID: "a"}, IllegalGeneration},
		"a later generation":               {Guard{Generation: 4, MemberID: "a"}, IllegalGeneration},
		"an unknown member":                {Guard{Generation: 3, MemberID: "b"}, UnknownMemberID},
		"unknown, and an older generation": {Guard{Generation: 2, MemberID: "b"}, UnknownMemberID},
		"a replaced static member":         {Guard{Generation: 3, MemberID: "old", InstanceID: &i1}, FencedInstanceID},
		"the instance of another":          {Guard{Generation: 3, MemberID: "a", InstanceID: &i1}, FencedInstanceID},
		"an unknown instance":              {Guard{Generation: 3, MemberID: "a", InstanceID: &i2}, UnknownMemberID},
		"one without a generation":         {Guard{Generation: -1, Simple: true}, UnknownMemberID},
	} {
		for _, extra := range []int{0, 20} { // members are found one after another, or by an index
			t.Run(name, func(t *testing.T) {
				m := twoMembers(t, extra)
				before := m.Hash()
				o := m.Apply(&OffsetCommit{Group: "g", Guard: c.guard, ExpireTime: -1, Topics: tenPartitions()})
				require.Equal(t, Outcome{Code: c.want, Stale: c.want != None}, o)
				require.Equal(t, c.want == None, before != m.Hash(), "a refused record changed the image")
			})
		}
	}
	t.Run("no group", func(t *testing.T) {
		m := New(DefaultConfig())
		require.Equal(t, Outcome{Code: GroupIDNotFound, Stale: true},
			m.Apply(&OffsetCommit{Group: "g", Guard: Guard{Generation: 1, MemberID: "a"}, Topics: tenPartitions()}))
		require.Zero(t, m.Stats().Groups)
	})
}

func TestStaleGroupMetaChangesNothing(t *testing.T) {
	m := twoMembers(t, 0)
	before := m.Hash()
	for _, sequence := range []uint64{0, 1, 3} {
		require.True(t, m.Apply(&GroupMeta{Group: "g", Sequence: sequence, Generation: 9}).Stale)
	}
	require.Equal(t, Outcome{Code: NonEmptyGroup, Stale: true}, m.Apply(&GroupDelete{Group: "g"}))
	require.Equal(t, Outcome{Code: GroupIDNotFound, Stale: true}, m.Apply(&GroupDelete{Group: "h"}))
	require.Equal(t, Outcome{Code: GroupIDNotFound, Stale: true}, m.Apply(&OffsetDelete{Group: "h"}))
	require.Equal(t, before, m.Hash())
}

// TestPartitionsThatCannotBeAreRefusedAlone covers numbers that no topic has; the caller lets none through.
func TestPartitionsThatCannotBeAreRefusedAlone(t *testing.T) {
	m := New(DefaultConfig())
	o := m.Apply(&OffsetCommit{Group: "g", Guard: Guard{Simple: true}, ExpireTime: -1, Topics: []OffsetTopic{
		{Name: "t", Partitions: []OffsetPartition{{Partition: -1}, {Partition: 2, Offset: 7}}},
		{Name: "u", Partitions: []OffsetPartition{{Partition: -1 << 31}}},
		{Name: "v"},
	}})
	require.Equal(t, []Code{UnknownTopicOrPartition, None, UnknownTopicOrPartition}, o.Partitions)
	require.Equal(t, 1, m.Stats().Offsets)
	require.NoError(t, m.check())
}

// scribbler hands out strings and bytes in one buffer, as a decoder of requests does, and then uses the buffer again.
type scribbler struct{ buf []byte }

func (s *scribbler) bytes(v string) []byte {
	n := len(s.buf)
	s.buf = append(s.buf, v...)
	return s.buf[n:len(s.buf):len(s.buf)]
}

func (s *scribbler) text(v string) string {
	b := s.bytes(v)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

func (s *scribbler) scribble() {
	for i := range s.buf {
		s.buf[i] = '#'
	}
}

// TestNothingOfARequestIsKept overwrites the buffers of requests and records after they were answered and applied.
func TestNothingOfARequestIsKept(t *testing.T) {
	w := newWorld(t, DefaultConfig())
	w.cfg.InitialRebalanceDelay = 0
	w.leader.cfg.InitialRebalanceDelay = 0
	w.take(w.leader.Lead(w.now))
	s := &scribbler{buf: make([]byte, 0, 1<<16)}
	instance := s.text("i1")
	join := Join{
		Version: 9, Group: s.text("g"), InstanceID: &instance, Client: Client{ID: s.text("client"), Host: s.text("/10.0.0.1")},
		SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute, ProtocolType: s.text("consumer"), FreshID: s.text("1"),
		Protocols: []Protocol{{Name: s.text("range"), Metadata: s.bytes("metadata")}}, Reason: s.text("why"),
	}
	join.Req = w.request("join")
	w.step(join)
	w.advance(0)
	s.scribble()
	describe := func() string {
		w.out.Reset()
		w.step(Describe{Req: w.request("d"), Version: 6, Groups: []string{"g"}})
		w.step(Fetch{Req: w.request("f"), Groups: []FetchGroup{{Group: "g", All: true}}})
		return w.out.String()
	}
	require.Contains(t, describe(), "i1-1 i1 client=client/10.0.0.1")

	s.buf = s.buf[:0]
	instance = s.text("i1")
	w.step(Sync{
		Req: w.request("sync"), Group: s.text("g"), MemberID: s.text("i1-1"), InstanceID: &instance, Generation: 1,
		Assignments: []Assignment{{MemberID: s.text("i1-1"), Bytes: s.bytes("assignment")}},
	})
	w.step(&Commit{
		Req: w.request("commit"), Group: s.text("g"), MemberID: s.text("i1-1"), InstanceID: &instance, Generation: 1, Retention: -1,
		Topics: []OffsetTopic{{Name: s.text("orders"), Partitions: []OffsetPartition{{Partition: 1, Offset: 5, Metadata: s.text("note")}}}},
	})
	w.step(TopicSeen{Name: s.text("orders"), ID: topicID(1), Partitions: 3})
	before, hash := describe(), w.leader.Hash()
	s.scribble()
	require.Equal(t, before, describe())
	require.Equal(t, hash, w.leader.Hash())
	require.Contains(t, before, `metadata="metadata" assignment="assignment"`)
	require.Contains(t, before, `orders/1 [1: 5 epoch=0 "note" NONE]`)
	require.NoError(t, w.leader.check())
	require.Equal(t, w.leader.Hash(), w.replica.Hash())
}

// TestNothingOfARecordIsKept overwrites what a decoded GroupMeta pointed to.
func TestNothingOfARecordIsKept(t *testing.T) {
	m := New(DefaultConfig())
	s := &scribbler{buf: make([]byte, 0, 1<<16)}
	instance := s.text("i1")
	meta := &GroupMeta{
		Group: s.text("g"), Sequence: 1, Phase: PhaseStable, Generation: 1, ProtocolType: s.text("consumer"),
		Protocol: s.text("range"), Leader: s.text("a"),
		Members: []MemberImage{{
			MemberID: s.text("a"), InstanceID: &instance, Client: Client{ID: s.text("c"), Host: s.text("/h")},
			Protocols: []Protocol{{Name: s.text("range"), Metadata: s.bytes("m")}}, Assignment: s.bytes("assignment"),
		}},
	}
	require.False(t, m.Apply(meta).Stale)
	m.Apply(&TopicUpsert{Name: s.text("orders"), ID: topicID(1), Partitions: 3})
	before := m.Hash()
	s.scribble()
	require.Equal(t, before, m.Hash())
	require.NoError(t, m.check())

	// What is as it was is kept from the image, not from the next record.
	s.buf = s.buf[:0]
	meta.Sequence, meta.Group = 2, "g"
	meta.ProtocolType, meta.Protocol, meta.Leader = s.text("consumer"), s.text("range"), s.text("a")
	instance = s.text("i1")
	meta.Members[0] = MemberImage{
		MemberID: s.text("a"), InstanceID: &instance, Client: Client{ID: s.text("c"), Host: s.text("/h")},
		Protocols: []Protocol{{Name: s.text("range"), Metadata: s.bytes("m")}}, Assignment: s.bytes("assignment"),
	}
	require.False(t, m.Apply(meta).Stale)
	before = m.Hash()
	s.scribble()
	require.Equal(t, before, m.Hash())
}

// TestCommitToAGroupThatIsGoneIsAnsweredByVersion is about a group that vanished while its commit was in flight.
func TestCommitToAGroupThatIsGoneIsAnsweredByVersion(t *testing.T) {
	for version, want := range map[int16]Code{2: IllegalGeneration, 8: IllegalGeneration, 9: GroupIDNotFound, 10: GroupIDNotFound} {
		now := time.Unix(0, 0)
		m := leading(now)
		stable(t, m, now, 1)
		fx := m.Step(now, &Commit{
			Req: 99, Version: version, Group: "g", MemberID: "m-0", Generation: 1, Retention: -1, Topics: tenPartitions(),
		})
		require.Len(t, fx.Proposals, 1)
		fx = m.Step(now, Committed{Token: fx.Proposals[0].Token, Outcome: Outcome{Code: GroupIDNotFound, Stale: true}})
		require.Len(t, fx.Replies, 1)
		require.Equal(t, &CommitResult{Code: want}, fx.Replies[0].Result)
	}
}

// A commit that is on its way to the log when the sweep looks stands before the removal there, and must survive it: its
// client hears that it is stored.
func TestSweepLeavesACommitInFlight(t *testing.T) {
	cfg := DefaultConfig()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := New(cfg)
	m.Lead(now)
	commit := func(offset int64) Proposal {
		fx := m.Step(now, &Commit{Req: 1, Version: 8, Group: "g", Generation: -1, Retention: -1, Topics: []OffsetTopic{
			{Name: "t", Partitions: []OffsetPartition{{Partition: 0, Offset: offset}, {Partition: 1, Offset: offset}}[:1+offset%2]},
		}})
		require.Len(t, fx.Proposals, 1)
		return fx.Proposals[0]
	}
	land := func(p Proposal) Outcome {
		o := m.Apply(p.Record)
		m.Step(now, Committed{Token: p.Token, Outcome: o})
		return o
	}
	land(commit(11)) // of two partitions
	now = now.Add(cfg.OffsetsRetention)
	onItsWay := commit(20) // of the first
	fx := m.Step(now, Tick{})
	require.Len(t, fx.Proposals, 1, "the sweep has seen both offsets expire")
	sweep := fx.Proposals[0]
	require.Zero(t, land(onItsWay).Code)
	require.Equal(t, 1, land(sweep).Removed)
	require.Equal(t, []FetchedPartition{
		{Partition: 0, Offset: 20},
		{Partition: 1, Offset: -1, LeaderEpoch: -1},
	}, m.fetchTopics(m.find("g").image, []PartitionSet{{Topic: "t", Partitions: []int32{0, 1}}}, nil)[0].Partitions)
}
