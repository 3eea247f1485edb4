package group

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// busyGroup is a leader with the Stable group "g" of n members that has an offset for each of them.
func busyGroup(t *testing.T, n int) (*Machine, time.Time) {
	t.Helper()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := New(DefaultConfig())
	image := &GroupImage{Meta: GroupMeta{
		Group: "g", Sequence: 1, Phase: PhaseStable, Generation: 1, ProtocolType: "consumer", Protocol: "range", Leader: "m-0",
	}, Topics: []StoredTopic{{Name: "t"}}}
	for i := range n {
		image.Meta.Members = append(image.Meta.Members, MemberImage{
			MemberID: "m-" + strconv.Itoa(i), SessionTimeout: 30_000, RebalanceTimeout: 60_000,
			Protocols: []Protocol{{Name: "range"}},
		})
		image.Topics[0].Partitions = append(image.Topics[0].Partitions, StoredOffset{
			OffsetPartition: OffsetPartition{Partition: int32(i), Offset: 1}, ExpireTime: -1,
		})
	}
	m.Apply(image)
	m.Lead(now)
	return m, now
}

// A few bytes of a request must not become a group's members, or its offsets, each.
func TestNamingAGroupAgainAndAgainHasABound(t *testing.T) {
	const members, times = 1000, 2000
	m, now := busyGroup(t, members)
	names := make([]string, times)
	fetch := Fetch{Req: 1}
	for i := range names {
		names[i] = "g"
		fetch.Groups = append(fetch.Groups, FetchGroup{Group: "g", All: true, MemberEpoch: -1})
	}
	described := m.Step(now, Describe{Req: 1, Version: 5, Groups: names}).Replies[0].Result.(DescribeResult).Groups
	require.Len(t, described, times)
	items := 0
	for i := range described {
		items += len(described[i].Members)
	}
	require.Less(t, items, repeatedItems+3*members)
	require.Len(t, described[1].Members, members, "Kafka answers twice")
	require.Equal(t, UnknownServerError, described[times-1].Code)

	fetched := m.Step(now, fetch).Replies[0].Result.(FetchResult).Groups
	items = 0
	for i := range fetched {
		for j := range fetched[i].Topics {
			items += len(fetched[i].Topics[j].Partitions)
		}
	}
	require.Less(t, items, repeatedItems+3*members)
	require.Len(t, fetched[1].Topics[0].Partitions, members)
	require.Equal(t, UnknownServerError, fetched[times-1].Code)
}

// One request must not hold up all groups for long, whatever it lists.
func TestLongListsTakeTimeInProportion(t *testing.T) {
	const long = 600_000 // squared it would be a minute
	start := processorTime(t)
	m, now := busyGroup(t, 1)
	for i := range 2000 {
		m.Apply(&GroupImage{Meta: GroupMeta{Group: "g-" + strconv.Itoa(i), Sequence: 1}})
	}
	offered := make([]Protocol, long)
	filter := make([]string, long)
	for i := range offered {
		offered[i].Name = "p-" + strconv.Itoa(i)
		filter[i] = "s-" + strconv.Itoa(i)
	}
	join := m.Step(now, Join{
		Req: 1, Version: 3, Group: "h", FreshID: "x", SessionTimeout: 30 * time.Second, RebalanceTimeout: time.Minute,
		ProtocolType: "consumer", Protocols: offered,
	})
	land := func(fx Effects) Effects {
		require.Len(t, fx.Proposals, 1)
		return m.Step(now, Committed{Token: fx.Proposals[0].Token, Outcome: m.Apply(fx.Proposals[0].Record)})
	}
	land(join)                     // the group is created
	now = now.Add(4 * time.Second) // the initial delay
	answers := land(m.Step(now, Tick{})).Replies
	require.Len(t, answers, 1)
	require.Equal(t, "p-0", *answers[0].Result.(JoinResult).ProtocolName)
	list := m.Step(now, List{Req: 2, States: filter}).Replies[0].Result.(ListResult)
	require.Empty(t, list.Groups)
	require.Less(t, processorTime(t)-start, 20*time.Second)
}

// processorTime is what this process has used so far: unlike the clock it does not count what others do to the machine.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
