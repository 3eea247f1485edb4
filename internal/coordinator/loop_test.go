package coordinator

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
	"github.com/coordinatord/coordinatord/protocol"
)

func TestAMemberJoinsCommitsAndLeaves(t *testing.T) {
	w := newWorld(t).lead()
	id, gen := w.member("g")
	require.EqualValues(t, 0, get[*kmsg.HeartbeatResponse](t, w.send(&kmsg.HeartbeatRequest{Group: "g", MemberID: id, Generation: gen}, 3)).ErrorCode)
	require.Zero(t, commitCode(t, w.commit("g", id, gen, 42)))
	code, offset := fetched(t, w.fetch("g"))
	require.Zero(t, code)
	require.EqualValues(t, 42, offset)
	d := get[*kmsg.DescribeGroupsResponse](t, w.send(&kmsg.DescribeGroupsRequest{Groups: []string{"g"}}, 5))
	require.Equal(t, "Stable", d.Groups[0].State)
	require.Equal(t, "/127.0.0.1", d.Groups[0].Members[0].ClientHost)
	require.Zero(t, get[*kmsg.LeaveGroupResponse](t, w.send(&kmsg.LeaveGroupRequest{Group: "g", MemberID: id}, 1)).ErrorCode)
	require.EqualValues(t, 25, get[*kmsg.HeartbeatResponse](t, w.send(&kmsg.HeartbeatRequest{Group: "g", MemberID: id, Generation: gen}, 3)).ErrorCode)
	del := get[*kmsg.DeleteGroupsResponse](t, w.send(&kmsg.DeleteGroupsRequest{Groups: []string{"g"}}, 2))
	require.Zero(t, del.Groups[0].ErrorCode)
	code, offset = fetched(t, w.fetch("g"))
	require.Zero(t, code)
	require.EqualValues(t, -1, offset)
}

func TestBeforeLeadershipRequestsAreAnsweredAsWhileLoading(t *testing.T) {
	w := newWorld(t)
	require.Zero(t, get[*kmsg.HeartbeatResponse](t, w.send(&kmsg.HeartbeatRequest{Group: "g", MemberID: "m"}, 3)).ErrorCode)
	require.EqualValues(t, 14, commitCode(t, w.commit("g", "m", 1, 1)))
	code, _ := fetched(t, w.fetch("g"))
	require.EqualValues(t, 14, code)
	require.EqualValues(t, 27, get[*kmsg.SyncGroupResponse](t, w.send(&kmsg.SyncGroupRequest{Group: "g", MemberID: "m"}, 3)).ErrorCode)
	require.EqualValues(t, 14, get[*kmsg.ListGroupsResponse](t, w.send(&kmsg.ListGroupsRequest{}, 4)).ErrorCode)
}

// TestPipelinedCommitsTakeEffectInOrder: a connection hands over commits without waiting.
func TestPipelinedCommitsTakeEffectInOrder(t *testing.T) {
	w := newWorld(t).lead()
	id, gen := w.member("g")
	w.log.set(func() { w.log.manual = true })
	var replies []reply
	for i := range 100 {
		replies = append(replies, w.commit("g", id, gen, int64(i)))
	}
	// The topic is told to the image besides.
	w.log.await(t, "all commits", func() bool { return len(w.log.queue) >= 100 })
	w.settle()
	var offsets []int64
	for _, c := range w.log.queue {
		rec, err := protocol.DecodeRecord(c.cmd)
		require.NoError(t, err)
		if c, ok := rec.(*group.OffsetCommit); ok {
			offsets = append(offsets, c.Topics[0].Partitions[0].Offset)
		}
	}
	require.Len(t, offsets, 100)
	require.IsIncreasing(t, offsets)
	unanswered(t, w, replies[0])
	w.log.deliver(len(w.log.queue))
	for _, r := range replies {
		require.Zero(t, commitCode(t, r))
	}
}

// TestACommitThatIsNotCommittedInTimeIsAnswered: and when it is committed after all, nobody is answered twice.
func TestACommitThatIsNotCommittedInTimeIsAnswered(t *testing.T) {
	w := newWorld(t).lead()
	id, gen := w.member("g")
	require.Zero(t, commitCode(t, w.commit("g", id, gen, 1))) // so that the topic is known
	w.settle()
	w.log.set(func() { w.log.manual = true })
	late := w.commit("g", id, gen, 2)
	w.log.await(t, "the commit", func() bool { return len(w.log.queue) == 1 })
	w.clock.advance(4999 * time.Millisecond)
	unanswered(t, w, late)
	w.clock.advance(time.Millisecond)
	require.EqualValues(t, 15, commitCode(t, late))
	w.log.deliver(1)
	w.log.set(func() { w.log.manual = false })
	_, offset := fetched(t, w.fetch("g"))
	require.EqualValues(t, 2, offset)
	require.Empty(t, late)
}

func TestFailedProposals(t *testing.T) {
	w := newWorld(t).lead()
	id, gen := w.member("g")
	require.Zero(t, commitCode(t, w.commit("g", id, gen, 1)))
	w.settle()

	t.Run("the log refuses", func(t *testing.T) {
		w.log.set(func() { w.log.refuse = errors.New("busy") })
		require.EqualValues(t, 15, commitCode(t, w.commit("g", id, gen, 2)))
		w.log.set(func() { w.log.refuse = errNotLeader })
		require.EqualValues(t, 16, commitCode(t, w.commit("g", id, gen, 2)))
		w.log.set(func() { w.log.refuse = errTooLarge })
		require.EqualValues(t, -1, commitCode(t, w.commit("g", id, gen, 2)))
		w.log.set(func() { w.log.refuse = nil })
	})
	w.log.set(func() { w.log.manual = true })
	t.Run("it was not committed", func(t *testing.T) {
		r := w.commit("g", id, gen, 3)
		w.log.await(t, "the commit", func() bool { return len(w.log.queue) == 1 })
		w.log.fail(1, errors.New("timeout"), false)
		require.EqualValues(t, 15, commitCode(t, r))
	})
	t.Run("nobody knows, and it is committed later", func(t *testing.T) {
		r := w.commit("g", id, gen, 4)
		w.log.await(t, "the commit", func() bool { return len(w.log.queue) == 1 })
		w.log.fail(1, errNotLeader, true)
		require.EqualValues(t, 16, commitCode(t, r))
		w.log.deliver(1)
		w.log.set(func() { w.log.manual = false })
		_, offset := fetched(t, w.fetch("g"))
		require.EqualValues(t, 4, offset)
	})
}

func TestResignAnswersEverything(t *testing.T) {
	w := newWorld(t).lead()
	id, gen := w.member("g")
	require.Zero(t, commitCode(t, w.commit("g", id, gen, 1)))
	w.settle()
	w.log.set(func() { w.log.manual = true })
	parked := w.send(joinRequest("g", id), 3) // the leader's rejoin begins a rebalance, whose generation waits for the log
	commit := w.commit("g", id, gen, 2)
	read := w.fetch("g")
	w.log.await(t, "a proof and two records", func() bool { return len(w.log.confirms) == 1 && len(w.log.queue) == 2 })
	unanswered(t, w, read)
	w.loop.Resign(2)
	require.EqualValues(t, 16, get[*kmsg.JoinGroupResponse](t, parked).ErrorCode)
	require.EqualValues(t, 16, commitCode(t, commit))
	code, _ := fetched(t, read)
	require.EqualValues(t, 16, code)

	// What was proposed may be committed by the next leader, which is no reason to answer again.
	w.log.confirm(nil)
	w.log.deliver(2)
	w.settle()
	require.Empty(t, parked)
	require.Empty(t, commit)
	require.Empty(t, read)
	require.NoError(t, w.loop.call(func(time.Time) {
		require.Zero(t, w.loop.core.waiting.len())
		require.Zero(t, w.loop.core.pending.len())
	}))
}

func TestReadsAreAnsweredAfterAProofOfLeadership(t *testing.T) {
	w := newWorld(t).lead()
	id, gen := w.member("g")
	require.Zero(t, commitCode(t, w.commit("g", id, gen, 1)))
	w.log.set(func() { w.log.manual, w.log.proofs = true, 0 })
	first := w.fetch("g")
	w.log.await(t, "a proof", func() bool { return w.log.proofs == 1 })
	// These come while the proof is under way. It says nothing of them; they share the next one.
	more := []reply{w.fetch("g"), w.fetch("g"), w.send(&kmsg.DescribeGroupsRequest{Groups: []string{"g"}}, 5)}
	list := w.send(&kmsg.ListGroupsRequest{}, 4)
	unanswered(t, w, first)
	w.log.confirm(nil)
	_, offset := fetched(t, first)
	require.EqualValues(t, 1, offset)
	w.log.await(t, "a second proof", func() bool { return w.log.proofs == 2 })
	unanswered(t, w, more[0])
	w.log.confirm(errNotLeader)
	for _, r := range more[:2] {
		code, _ := fetched(t, r)
		require.EqualValues(t, 16, code)
	}
	require.EqualValues(t, 16, get[*kmsg.DescribeGroupsResponse](t, more[2]).Groups[0].ErrorCode)
	require.EqualValues(t, 16, get[*kmsg.ListGroupsResponse](t, list).ErrorCode)
	w.settle()
	require.Equal(t, 2, w.log.proofs)
}

func TestASessionEndsByTheClock(t *testing.T) {
	w := newWorld(t).lead()
	id, gen := w.member("g")
	for range 3 {
		w.clock.advance(9 * time.Second)
		require.Zero(t, get[*kmsg.HeartbeatResponse](t, w.send(&kmsg.HeartbeatRequest{Group: "g", MemberID: id, Generation: gen}, 3)).ErrorCode)
	}
	w.clock.advance(10 * time.Second)
	w.settle()
	require.EqualValues(t, 25, get[*kmsg.HeartbeatResponse](t, w.send(&kmsg.HeartbeatRequest{Group: "g", MemberID: id, Generation: gen}, 3)).ErrorCode)
	require.NotEmpty(t, w.lines.FilterMessage(string(group.MemberExpired)).All())
}

func TestCloseAnswersWhatWaits(t *testing.T) {
	w := newWorld(t).lead()
	id, gen := w.member("g")
	w.log.set(func() { w.log.manual = true })
	commit := w.commit("g", id, gen, 2)
	join := w.send(joinRequest("g", id), 3)
	w.loop.Close()
	require.EqualValues(t, 16, commitCode(t, commit))
	require.EqualValues(t, 16, get[*kmsg.JoinGroupResponse](t, join).ErrorCode)
	require.EqualValues(t, 15, commitCode(t, w.commit("g", id, gen, 3)))
	require.EqualValues(t, 15, get[*kmsg.HeartbeatResponse](t, w.send(&kmsg.HeartbeatRequest{Group: "g"}, 0)).ErrorCode)
	_, err := w.loop.Groups(t.Context())
	require.ErrorIs(t, err, ErrClosed)
	w.loop.Close() // twice is once
}

func TestEachPortListsItsGroups(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Owner = func(name string) (int32, bool) { return int32(len(name)), name != "none" }
	}).lead()
	for _, name := range []string{"a", "bb", "none"} {
		w.member(name)
	}
	list := func(broker int32) (names []string) {
		for _, g := range get[*kmsg.ListGroupsResponse](t, w.sendTo(&kmsg.ListGroupsRequest{}, 4, broker)).Groups {
			names = append(names, g.Group)
		}
		return names
	}
	require.Equal(t, []string{"a", "none"}, list(1))
	require.Equal(t, []string{"bb", "none"}, list(2))
	require.Equal(t, []string{"a", "bb", "none"}, list(-1))
}

func TestAForeignRequestClosesTheConnection(t *testing.T) {
	w := newWorld(t)
	require.Nil(t, <-w.send(kmsg.NewPtrMetadataRequest(), 9))
}

// TestARecordOfANewerReleaseStopsTheNode: skipping it would make this node disagree with the others.
func TestARecordOfANewerReleaseStopsTheNode(t *testing.T) {
	fatal := make(chan error, 1)
	w := newWorld(t, func(c *Config) {
		c.Fatal = func(err error) {
			fatal <- err
			runtime.Goexit()
		}
	})
	w.loop.Apply(Batch{Index: 9, Commands: [][]byte{{250, 1, 2}}})
	err := <-fatal
	require.ErrorIs(t, err, protocol.ErrRecordFormat)
	require.ErrorContains(t, err, "entry 9")
}

func TestViews(t *testing.T) {
	w := newWorld(t).lead()
	id, gen := w.member("g")
	require.Zero(t, commitCode(t, w.commit("g", id, gen, 42)))
	list, err := w.loop.Groups(t.Context())
	require.NoError(t, err)
	require.Equal(t, []GroupSummary{{Group: "g", State: "Stable", Type: "classic", ProtocolType: "consumer"}}, list)
	d, ok, err := w.loop.Group(t.Context(), "g")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, GroupDetail{
		Group: "g", State: "Stable", ProtocolType: "consumer", Protocol: "range", Generation: gen, Leader: id,
		Members: []MemberDetail{{MemberID: id, ClientID: "client", ClientHost: "/127.0.0.1", Assigned: []AssignedPartition{}}},
		Offsets: []OffsetDetail{{Topic: "orders", Offset: 42, LeaderEpoch: -1}},
	}, d)
	_, ok, err = w.loop.Group(t.Context(), "missing")
	require.NoError(t, err)
	require.False(t, ok)
	w.loop.Resign(0)
	_, err = w.loop.Groups(t.Context())
	require.ErrorIs(t, err, ErrNotLeading)
	_, _, err = w.loop.Group(t.Context(), "g")
	require.ErrorIs(t, err, ErrNotLeading)
}
