package coordinator

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
	"github.com/coordinatord/coordinatord/protocol"
)

var simSeed = flag.Uint64("seed", 0, "play this one seed of the simulation")

// sim is a core with a log that delays, loses and, after it has said that it lost something, commits it all the same;
// with leadership that comes and goes, and clients that do anything at any time. All of it follows from the seed.
type sim struct {
	t    *testing.T
	rnd  *rand.Rand
	core *Core
	now  time.Time

	inFlight  []command // proposed, outcome unknown to the core
	undead    []command // reported as failed, and perhaps committed later
	committed [][]byte
	applied   int            // of committed
	last      map[string]int // by group: the offset that the log says is the newest
	inLog     map[int]bool   // offsets that are in the log
	proof     bool           // one is under way

	sent    int
	replies []*simReply
	members map[string]memberOf
	offset  int
}

type memberOf struct {
	id         string
	generation int32
}

type simReply struct {
	s      *sim
	what   string
	offset int // of a commit
	want   int // of a fetch: what the log said when it was sent
	done   bool
	resp   kmsg.Response
}

func (r *simReply) Reply(resp kmsg.Response) {
	require.False(r.s.t, r.done, "%s answered twice", r.what)
	require.NotNil(r.s.t, resp)
	r.done, r.resp = true, resp
	switch m := resp.(type) {
	case *kmsg.OffsetCommitResponse:
		if m.Topics[0].Partitions[0].ErrorCode == 0 {
			require.True(r.s.t, r.s.inLog[r.offset], "%s: acknowledged, and not in the log", r.what)
		}
	case *kmsg.OffsetFetchResponse:
		if m.Groups[0].ErrorCode == 0 {
			require.EqualValues(r.s.t, r.want, m.Groups[0].Topics[0].Partitions[0].Offset, "%s: a stale read", r.what)
		}
	case *kmsg.JoinGroupResponse:
		if m.ErrorCode == 0 || m.ErrorCode == int16(group.MemberIDRequired) {
			r.s.members[r.what] = memberOf{m.MemberID, m.Generation}
		}
	}
}

func (s *sim) pick(n int) bool { return s.rnd.IntN(n) == 0 }

// drain does what the core asks for, until it asks for nothing.
func (s *sim) drain() {
	for {
		out := s.core.Take()
		if len(out.Proposals) == 0 && len(out.Replies) == 0 && len(out.Notices) == 0 && !out.Confirm {
			return
		}
		var refused []uint64
		for _, p := range out.Proposals {
			if s.pick(20) {
				refused = append(refused, p.Ref)
				continue
			}
			s.inFlight = append(s.inFlight, command{p.Ref, append([]byte(nil), s.core.Command(p)...)})
		}
		if out.Confirm {
			require.False(s.t, s.proof, "two proofs at once")
			s.proof = true
		}
		for _, r := range out.Replies {
			r.To.Reply(r.Resp)
		}
		s.core.Reset()
		s.core.Failed(s.now, refused, group.CoordinatorNotAvailable)
	}
}

// commit puts commands into the log and applies them as one batch.
func (s *sim) commit(cmds []command, own bool) {
	b := Batch{Index: uint64(s.applied + 1)}
	for _, c := range cmds {
		b.Commands = append(b.Commands, c.cmd)
		b.Refs = append(b.Refs, c.ref)
		s.committed = append(s.committed, c.cmd)
		rec, err := protocol.DecodeRecord(c.cmd)
		require.NoError(s.t, err)
		if c, ok := rec.(*group.OffsetCommit); ok && c.Guard.Simple {
			offset := int(c.Topics[0].Partitions[0].Offset)
			s.inLog[offset] = true
			s.last[c.Group] = offset
		}
	}
	if !own {
		b.Refs = nil
	}
	s.applied += len(cmds)
	require.NoError(s.t, s.core.Apply(s.now, &b, nil))
}

func (s *sim) serve(msg kmsg.Request, version int16, r *simReply) {
	r.s = s
	msg.SetVersion(version)
	s.sent++
	req, err := protocol.New(msg, group.Client{ID: "c", Host: "/127.0.0.1"}, func() string { return fmt.Sprint("id-", s.sent) })
	require.NoError(s.t, err)
	if q, ok := req.(protocol.TopicRequest); ok {
		q.Resolve(newModelTopics(orders), group.None)
	}
	s.replies = append(s.replies, r)
	key := msg.Key()
	s.core.Serve(s.now, &Request{Request: req, Key: key, To: r, Read: key == 9 || key == 15 || key == 16, Seen: []Topic{orders}})
}

func (s *sim) client() {
	simple := fmt.Sprint("simple-", s.rnd.IntN(3))
	slot := fmt.Sprintf("g%d/%d", s.rnd.IntN(2), s.rnd.IntN(3))
	name := slot[:2]
	m := s.members[slot]
	switch s.rnd.IntN(9) {
	case 0, 1, 2:
		s.offset++
		s.serve(commitRequest(simple, "", -1, "orders", 0, int64(s.offset)), 8, &simReply{what: fmt.Sprint("commit ", s.offset), offset: s.offset})
	case 3:
		want, ok := s.last[simple]
		if !ok {
			want = -1
		}
		s.serve(&kmsg.OffsetFetchRequest{Groups: []kmsg.OffsetFetchRequestGroup{
			{Group: simple, Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: "orders", Partitions: []int32{0}}}},
		}}, 8, &simReply{what: "fetch of " + simple, want: want})
	case 4:
		s.serve(joinRequest(name, m.id), int16(s.rnd.IntN(6)), &simReply{what: slot})
	case 5:
		s.serve(&kmsg.SyncGroupRequest{Group: name, MemberID: m.id, Generation: m.generation}, 3, &simReply{what: "sync"})
	case 6:
		s.serve(&kmsg.HeartbeatRequest{Group: name, MemberID: m.id, Generation: m.generation}, 3, &simReply{what: "heartbeat"})
	case 7:
		s.serve(&kmsg.DescribeGroupsRequest{Groups: []string{name}}, 5, &simReply{what: "describe"})
	case 8:
		if s.pick(3) {
			s.serve(&kmsg.LeaveGroupRequest{Group: name, MemberID: m.id}, 1, &simReply{what: "leave"})
		}
	}
}

// world is what happens to the core besides.
func (s *sim) world() {
	switch s.rnd.IntN(8) {
	case 0, 1, 2:
		if n := len(s.inFlight); n > 0 {
			n = 1 + s.rnd.IntN(n)
			s.commit(s.inFlight[:n], true)
			s.inFlight = s.inFlight[n:]
		}
	case 3:
		if n := len(s.inFlight); n > 0 && s.pick(3) {
			c := s.inFlight[n-1]
			s.inFlight = s.inFlight[:n-1]
			s.undead = append(s.undead, c)
			s.core.Failed(s.now, []uint64{c.ref}, group.CoordinatorNotAvailable)
		}
	case 4:
		if n := len(s.undead); n > 0 {
			s.commit(s.undead[:n], s.pick(2))
			s.undead = nil
		}
	case 5:
		s.now = s.now.Add(time.Duration(s.rnd.IntN(2500)) * time.Millisecond)
		s.core.Tick(s.now)
	case 6:
		if s.proof {
			s.proof = false
			var err error
			if s.pick(5) {
				err = errors.New("lost")
			}
			s.core.Confirmed(err)
		}
	case 7:
		if s.pick(10) {
			s.core.Resign(s.now)
			s.drain()
			s.undead = append(s.undead, s.inFlight...)
			s.inFlight = nil
			require.Zero(s.t, s.core.waiting.len())
			require.Zero(s.t, s.core.pending.len())
			s.core.Lead(s.now)
		}
	}
}

func TestSimulation(t *testing.T) {
	seeds := []uint64{*simSeed}
	if *simSeed == 0 {
		seeds = seeds[:0]
		for i := range uint64(120) {
			seeds = append(seeds, i+1)
		}
	}
	acknowledged, parked := 0, 0
	for _, seed := range seeds {
		s := &sim{
			t: t, rnd: rand.New(rand.NewPCG(seed, 0)), core: NewCore(groupConfig()), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			last: map[string]int{}, inLog: map[int]bool{}, members: map[string]memberOf{},
		}
		s.core.deadline.timeout = 5 * time.Second
		t.Logf("seed %d", seed) // shown when it fails: go test -run TestSimulation -seed=N
		s.core.Lead(s.now)
		for range 400 {
			s.client()
			s.drain()
			s.world()
			s.drain()
		}
		// Nothing is lost any more, and time passes: everything is answered without leadership having to end, but for
		// members that wait for others.
		if s.proof {
			s.core.Confirmed(nil)
		}
		s.core.Resign(s.now)
		s.drain()
		for _, r := range s.replies {
			require.True(t, r.done, "seed %d: %s was never answered", seed, r.what)
			if m, ok := r.resp.(*kmsg.OffsetCommitResponse); ok && m.Topics[0].Partitions[0].ErrorCode == 0 {
				acknowledged++
			}
			if m, ok := r.resp.(*kmsg.JoinGroupResponse); ok && m.ErrorCode == 0 {
				parked++
			}
		}
		follower := NewCore(groupConfig())
		require.NoError(t, follower.Apply(s.now, &Batch{Index: 1, Commands: s.committed}, nil))
		require.Equal(t, dirty(s.core), dirty(follower), "seed %d", seed)
	}
	if len(seeds) > 1 {
		require.Greater(t, acknowledged, 400)
		require.Greater(t, parked, 40)
	}
}
