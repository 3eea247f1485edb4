package coordinator

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
	"github.com/coordinatord/coordinatord/protocol"
)

// copyOf is a materialised copy.
type copyOf map[string]string

func (c copyOf) collect(l *Loop) uint64 {
	return l.Collect(func(k, v []byte) {
		if v == nil {
			delete(c, string(k))
			return
		}
		c[string(k)] = string(v)
	})
}

func (c copyOf) next() func() (key, value []byte, ok bool, err error) {
	var keys []string
	for k := range c {
		keys = append(keys, k)
	}
	return func() (key, value []byte, ok bool, err error) {
		if len(keys) == 0 {
			return nil, nil, false, nil
		}
		k := keys[0]
		keys = keys[1:]
		return []byte(k), []byte(c[k]), true, nil
	}
}

// busy gives a world some state of every kind.
func busy(t *testing.T) *world {
	t.Helper()
	w := newWorld(t).lead()
	for i := range 5 {
		name := fmt.Sprintf("g%d", i)
		id, gen := w.member(name)
		require.Zero(t, commitCode(t, w.commit(name, id, gen, int64(i))))
	}
	in := commitRequest("simple", "", -1, "orders", 5, 8)
	in.Topics[0].Partitions[0].Metadata = new("note")
	require.Zero(t, commitCode(t, w.send(in, 8)))
	require.Zero(t, commitCode(t, w.send(commitRequest("brief", "", -1, "orders", 5, 8), 8)))
	require.Zero(t, get[*kmsg.DeleteGroupsResponse](t, w.send(&kmsg.DeleteGroupsRequest{Groups: []string{"brief"}}, 2)).Groups[0].ErrorCode)
	w.settle()
	return w
}

// TestReplicasAgree: the leader applies its own commits without decoding them, a follower decodes everything. Both end
// with the same bytes, and so does a node that loads the copy in the middle and applies the rest.
func TestReplicasAgree(t *testing.T) {
	leader := busy(t)
	follower := newWorld(t)
	half := len(leader.log.history) / 2
	apply := func(w *world, from, to int) {
		for i := from; i < to; i++ {
			w.loop.Apply(Batch{Index: uint64(i + 1), Commands: leader.log.history[i : i+1]})
		}
	}
	apply(follower, 0, half)
	mid := copyOf{}
	require.EqualValues(t, half, mid.collect(follower.loop))
	late := newWorld(t)
	require.NoError(t, late.loop.Load(uint64(half), mid.next()))
	unchanged := copyOf{}
	require.EqualValues(t, half, unchanged.collect(late.loop))
	require.Empty(t, unchanged, "what was loaded has not changed since")

	apply(follower, half, len(leader.log.history))
	apply(late, half, len(leader.log.history))
	want, got, third := copyOf{}, mid, copyOf{}
	maps.Copy(third, mid)
	require.Equal(t, leader.log.index, want.collect(leader.loop))
	require.Equal(t, leader.log.index, got.collect(follower.loop))
	require.Equal(t, leader.log.index, third.collect(late.loop))
	require.Len(t, want, 7, "six groups and a topic")
	require.Equal(t, want, got)
	require.Equal(t, want, third)
}

func TestLoadRestoresEverythingThatClientsSee(t *testing.T) {
	before := busy(t)
	c := copyOf{}
	c.collect(before.loop)
	after := newWorld(t)
	require.NoError(t, after.loop.Load(50, c.next()))
	after.lead()
	for _, name := range []string{"g0", "g4", "simple", "brief"} {
		want, wantOK, err := before.loop.Group(t.Context(), name)
		require.NoError(t, err)
		got, ok, err := after.loop.Group(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, wantOK, ok)
		require.Equal(t, want, got)
	}
	// The members go on with the ids and generations that they have.
	d, _, err := before.loop.Group(t.Context(), "g3")
	require.NoError(t, err)
	require.Zero(t, get[*kmsg.HeartbeatResponse](t, after.send(&kmsg.HeartbeatRequest{
		Group: "g3", MemberID: d.Members[0].MemberID, Generation: d.Generation,
	}, 3)).ErrorCode)
	known, ok := after.loop.core.topics.ByName("orders")
	require.True(t, ok)
	require.Equal(t, orders, known)
}

func TestAFailedLoadKeepsTheOldState(t *testing.T) {
	w := busy(t)
	damaged := errors.New("torn")
	image := protocol.AppendRecord(nil, &group.GroupImage{Meta: group.GroupMeta{Group: "x", Sequence: 1}})
	key := protocol.AppendKey(nil, group.Key{Kind: group.KindGroup, Name: "x"})
	one := func(k, v []byte, err error) func() (key, value []byte, ok bool, e error) {
		n := 0
		return func() ([]byte, []byte, bool, error) {
			n++
			return k, v, n == 1, err
		}
	}
	for name, next := range map[string]func() ([]byte, []byte, bool, error){
		"reader":      one(nil, nil, damaged),
		"empty key":   one(nil, image, nil),
		"cut value":   one(key, image[:len(image)-1], nil),
		"other group": one(protocol.AppendKey(nil, group.Key{Kind: group.KindGroup, Name: "y"}), image, nil),
		"other kind":  one(protocol.AppendKey(nil, group.Key{Kind: group.KindTopic, Name: "x"}), image, nil),
		"not a value": one(key, protocol.AppendRecord(nil, &group.GroupDelete{Group: "x"}), nil),
	} {
		require.Error(t, w.loop.Load(99, next), name)
	}
	list, err := w.loop.Groups(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 6)
	require.NotEqualValues(t, 99, copyOf{}.collect(w.loop))
}

func TestRefusalsDoNotFillTheLog(t *testing.T) {
	w := newWorld(t).lead()
	w.member("g")
	refuse := func(n int) {
		for range n {
			require.EqualValues(t, 25, get[*kmsg.JoinGroupResponse](t, w.send(joinRequest("gone", "m"), 3)).ErrorCode)
		}
	}
	refuse(500)
	w.settle()
	lines := w.lines.FilterMessage(string(group.RequestRefused))
	require.Equal(t, maxRefusals, lines.Len())
	fields := lines.All()[0].ContextMap()
	require.Equal(t, "gone", fields["group"])
	require.Contains(t, fields, "reason")
	w.clock.advance(refusalPeriod)
	refuse(1)
	w.settle()
	all := w.lines.FilterMessage(string(group.RequestRefused)).All()
	require.Len(t, all, maxRefusals+1)
	require.EqualValues(t, 500-maxRefusals, all[maxRefusals].ContextMap()["suppressed"])
}

// TestUnusedMemberIDsDoNotFillTheLog: they cost a client one request each, and all of them expire.
func TestUnusedMemberIDsDoNotFillTheLog(t *testing.T) {
	w := newWorld(t).lead()
	const n = 5 * maxRefusals
	for range n {
		require.EqualValues(t, 79, get[*kmsg.JoinGroupResponse](t, w.send(joinRequest("g", ""), 4)).ErrorCode)
	}
	w.clock.advance(time.Hour)
	w.settle()
	require.Len(t, w.lines.FilterMessage(string(group.MemberIDExpired)).All(), maxRefusals)
	require.Empty(t, w.lines.FilterMessage(string(group.MemberExpired)).All(), "nobody was a member")
}

func TestNoticesAreLinesWithFixedKeys(t *testing.T) {
	w := newWorld(t).lead()
	id, gen := w.member("g")
	w.settle()
	for _, kind := range []group.NoticeKind{group.MemberJoined, group.GenerationBegun, group.AssignmentStored} {
		lines := w.lines.FilterMessage(string(kind)).All()
		require.NotEmpty(t, lines, kind)
		require.Equal(t, "g", lines[0].ContextMap()["group"])
		require.Contains(t, lines[0].ContextMap(), "generation")
	}
	require.Equal(t, id, w.lines.FilterMessage(string(group.MemberJoined)).All()[0].ContextMap()["member"])
	require.EqualValues(t, gen, w.lines.FilterMessage(string(group.GenerationBegun)).All()[0].ContextMap()["generation"])
}

func TestMetrics(t *testing.T) {
	w := newWorld(t).lead()
	id, gen := w.member("g")
	for range 3 {
		require.Zero(t, commitCode(t, w.commit("g", id, gen, 1)))
	}
	require.EqualValues(t, 22, commitCode(t, w.commit("g", id, gen+1, 1)))
	require.Zero(t, get[*kmsg.HeartbeatResponse](t, w.send(&kmsg.HeartbeatRequest{Group: "g", MemberID: id, Generation: gen}, 3)).ErrorCode)
	w.settle()
	w.clock.advance(time.Second) // the gauges follow although nothing more happens
	m := w.loop.cfg.Metrics
	require.Eventually(t, func() bool { return testutil.ToFloat64(m.offsets) == 1 }, 10*time.Second, time.Millisecond)
	require.Equal(t, 3, int(testutil.ToFloat64(m.requests.WithLabelValues("OffsetCommit", "0"))))
	require.Equal(t, 1, int(testutil.ToFloat64(m.requests.WithLabelValues("OffsetCommit", "22"))))
	require.Equal(t, 1, int(testutil.ToFloat64(m.requests.WithLabelValues("Heartbeat", "0"))))
	require.Equal(t, 1, int(testutil.ToFloat64(m.members)))
	require.Equal(t, 1, int(testutil.ToFloat64(m.offsets)))
	require.Equal(t, 1, int(testutil.ToFloat64(m.leading)))
	require.Equal(t, 1, int(testutil.ToFloat64(m.groups.WithLabelValues("Stable"))))
	problems, err := testutil.GatherAndLint(w.reg)
	require.NoError(t, err)
	require.Empty(t, problems)
	names, err := w.reg.Gather()
	require.NoError(t, err)
	for _, f := range names {
		require.Regexp(t, "^coordinatord_", f.GetName())
	}
}

func TestSlabNeverGivesAnIDTwice(t *testing.T) {
	var s slab[int]
	seen := map[uint64]bool{0: true}
	for i := range 1000 {
		id := s.add(i)
		require.False(t, seen[id])
		seen[id] = true
		v, ok := s.take(id)
		require.True(t, ok)
		require.Equal(t, i, v)
		_, ok = s.take(id)
		require.False(t, ok)
		_, ok = s.get(id + 1)
		require.False(t, ok)
	}
	require.Len(t, s.slots, 1)
	require.Zero(t, s.len())
}
