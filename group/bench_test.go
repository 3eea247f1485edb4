package group

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stable returns a leader with one Stable group "g" of n members, ids m-0, m-1 and so on.
func stable(tb testing.TB, m *Machine, now time.Time, n int) {
	tb.Helper()
	settle := func(fx Effects) {
		for len(fx.Proposals) > 0 {
			p := fx.Proposals[0]
			fx = m.Step(now, Committed{Token: p.Token, Outcome: m.Apply(p.Record)})
		}
	}
	for i := range n {
		settle(m.Step(now, Join{
			Req: ReqID(i + 1), Version: 3, Group: "g", Client: Client{ID: "m", Host: "/127.0.0.1"}, SessionTimeout: 10 * time.Second,
			RebalanceTimeout: time.Minute, ProtocolType: "consumer", FreshID: strconv.Itoa(i),
			Protocols: []Protocol{{Name: "range", Metadata: subscription(1, "orders", "payments")}},
		}))
	}
	for next, ok := m.NextDeadline(); ok && !next.After(now); next, ok = m.NextDeadline() {
		settle(m.Step(now, Tick{}))
	}
	for i := range n {
		s := Sync{Req: ReqID(n + i + 1), Group: "g", MemberID: "m-" + strconv.Itoa(i), Generation: 1}
		if i == 0 {
			s.Assignments = make([]Assignment, n)
			for j := range n {
				s.Assignments[j] = Assignment{MemberID: "m-" + strconv.Itoa(j), Bytes: make([]byte, 64)}
			}
		}
		settle(m.Step(now, s))
	}
	require.Equal(tb, 1, m.Stats().GroupsByState["Stable"])
}

func leading(now time.Time) *Machine {
	cfg := DefaultConfig()
	cfg.InitialRebalanceDelay = 0
	m := New(cfg)
	m.Lead(now)
	return m
}

func tenPartitions() []OffsetTopic {
	t := OffsetTopic{Name: "orders", Partitions: make([]OffsetPartition, 10)}
	for i := range t.Partitions {
		t.Partitions[i] = OffsetPartition{Partition: int32(i), LeaderEpoch: -1, Offset: 1}
	}
	return []OffsetTopic{t}
}

// BenchmarkCommit is what the owner of the machine does for one OffsetCommit of ten partitions: step, apply, answer.
func BenchmarkCommit(b *testing.B) {
	now := time.Now()
	m := leading(now)
	stable(b, m, now, 3)
	c := &Commit{Req: 1, Version: 9, Group: "g", MemberID: "m-0", Generation: 1, Retention: -1, Topics: tenPartitions()}
	done := &Committed{}
	b.ReportAllocs()
	for b.Loop() {
		fx := m.Step(now, c)
		p := fx.Proposals[0]
		done.Token, done.Outcome = p.Token, m.Apply(p.Record)
		if fx = m.Step(now, done); fx.Replies[0].Result.(*CommitResult).Code != None {
			b.Fatal("refused")
		}
	}
}

func BenchmarkApplyOffsetCommit(b *testing.B) {
	now := time.Now()
	m := leading(now)
	stable(b, m, now, 3)
	r := &OffsetCommit{Group: "g", Guard: Guard{Generation: 1, MemberID: "m-0"}, ExpireTime: -1, Topics: tenPartitions()}
	b.ReportAllocs()
	for b.Loop() {
		if m.Apply(r).Code != None {
			b.Fatal("refused")
		}
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	for _, members := range []int{3, 10000} {
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			now := time.Now()
			m := leading(now)
			stable(b, m, now, members)
			h := make([]Heartbeat, members)
			for i := range h {
				h[i] = Heartbeat{Req: 1, Group: "g", MemberID: "m-" + strconv.Itoa(i), Generation: 1}
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				now = now.Add(3 * time.Second / time.Duration(members))
				fx := m.Step(now, &h[i%members])
				if fx.Replies[0].Result.(HeartbeatResult).Code != None {
					b.Fatal("refused")
				}
				if next, ok := m.NextDeadline(); ok && !next.After(now) {
					m.Step(now, Tick{})
				}
				i++
			}
		})
	}
}

// BenchmarkRebalance forms one group of 10,000 members: joins, the generation, syncs.
func BenchmarkRebalance(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		now := time.Now()
		stable(b, leading(now), now, 10000)
	}
}

// fill commits all partitions of a topic in many groups, as ten members of each would.
func fillOffsets(m *Machine, groups, partitions int) {
	m.Apply(&TopicUpsert{Name: "orders", ID: TopicID{1}, Partitions: int32(partitions)})
	for g := range groups {
		name := fmt.Sprintf("group-%05d", g)
		for from := 0; from < partitions; from += 10 {
			topics := tenPartitions()
			topics[0].ID = TopicID{1}
			for i := range topics[0].Partitions {
				topics[0].Partitions[i].Partition += int32(from)
			}
			m.Apply(&OffsetCommit{Group: name, Guard: Guard{Generation: -1, Simple: true}, CommitTime: 1, ExpireTime: -1, Topics: topics})
		}
	}
}

// TestOffsetsAreSmall holds the image to 48 bytes of live heap per offset, with 10,000 groups of 100 partitions.
func TestOffsetsAreSmall(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector adds to every allocation")
	}
	live := func() uint64 {
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	before := live()
	m := New(DefaultConfig())
	fillOffsets(m, 10000, 100)
	m.TakeDirty(func(Key, Record) {})
	perOffset := float64(live()-before) / float64(m.Stats().Offsets)
	require.Equal(t, 1_000_000, m.Stats().Offsets)
	require.Less(t, perOffset, 48.0)
	t.Logf("%.1f bytes of live heap per offset", perOffset)
	runtime.KeepAlive(m)
}

// BenchmarkFetch reads a hundred offsets of one of 10,000 groups.
func BenchmarkFetch(b *testing.B) {
	now := time.Now()
	m := leading(now)
	fillOffsets(m, 10000, 100)
	set := PartitionSet{Topic: "orders"}
	for i := range int32(100) {
		set.Partitions = append(set.Partitions, i)
	}
	f := Fetch{Req: 1, Groups: []FetchGroup{{Group: "group-04711", Topics: []PartitionSet{set}}}}
	b.ReportAllocs()
	for b.Loop() {
		if len(m.Step(now, f).Replies) != 1 {
			b.Fatal("no answer")
		}
	}
}

// BenchmarkRestart builds the image of a million offsets from what the materialised copy holds.
func BenchmarkRestart(b *testing.B) {
	from := New(DefaultConfig())
	fillOffsets(from, 10000, 100)
	copied := make(map[Key]Record)
	materialise(from, copied)
	b.ReportAllocs()
	for b.Loop() {
		m := rebuilt(copied, DefaultConfig())
		m.Lead(time.Now())
		if m.Stats().Offsets != 1_000_000 {
			b.Fatal("offsets are missing")
		}
	}
}

// BenchmarkTakeDirty collects a million changed offsets.
func BenchmarkTakeDirty(b *testing.B) {
	m := New(DefaultConfig())
	fillOffsets(m, 10000, 100)
	b.ReportAllocs()
	for b.Loop() {
		for _, g := range m.order {
			m.touch(g)
		}
		m.TakeDirty(func(Key, Record) {})
	}
}

// BenchmarkSweep looks at 10,000 groups of which nothing has expired.
func BenchmarkSweep(b *testing.B) {
	now := time.Now()
	m := leading(now)
	fillOffsets(m, 10000, 100)
	for _, g := range m.order {
		g.image.protocolType, g.image.stateTime = consumerProtocol, now.UnixMilli()
	}
	b.ReportAllocs()
	for b.Loop() {
		m.expireOffsets()
		for len(m.sweeps) > 0 {
			m.expireOffsets()
		}
	}
}
