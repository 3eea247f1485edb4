package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// player makes events of bytes: whatever they are, they mean something, and the same bytes mean the same.
type player struct {
	*world
	data   []byte
	ids    []string // member ids that were told to clients
	gens   []int32  // generations, likewise
	doubt  []Record // proposals that were reported failed, and nobody knows
	copied map[Key]Record
	untold []Committed // applied, and the leader has not heard
}

// Seeds that once found a fault, or that reach far.
func FuzzMachine(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(randomBytes(seed, 600))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			data = data[:4096]
		}
		play(t, data)
	})
}

// TestRandomEventsKeepTheInvariants plays random events, with proposals that land, fail or stay in doubt, and leaders
// that change; after each, the invariants hold and the replica has the same image.
func TestRandomEventsKeepTheInvariants(t *testing.T) {
	runs := uint64(300)
	if testing.Short() {
		runs = 40
	}
	for seed := range runs {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { play(t, randomBytes(seed+1000, 3000)) })
	}
}

func randomBytes(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func play(t *testing.T, data []byte) {
	cfg := DefaultConfig()
	cfg.InitialRebalanceDelay = time.Second
	cfg.OffsetsRetention = 2 * time.Minute
	cfg.RetentionCheckInterval = 30 * time.Second
	cfg.OffsetMetadataMaxBytes = 8
	p := &player{world: newWorld(t, cfg), data: data, ids: []string{""}, gens: []int32{-1, 0}, copied: make(map[Key]Record)}
	p.seen = p.learn
	p.hold = true
	p.take(p.leader.Lead(p.now))
	for len(p.data) > 0 {
		p.move()
	}
	p.finish()
}

// finish stops all faults: then every request that is parked must end, and no group may be left preparing.
func (p *player) finish() {
	p.t.Helper()
	p.settleDoubts(true)
	p.landAll()
	for range 400 { // longer than any session, join phase and sync phase
		p.advance(time.Second)
		p.landAll()
	}
	for id, label := range p.labels {
		require.True(p.t, p.answered[id], "request %d (%s) was never answered", id, label)
	}
	require.Zero(p.t, p.leader.Stats().Parked)
	p.compareCopy()
	p.take(p.leader.Resign())
	require.Zero(p.t, p.leader.Stats().Parked)
}

func (p *player) landAll() {
	p.tell()
	for len(p.pending) > 0 {
		next := p.pending[0]
		p.pending = p.pending[1:]
		p.land(next)
	}
}

// tell gives the leader the outcomes that it has not heard.
func (p *player) tell() {
	for _, c := range p.untold {
		p.step(&c)
	}
	p.untold = nil
}

// settleDoubts decides, before anything later is committed, whether proposals in doubt are.
func (p *player) settleDoubts(committed bool) {
	for _, r := range p.doubt {
		if committed {
			p.apply(r)
		}
	}
	p.doubt = nil
}

// compareCopy checks that what TakeDirty told so far rebuilds the image.
func (p *player) compareCopy() {
	p.t.Helper()
	materialise(p.leader, p.copied)
	copied := make(map[Key]Record)
	maps.Copy(copied, p.copied)
	m := rebuilt(copied, p.cfg)
	require.NoError(p.t, m.check())
	require.Equal(p.t, p.leader.Hash(), m.Hash())
	require.Equal(p.t, p.leader.offsets, m.offsets)
	p.replica = m // what follows is applied to the copy as well: a snapshot and the tail of the log give the whole
}

func (p *player) learn(r Reply) {
	if j, ok := r.Result.(JoinResult); ok && j.MemberID != "" {
		p.ids = append(p.ids, j.MemberID)
		p.gens = append(p.gens, j.Generation)
		if len(p.ids) > 12 {
			p.ids = append([]string{""}, p.ids[len(p.ids)-8:]...)
			p.gens = append([]int32{-1, 0}, p.gens[len(p.gens)-4:]...)
		}
	}
}

func (p *player) next() int {
	if len(p.data) == 0 {
		return 0
	}
	b := p.data[0]
	p.data = p.data[1:]
	return int(b)
}

func pick[T any](p *player, from ...T) T { return from[p.next()%len(from)] }

func (p *player) group() string { return pick(p, "g", "g", "g", "h") }

// lastID prefers the ids that were told last.
func (p *player) id() string { return p.ids[len(p.ids)-1-p.next()%len(p.ids)] }

func (p *player) gen() int32 { return p.gens[len(p.gens)-1-p.next()%len(p.gens)] }

func (p *player) instance() *string {
	if p.next()%3 != 0 {
		return nil
	}
	s := pick(p, "i1", "i2")
	return &s
}

// instanceOf is mostly the one that the member has.
func (p *player) instanceOf(id string) *string {
	if g := p.leader.groups["g"]; g != nil && g.live != nil && p.next()%8 != 0 {
		if mb := g.live.byID[id]; mb != nil {
			return mb.instance
		}
	}
	return p.instance()
}

func (p *player) protocols() []Protocol {
	x := Protocol{Name: "range", Metadata: subscription(int16(p.next()%2), pick(p, "t", "u"))}
	y := Protocol{Name: "rr", Metadata: []byte{byte(p.next() % 2)}}
	return pick(p, []Protocol{x}, []Protocol{x}, []Protocol{x}, []Protocol{x, y}, []Protocol{y, x}, []Protocol{y}, nil)
}

// move makes one event.
func (p *player) move() {
	switch op := p.next() % 32; {
	case op < 9:
		p.moveMember(op)
	case op < 18:
		p.moveOffsets(op)
	case op < 22:
		p.advance(pick(p, 0, 100*time.Millisecond, time.Second, 5*time.Second, 7*time.Second, 20*time.Second))
	case op < 28:
		p.moveLog(op)
	default:
		p.moveAdmin(op)
	}
}

func (p *player) moveMember(op int) {
	switch op {
	case 0, 1:
		p.fresh++
		p.step(Join{
			Req: p.request("join"), Version: int16(pick(p, 0, 3, 4, 8, 9)), Group: p.group(), InstanceID: p.instance(),
			Client: Client{ID: "c"}, SessionTimeout: pick(p, 6*time.Second, 20*time.Second), RebalanceTimeout: pick(p, 10*time.Second, time.Second, 0),
			ProtocolType: pick(p, "consumer", "consumer", "consumer", "x", ""), Protocols: p.protocols(), FreshID: fmt.Sprint(p.fresh),
		})
	case 2, 3:
		id := p.id()
		p.fresh++
		p.step(Join{
			Req: p.request("rejoin"), Version: int16(pick(p, 3, 9)), Group: p.group(), MemberID: id, InstanceID: p.instanceOf(id),
			Client: Client{ID: "c"}, SessionTimeout: pick(p, 6*time.Second, 20*time.Second, time.Second), RebalanceTimeout: 10 * time.Second,
			ProtocolType: "consumer", Protocols: p.protocols(), FreshID: fmt.Sprint(p.fresh),
		})
	case 4, 5:
		s := Sync{Req: p.request("sync"), Group: p.group(), MemberID: p.id(), Generation: p.gen()}
		s.InstanceID = p.instanceOf(s.MemberID)
		for _, id := range p.ids {
			s.Assignments = append(s.Assignments, Assignment{MemberID: id, Bytes: []byte(id)})
		}
		p.step(s)
	case 6, 7:
		id := p.id()
		h := Heartbeat{Req: p.request("heartbeat"), Group: p.group(), MemberID: id, InstanceID: p.instanceOf(id), Generation: p.gen()}
		p.step(&h)
	default:
		l := Leave{Req: p.request("leave"), Version: 3, Group: p.group()}
		for range p.next() % 3 {
			id := p.id()
			l.Members = append(l.Members, LeaveMember{MemberID: id, InstanceID: p.instanceOf(id)})
		}
		p.step(l)
	}
}

func (p *player) moveOffsets(op int) {
	switch op {
	case 9, 10, 11, 12:
		id := p.id()
		c := &Commit{
			Req: p.request("commit"), Version: int16(pick(p, 4, 8, 9)), Group: p.group(), MemberID: id, InstanceID: p.instanceOf(id),
			Generation: p.gen(), Retention: pick(p, -1, 10*time.Second),
		}
		for range 1 + p.next()%2 {
			topic := OffsetTopic{Name: pick(p, "t", "u", "v"), ID: topicID(pick(p, 0, 0, 1, 2))}
			for range 1 + p.next()%3 {
				topic.Partitions = append(topic.Partitions, OffsetPartition{
					Partition: pick(p, int32(0), 1, 5, 40, 1000, 1<<31-1, -1), Offset: int64(p.next()), LeaderEpoch: -1,
					Metadata: pick(p, "", "", "m", "too much of it"),
				})
			}
			c.Topics = append(c.Topics, topic)
		}
		p.step(c)
	case 13, 14:
		p.step(Fetch{Req: p.request("fetch"), Groups: []FetchGroup{
			{Group: p.group(), All: true},
			{Group: p.group(), Topics: []PartitionSet{{Topic: "t", Partitions: []int32{0, 1, 1000, -1}}}},
		}})
	case 15:
		p.step(DeleteOffsets{Req: p.request("delete-offsets"), Group: p.group(), Topics: []PartitionSet{
			{Topic: pick(p, "t", "u"), Partitions: []int32{pick(p, int32(0), 1, 1000, -1), 0}},
		}})
	case 16:
		p.step(TopicSeen{Name: pick(p, "t", "u"), ID: topicID(pick(p, 0, 1, 2)), Partitions: 6})
	default:
		p.step(TopicGone{Name: pick(p, "t", "u"), ID: topicID(pick(p, 0, 1, 2))})
	}
}

// moveLog decides what becomes of the oldest proposal.
func (p *player) moveLog(op int) {
	if len(p.pending) == 0 {
		p.tell()
		return
	}
	switch op {
	case 25: // a whole batch is applied before the leader hears of its parts
		p.settleDoubts(p.next()%2 == 0)
		first := p.pending[0]
		p.pending = p.pending[1:]
		p.untold = append(p.untold, Committed{Token: first.Token, Outcome: p.apply(first.Record)})
	case 26: // it was sent, and no answer came
		first := p.pending[0]
		p.pending = p.pending[1:]
		p.doubt = append(p.doubt, first.Record)
		p.step(ProposalFailed{Token: first.Token, Err: CoordinatorNotAvailable})
	case 27: // the last one found the queue full
		last := p.pending[len(p.pending)-1]
		p.pending = p.pending[:len(p.pending)-1]
		p.step(ProposalFailed{Token: last.Token, Err: CoordinatorNotAvailable})
	default:
		p.tell()
		if len(p.pending) == 0 {
			return
		}
		p.settleDoubts(p.next()%2 == 0)
		first := p.pending[0]
		p.pending = p.pending[1:]
		p.land(first)
	}
}

func (p *player) moveAdmin(op int) {
	switch op {
	case 28:
		p.step(DeleteGroups{Req: p.request("delete"), Groups: []string{p.group(), p.group()}})
	case 29:
		p.step(Describe{Req: p.request("describe"), Version: 6, Groups: []string{"g", "h"}})
		p.step(List{Req: p.request("list")})
	case 30:
		p.compareCopy()
		p.leader.cfg.MaxSize = pick(p, 2, 3, 1<<31-1)
	default:
		if p.next()%4 == 0 {
			p.settleDoubts(p.next()%2 == 0)
			p.untold = nil
			p.failover(p.next()%2 == 0)
			p.copied = make(map[Key]Record)
			for _, g := range p.leader.order {
				p.leader.touch(g)
			}
			for _, t := range p.leader.names {
				p.leader.dirtyTopics = append(p.leader.dirtyTopics, t.name)
			}
		}
	}
}
