package coordinator

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

var errKafkaDown = errors.New("model: no broker answers")

func TestAnUnknownTopicIsAskedUpstream(t *testing.T) {
	w := newWorld(t).lead()
	id, gen := w.member("g")
	w.topics.kafka["new"] = Topic{Name: "new", ID: group.TopicID{8}, Partitions: 1}
	require.Zero(t, commitCode(t, w.send(commitRequest("g", id, gen, "new", 0, 1), 8)))
	require.Equal(t, 1, w.topics.asks)
	require.EqualValues(t, 3, commitCode(t, w.send(commitRequest("g", id, gen, "ghost", 0, 1), 8)))
	require.Equal(t, 2, w.topics.asks)
	require.Zero(t, commitCode(t, w.send(commitRequest("g", id, gen, "new", 0, 2), 8)))
	require.Equal(t, 2, w.topics.asks, "known now")

	// A partition beyond the known count may be new.
	grown := orders
	grown.Partitions = 12
	w.topics.set(func() { w.topics.kafka["orders"] = grown })
	require.Zero(t, commitCode(t, w.send(commitRequest("g", id, gen, "orders", 11, 1), 8)))
	require.EqualValues(t, 3, commitCode(t, w.send(commitRequest("g", id, gen, "orders", 12, 1), 8)))
}

// TestGroupsGoOnWhileKafkaIsAway: what the image knows is accepted; what nobody knows is not declared missing.
func TestGroupsGoOnWhileKafkaIsAway(t *testing.T) {
	w := newWorld(t).lead()
	id, gen := w.member("g")
	require.Zero(t, commitCode(t, w.commit("g", id, gen, 1)))
	w.settle()
	w.topics.set(func() { w.topics.down, w.topics.cache = errKafkaDown, map[string]Topic{} }) // as after a restart of ours
	require.Zero(t, commitCode(t, w.commit("g", id, gen, 2)))
	require.Equal(t, 1, w.topics.asks)
	for i := range 10 {
		require.Zero(t, commitCode(t, w.commit("g", id, gen, int64(i))))
	}
	require.Equal(t, 1, w.topics.asks, "Kafka is not asked again for every commit")
	require.EqualValues(t, 15, commitCode(t, w.send(commitRequest("g", id, gen, "new", 0, 1), 8)), "retriable")
	byID := commitRequest("g", id, gen, "", 0, 9)
	byID.Topics[0].TopicID = orders.ID
	require.Zero(t, commitCode(t, w.send(byID, 10)))
	byID.Topics[0].TopicID = group.TopicID{99}
	require.EqualValues(t, 15, commitCode(t, w.send(byID, 10)))
	_, offset := fetched(t, w.fetch("g"))
	require.EqualValues(t, 9, offset)

	w.clock.advance(askPause)
	asks := w.topics.asks
	require.Zero(t, commitCode(t, w.commit("g", id, gen, 3)))
	require.Equal(t, asks+1, w.topics.asks, "after a while it is")
	require.EqualValues(t, 15, commitCode(t, w.send(commitRequest("g", id, gen, "new", 0, 1), 8)))
	require.Equal(t, asks+1, w.topics.asks, "not for this one either: the connection's heartbeats wait behind it")
	w.clock.advance(askPauseShort)
	w.topics.set(func() { w.topics.down = nil })
	require.EqualValues(t, 3, commitCode(t, w.send(commitRequest("g", id, gen, "new", 0, 1), 8)))
}

func TestDeletedOffsetsAndFetchByID(t *testing.T) {
	w := newWorld(t).lead()
	id, gen := w.member("g")
	require.Zero(t, commitCode(t, w.commit("g", id, gen, 5)))
	byID := &kmsg.OffsetFetchRequest{Groups: []kmsg.OffsetFetchRequestGroup{
		{Group: "g", Topics: []kmsg.OffsetFetchRequestGroupTopic{{TopicID: orders.ID, Partitions: []int32{0}}, {TopicID: group.TopicID{9}, Partitions: []int32{0}}}},
	}}
	resp := get[*kmsg.OffsetFetchResponse](t, w.send(byID, 10)).Groups[0]
	require.EqualValues(t, 5, resp.Topics[0].Partitions[0].Offset)
	require.EqualValues(t, 100, resp.Topics[1].Partitions[0].ErrorCode)
	del := get[*kmsg.OffsetDeleteResponse](t, w.send(&kmsg.OffsetDeleteRequest{Group: "g", Topics: []kmsg.OffsetDeleteRequestTopic{
		{Topic: "orders", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}, {Partition: 77}}},
	}}, 0))
	require.Zero(t, del.ErrorCode)
	_, offset := fetched(t, w.fetch("g"))
	require.EqualValues(t, -1, offset)
}

// round lets the watch of topics look once, and waits until it has.
func (w *world) round(d time.Duration) {
	w.t.Helper()
	w.clock.await(w.t, d)
	drain(w.topics.done)
	w.clock.advance(d)
	select {
	case <-w.topics.done:
	case <-time.After(10 * time.Second):
		w.t.Fatal("the topics were not checked")
	}
	w.clock.await(w.t, d) // the watch arms its next timer when it is through
	w.settle()
}

func (w *world) offsetsOf(name string) int {
	w.t.Helper()
	d, _, err := w.loop.Group(w.t.Context(), name)
	require.NoError(w.t, err)
	return len(d.Offsets)
}

// listed returns how many partitions OffsetFetch of all topics lists.
func (w *world) listed(name string, version int16) (n int) {
	w.t.Helper()
	if version < 8 {
		resp := get[*kmsg.OffsetFetchResponse](w.t, w.send(&kmsg.OffsetFetchRequest{Group: name}, version))
		for _, t := range resp.Topics {
			n += len(t.Partitions)
		}
		return n
	}
	resp := get[*kmsg.OffsetFetchResponse](w.t, w.send(&kmsg.OffsetFetchRequest{Groups: []kmsg.OffsetFetchRequestGroup{{Group: name}}}, version))
	for _, t := range resp.Groups[0].Topics {
		n += len(t.Partitions)
	}
	return n
}

// TestOffsetsOutliveATopicUntilKafkaHasSaidTwiceThatItIsGone.
func TestOffsetsOutliveATopicUntilKafkaHasSaidTwiceThatItIsGone(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.TopicCheck = 20 * time.Second }).lead()
	// A group without members, so that no session ends meanwhile.
	require.Zero(t, commitCode(t, w.send(commitRequest("g", "", -1, "orders", 0, 5), 8)))
	w.settle()

	w.topics.set(func() { delete(w.topics.kafka, "orders") })
	w.round(20 * time.Second)
	w.round(20 * time.Second)
	w.round(20 * time.Second)
	require.Equal(t, 1, w.offsetsOf("g"), "it is missing from every list, but Kafka knows the id")

	w.topics.set(func() { w.topics.gone[orders.ID] = true })
	w.round(20 * time.Second)
	require.Equal(t, 1, w.offsetsOf("g"), "once is not enough")
	w.topics.set(func() { w.topics.gone[orders.ID] = false })
	w.round(20 * time.Second)
	w.topics.set(func() { w.topics.gone[orders.ID] = true })
	w.round(20 * time.Second)
	w.round(20 * time.Second)
	require.Equal(t, 1, w.offsetsOf("g"), "twice, but too soon after one another")
	w.topics.set(func() { w.topics.down = errKafkaDown })
	w.round(20 * time.Second)
	require.Equal(t, 1, w.offsetsOf("g"), "no answer is no answer")
	w.topics.set(func() { w.topics.down = nil })
	w.round(20 * time.Second)
	require.Zero(t, w.offsetsOf("g"))
	require.NotEmpty(t, w.lines.FilterMessage(string(group.TopicOffsetsDropped)).All())
	_, known := w.loop.core.topics.ByName("orders")
	require.False(t, known)
}

func drain(c chan struct{}) {
	for len(c) > 0 {
		<-c
	}
}

// TestARecreatedTopicDoesNotInheritOffsets: its old id is gone, its new one is not.
func TestARecreatedTopicDoesNotInheritOffsets(t *testing.T) {
	w := newWorld(t).lead()
	require.Zero(t, commitCode(t, w.send(commitRequest("g", "", -1, "orders", 0, 5), 8)))
	w.settle()
	again := Topic{Name: "orders", ID: group.TopicID{77}, Partitions: 3}
	w.topics.set(func() { w.topics.kafka["orders"], w.topics.gone[orders.ID] = again, true })
	w.round(30 * time.Second)
	_, offset := fetched(t, w.fetch("g"))
	require.EqualValues(t, -1, offset, "the new topic has no offset")
	known, _ := w.loop.core.topics.ByName("orders")
	require.Equal(t, again, known)
	require.Zero(t, commitCode(t, w.send(commitRequest("g", "", -1, "orders", 0, 1), 8)))
	w.round(30 * time.Second)
	_, offset = fetched(t, w.fetch("g"))
	require.EqualValues(t, 1, offset, "the drop is of the old id only")
	require.Equal(t, 1, w.offsetsOf("g"))
}

// TestATopicThatKafkaDoesNotAnswerForHidesNoOther.
func TestATopicThatKafkaDoesNotAnswerForHidesNoOther(t *testing.T) {
	w := newWorld(t).lead()
	other := Topic{Name: "a-secret", ID: group.TopicID{66}, Partitions: 1}
	w.topics.set(func() { w.topics.cache[other.Name], w.topics.kafka[other.Name] = other, other })
	require.Zero(t, commitCode(t, w.send(commitRequest("g", "", -1, "orders", 0, 5), 8)))
	require.Zero(t, commitCode(t, w.send(commitRequest("g", "", -1, other.Name, 0, 5), 8)))
	w.settle()
	w.topics.set(func() {
		delete(w.topics.kafka, "orders")
		w.topics.gone[orders.ID], w.topics.mute = true, map[string]bool{other.Name: true}
	})
	w.round(30 * time.Second)
	w.round(30 * time.Second)
	require.Equal(t, 1, w.offsetsOf("g"))
}

// TestADeletedTopicIsNoticedByThoseWhoCommitToIt: soon, and without a question for each commit.
func TestADeletedTopicIsNoticedByThoseWhoCommitToIt(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.TopicFresh = 700 * time.Millisecond }).lead()
	commit := func() int16 { return commitCode(t, w.send(commitRequest("g", "", -1, "orders", 0, 5), 8)) }
	require.Zero(t, commit())
	w.settle()
	require.Zero(t, commit())
	require.Zero(t, w.topics.asks)
	w.topics.set(func() { delete(w.topics.kafka, "orders") })
	require.Zero(t, commit())
	w.round(700 * time.Millisecond)
	require.Equal(t, 1, w.topics.asks)
	require.EqualValues(t, 3, commit())
	drain(w.topics.done)
	w.clock.advance(700 * time.Millisecond)
	w.clock.await(t, 700*time.Millisecond)
	require.Empty(t, w.topics.done, "nothing is committed to it, so nothing is asked")
	require.Equal(t, 1, w.offsetsOf("g"), "the offsets stay until Kafka has said twice that the id is gone")
}

// TestANameThatHasPassedToAnotherTopic: what clients of the new topic commit is stored for it, and what was committed for
// the old one is not theirs, also before the image has heard of the change.
func TestANameThatHasPassedToAnotherTopic(t *testing.T) {
	w := newWorld(t).lead()
	require.Zero(t, commitCode(t, w.send(commitRequest("g", "", -1, "orders", 0, 5), 8)))
	require.Zero(t, commitCode(t, w.send(commitRequest("g", "", -1, "orders", 1, 6), 8)))
	w.settle()
	again := Topic{Name: "orders", ID: group.TopicID{77}, Partitions: 3}
	w.topics.set(func() {
		w.topics.kafka["orders"], w.topics.gone[orders.ID] = again, true
		w.topics.aged = map[string]bool{"orders": true}
	})
	_, offset := fetched(t, w.fetch("g"))
	require.EqualValues(t, -1, offset, "it is another topic's")
	require.Zero(t, w.listed("g", 7), "nor is it listed, the new topic being known")
	require.Zero(t, w.listed("g", 8))
	require.Zero(t, w.listed("g", 10))
	require.Zero(t, w.offsetsOf("g"))
	byID := &kmsg.OffsetFetchRequest{Groups: []kmsg.OffsetFetchRequestGroup{
		{Group: "g", Topics: []kmsg.OffsetFetchRequestGroupTopic{{TopicID: again.ID, Partitions: []int32{0}}}},
	}}
	require.EqualValues(t, -1, get[*kmsg.OffsetFetchResponse](t, w.send(byID, 10)).Groups[0].Topics[0].Partitions[0].Offset)

	w.topics.set(func() { w.topics.cache["orders"], w.topics.aged["orders"] = orders, true }) // as it stands before anyone has asked
	require.Zero(t, commitCode(t, w.send(commitRequest("g", "", -1, "orders", 0, 1), 8)))
	_, offset = fetched(t, w.fetch("g"))
	require.EqualValues(t, 1, offset)
	require.Equal(t, 1, w.listed("g", 8))
	require.Equal(t, 1, w.offsetsOf("g"))
	w.round(30 * time.Second)
	w.round(30 * time.Second)
	_, offset = fetched(t, w.fetch("g"))
	require.EqualValues(t, 1, offset, "the old topic's offsets have gone, the new one's have not")
	require.Equal(t, 1, w.offsetsOf("g"))

	w.topics.set(func() { w.topics.down, w.topics.aged["orders"] = errKafkaDown, true })
	asks := w.topics.asks
	for i := range int64(10) {
		require.Zero(t, commitCode(t, w.send(commitRequest("g", "", -1, "orders", 0, i), 8)), "groups go on without Kafka")
	}
	require.Equal(t, asks+1, w.topics.asks, "and hardly wait for it")
}
