package coordinator

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
	"github.com/coordinatord/coordinatord/protocol"
)

// ownVersions are the versions that the listener lets through.
var ownVersions = map[int16][2]int16{
	8: {2, 10}, 9: {1, 10}, 11: {0, 9}, 12: {0, 4}, 13: {0, 5}, 14: {0, 5}, 15: {0, 6}, 16: {0, 5}, 42: {0, 3}, 47: {0, 0},
}

var ownKeys = []int16{8, 9, 11, 12, 13, 14, 15, 16, 42, 47}

// frame is one request of a fuzz input: key, version, seconds that pass before it, length, body.
func frame(dst []byte, msg kmsg.Request, version int16, wait byte) []byte {
	msg.SetVersion(version)
	body := msg.AppendTo(nil)
	dst = append(dst, byte(msg.Key()), byte(version), wait)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(body)))
	return append(dst, body...)
}

func seeds() [][]byte {
	member := "client-id-1" // as the first member's id is made
	msgs := []kmsg.Request{
		joinRequest("g", ""),
		joinRequest("g", member),
		&kmsg.SyncGroupRequest{
			Group: "g", Generation: 1, MemberID: member, ProtocolType: new("consumer"), Protocol: new("range"),
			GroupAssignment: []kmsg.SyncGroupRequestGroupAssignment{{MemberID: member, MemberAssignment: []byte("a")}},
		},
		&kmsg.HeartbeatRequest{Group: "g", Generation: 1, MemberID: member},
		commitRequest("g", member, 1, "orders", 0, 5),
		commitRequest("simple", "", -1, "orders", 3, math.MaxInt64),
		&kmsg.OffsetFetchRequest{
			Group: "g", RequireStable: true, Topics: []kmsg.OffsetFetchRequestTopic{{Topic: "orders", Partitions: []int32{0}}},
			Groups: []kmsg.OffsetFetchRequestGroup{{Group: "g"}, {Group: "simple", Topics: []kmsg.OffsetFetchRequestGroupTopic{{TopicID: orders.ID, Partitions: []int32{3}}}}},
		},
		&kmsg.JoinGroupRequest{Group: "g", InstanceID: new("i"), SessionTimeoutMillis: 10000, ProtocolType: "consumer", Protocols: joinRequest("g", "").Protocols},
		&kmsg.DescribeGroupsRequest{Groups: []string{"g", "none"}, IncludeAuthorizedOperations: true},
		&kmsg.ListGroupsRequest{StatesFilter: []string{"Empty"}},
		&kmsg.OffsetDeleteRequest{Group: "g", Topics: []kmsg.OffsetDeleteRequestTopic{{Topic: "orders", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{}}}}},
		&kmsg.LeaveGroupRequest{Group: "g", MemberID: member, Members: []kmsg.LeaveGroupRequestMember{{MemberID: member}, {InstanceID: new("i")}}},
		&kmsg.DeleteGroupsRequest{Groups: []string{"g", "simple"}},
	}
	var out [][]byte
	for v := range int16(11) {
		var in []byte
		for i, m := range msgs {
			if i == 1 && v < 4 {
				continue // its first join has been accepted
			}
			r := ownVersions[m.Key()]
			in = frame(in, m, min(max(v, r[0]), r[1]), byte(i&1))
		}
		out = append(out, in)
	}
	return out
}

// onlyReply fails on a second answer.
type onlyReply struct {
	t    *testing.T
	resp kmsg.Response
}

func (r *onlyReply) Reply(resp kmsg.Response) {
	require.Nil(r.t, r.resp, "answered twice")
	require.NotNil(r.t, resp)
	r.resp = resp
}

// bench drives a core by hand: proposals are committed at once, reads are proved at once.
type bench struct {
	t     *testing.T
	core  *Core
	index uint64
	log   [][]byte
}

func (b *bench) settle(now time.Time) {
	for {
		out := b.core.Take()
		if len(out.Proposals) == 0 && len(out.Replies) == 0 && !out.Confirm {
			b.core.Reset()
			return
		}
		var batch Batch
		for _, p := range out.Proposals {
			batch.Commands = append(batch.Commands, append([]byte(nil), b.core.Command(p)...))
			batch.Refs = append(batch.Refs, p.Ref)
		}
		for _, r := range out.Replies {
			r.To.Reply(r.Resp)
			raw := r.Resp.AppendTo(nil)
			back := r.Resp.RequestKind().ResponseKind()
			back.SetVersion(r.Resp.GetVersion())
			require.NoError(b.t, back.ReadFrom(raw))
		}
		confirm := out.Confirm
		b.core.Reset()
		if confirm {
			b.core.Confirmed(nil)
		}
		if len(batch.Commands) > 0 {
			b.index++
			batch.Index = b.index
			b.log = append(b.log, batch.Commands...)
			require.NoError(b.t, b.core.Apply(now, &batch, nil))
		}
	}
}

// FuzzServe: whatever a client sends in any own API and version, nothing panics, every request is answered once with
// something that can be encoded, and a follower that decodes the log ends with the leader's state.
func FuzzServe(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		b := &bench{t: t, core: NewCore(groupConfig())}
		b.core.deadline.timeout = 5 * time.Second
		b.core.Lead(now)
		fresh := 0
		known := newModelTopics(orders)
		var replies []*onlyReply
		for len(in) >= 5 && len(replies) < 200 {
			key, version, wait, n := ownKeys[int(in[0])%len(ownKeys)], int16(in[1]), in[2], int(binary.BigEndian.Uint16(in[3:]))
			if _, ok := ownVersions[int16(in[0])]; ok {
				key = int16(in[0])
			}
			in = in[5:]
			n = min(n, len(in))
			body := in[:n]
			in = in[n:]
			r := ownVersions[key]
			msg := kmsg.RequestForKey(key)
			msg.SetVersion(r[0] + version%(r[1]-r[0]+1))
			if int(version) >= int(r[0]) && version <= r[1] {
				msg.SetVersion(version)
			}
			if msg.ReadFrom(body) != nil {
				continue // the listener closes the connection
			}
			now = now.Add(time.Duration(wait) * time.Second)
			b.core.Tick(now)
			b.settle(now)
			req, err := protocol.New(msg, group.Client{ID: "client", Host: "/127.0.0.1"}, func() string {
				fresh++
				return "id-" + string(rune('0'+fresh%10))
			})
			require.NoError(t, err)
			to := &onlyReply{t: t}
			cr := &Request{Request: req, Key: key, To: to, Read: key == 9 || key == 15 || key == 16}
			if q, ok := req.(protocol.TopicRequest); ok {
				q.Missing(known)
				absent := group.None
				if wait%2 == 1 {
					absent = group.CoordinatorNotAvailable
				}
				q.Resolve(known, absent)
			}
			b.core.Serve(now, cr)
			replies = append(replies, to)
			b.settle(now)
		}
		b.core.Resign(now)
		b.settle(now)
		for i, r := range replies {
			require.NotNil(t, r.resp, "request %d was never answered", i)
		}
		follower := NewCore(groupConfig())
		require.NoError(t, follower.Apply(now, &Batch{Index: 1, Commands: b.log}, nil))
		require.Equal(t, dirty(b.core), dirty(follower))
	})
}

func dirty(c *Core) map[string]string {
	out := map[string]string{}
	c.m.TakeDirty(func(k group.Key, r group.Record) {
		if r != nil {
			out[string(protocol.AppendKey(nil, k))] = string(protocol.AppendRecord(nil, r))
		}
	})
	return out
}

// FuzzRestore: a value of a snapshot or of the copy, however damaged, is restored or refused; what is restored is written
// again alike.
func FuzzRestore(f *testing.F) {
	add := func(k group.Key, r group.Record) { f.Add(protocol.AppendKey(nil, k), protocol.AppendRecord(nil, r)) }
	add(group.Key{Kind: group.KindTopic, Name: "orders"}, &group.TopicUpsert{Name: "orders", ID: orders.ID, Partitions: 6})
	instance := "i"
	add(group.Key{Kind: group.KindGroup, Name: "g"}, &group.GroupImage{
		Meta: group.GroupMeta{
			Group: "g", Sequence: 4, Phase: group.PhaseStable, Generation: 3, ProtocolType: "consumer", Protocol: "range", Leader: "a",
			Members: []group.MemberImage{
				{MemberID: "a", SessionTimeout: 1000, RebalanceTimeout: 1000, Protocols: []group.Protocol{{Name: "range", Metadata: []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 0}}}},
				{MemberID: "b", InstanceID: &instance, Assignment: []byte{1}},
			},
		},
		Topics: []group.StoredTopic{{Name: "orders", ID: orders.ID, Partitions: []group.StoredOffset{
			{OffsetPartition: group.OffsetPartition{Offset: 7, LeaderEpoch: -1, Metadata: "m"}, CommitTime: 5, ExpireTime: -1},
			{OffsetPartition: group.OffsetPartition{Partition: math.MaxInt32, Offset: 7}, CommitTime: 5, ExpireTime: 9},
		}}},
	})
	f.Fuzz(func(t *testing.T, k, v []byte) {
		c := NewCore(groupConfig())
		var dec protocol.Decoder
		if load(c.m, &dec, k, v) != nil {
			return
		}
		first := dirty(c)
		again := NewCore(groupConfig())
		for k, v := range first {
			require.NoError(t, load(again.m, &dec, []byte(k), []byte(v)))
		}
		require.Equal(t, first, dirty(again))
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		b := &bench{t: t, core: c}
		b.core.Lead(now)
		b.settle(now)
		for range 3 {
			now = now.Add(time.Hour)
			b.core.Tick(now)
			b.settle(now)
		}
	})
}
