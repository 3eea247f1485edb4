package coordinator

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
	"github.com/coordinatord/coordinatord/protocol"
)

// Core is the synchronous half of the coordinator: it owns the machine, numbers what waits, turns the machine's effects
// into commands and answers, and collects them in an [Output]. It has no goroutine, clock or lock; [Loop] drives it, and
// so can a simulation.
type Core struct {
	cfg     group.Config
	m       *group.Machine
	decoder protocol.Decoder
	topics  *imageTopics

	leading bool
	index   uint64 // of the last batch applied, or loaded

	waiting  slab[*Request] // requests that the machine has not answered
	pending  slab[pending]  // proposals whose outcome is open
	deadline deadlines      // of the proposals
	held     []heldRead     // reads that no proof of leadership covers yet
	proving  []heldRead     // reads that the proof under way covers
	inProof  bool           // a proof is under way
	seen     map[string]seenTopic

	out     Output
	arena   []byte // the commands of out.Proposals
	scratch []byte
}

// Request is one request inside the core.
type Request struct {
	protocol.Request
	Key  int16
	To   Replier
	Read bool    // answered only after a proof of leadership
	Seen []Topic // topics of the request that the image knows nothing of, or something else
}

type pending struct {
	token group.Token
	at    time.Time
	rec   *group.OffsetCommit // kept for the hot record only, to spare the decoding; see applyOne
}

// seenTopic is a topic that the machine was told of. For a moment it is not told again, so that of many commits only the
// first has it proposed.
type seenTopic struct {
	topic Topic
	until time.Time
}

const seenPause = 5 * time.Second

type heldRead struct {
	req  *Request
	resp kmsg.Response
	code group.Code
}

// Output is what the core wants done, in this order: notices, proposals, replies. Notices and proposals may share memory
// with requests, which is given back by their reply.
type Output struct {
	Notices   []group.Notice
	Proposals []Proposal
	Replies   []Reply
	Confirm   bool // start a proof of leadership, and tell its end with [Core.Confirmed]
}

// Proposal is one encoded record on its way to the log.
type Proposal struct {
	Ref      uint64
	from, to int
}

// Reply is one response on its way to a client.
type Reply struct {
	To   Replier
	Resp kmsg.Response
	Key  int16
	Code group.Code // for metrics
}

// NewCore returns a core with an empty machine that does not lead.
func NewCore(cfg group.Config) *Core {
	return &Core{cfg: cfg, m: group.New(cfg), topics: newImageTopics(), seen: make(map[string]seenTopic)}
}

// Take returns what has been collected since [Core.Reset].
func (c *Core) Take() *Output {
	if len(c.held) > 0 && !c.inProof {
		c.held, c.proving = c.proving[:0], c.held
		c.inProof = true
		c.out.Confirm = true
	}
	return &c.out
}

// Command returns the bytes of a proposal of the current output.
func (c *Core) Command(p Proposal) []byte { return c.arena[p.from:p.to] }

// maxArena is what a burst may leave behind as buffer.
const maxArena = 1 << 20

// Reset forgets the output, whose memory is used again.
func (c *Core) Reset() {
	clear(c.out.Notices)
	clear(c.out.Replies)
	c.out.Notices, c.out.Replies, c.out.Proposals = c.out.Notices[:0], c.out.Replies[:0], c.out.Proposals[:0]
	c.out.Confirm = false
	if cap(c.arena) > maxArena {
		c.arena = nil
	}
	c.arena = c.arena[:0]
}

// Serve takes a client's request.
func (c *Core) Serve(now time.Time, r *Request) {
	for _, t := range r.Seen {
		c.Seen(now, t)
	}
	id := c.waiting.add(r)
	ev := r.Event(group.ReqID(id))
	if ev == nil {
		c.waiting.take(id)
		c.reply(r, r.Answer(nil), group.None)
		return
	}
	c.effects(now, c.m.Step(now, ev))
}

// Seen tells the machine of a topic.
func (c *Core) Seen(now time.Time, t Topic) {
	if s := c.seen[t.Name]; !c.leading || s.topic == t && now.Before(s.until) {
		return
	}
	c.seen[t.Name] = seenTopic{t, now.Add(seenPause)}
	c.effects(now, c.m.Step(now, group.TopicSeen{Name: t.Name, ID: t.ID, Partitions: t.Partitions}))
}

// Gone tells the machine that a topic does not exist any more.
func (c *Core) Gone(now time.Time, t Topic) {
	delete(c.seen, t.Name)
	c.effects(now, c.m.Step(now, group.TopicGone{Name: t.Name, ID: t.ID}))
}

// Tick lets deadlines take effect.
func (c *Core) Tick(now time.Time) {
	for {
		ref, ok := c.deadline.due(now, &c.pending)
		if !ok {
			break
		}
		c.fail(now, ref, group.CoordinatorNotAvailable)
	}
	if at, ok := c.m.NextDeadline(); ok && !at.After(now) {
		c.effects(now, c.m.Step(now, group.Tick{}))
	}
}

// NextDeadline says when Tick is next worth calling.
func (c *Core) NextDeadline() (time.Time, bool) {
	a, okA := c.m.NextDeadline()
	b, okB := c.deadline.next(&c.pending)
	if !okA || okB && b.Before(a) {
		return b, okB
	}
	return a, true
}

// Lead begins leadership.
func (c *Core) Lead(now time.Time) {
	if c.leading {
		c.Resign(now) // a new term: what was proposed in the old one has no owner any more
	}
	c.leading = true
	clear(c.seen)
	c.effects(now, c.m.Lead(now))
}

// Resign ends leadership: everything that waits is answered.
func (c *Core) Resign(now time.Time) {
	c.leading = false
	clear(c.seen)
	c.effects(now, c.m.Resign())
	c.pending.all(func(ref uint64) { c.pending.take(ref) })
	c.deadline = deadlines{timeout: c.deadline.timeout}
	c.waiting.all(func(id uint64) {
		r, _ := c.waiting.take(id)
		c.reply(r, r.Fail(group.NotCoordinator), group.NotCoordinator)
	})
	c.failReads(&c.held, group.NotCoordinator)
	c.failReads(&c.proving, group.NotCoordinator)
}

// Confirmed tells the end of the proof that [Output.Confirm] asked for.
func (c *Core) Confirmed(err error) {
	c.inProof = false
	if err != nil {
		c.failReads(&c.proving, group.NotCoordinator)
		return
	}
	for _, h := range c.proving {
		c.reply(h.req, h.resp, h.code)
	}
	clear(c.proving)
	c.proving = c.proving[:0]
}

func (c *Core) failReads(reads *[]heldRead, code group.Code) {
	for _, h := range *reads {
		c.reply(h.req, h.req.Fail(code), code)
	}
	clear(*reads)
	*reads = (*reads)[:0]
}

// Failed tells that own proposals were not, or may not have been, committed. Where that is not known, the record may yet
// be applied; the client has had a retriable error by then.
func (c *Core) Failed(now time.Time, refs []uint64, code group.Code) {
	for _, ref := range refs {
		c.fail(now, ref, code)
	}
}

func (c *Core) fail(now time.Time, ref uint64, code group.Code) {
	if p, ok := c.pending.take(ref); ok {
		c.effects(now, c.m.Step(now, group.ProposalFailed{Token: p.token, Err: code}))
	}
}

// Apply applies a committed batch; took, if not nil, is told how long each own proposal was under way. An error means that this node cannot go on: it would no longer agree with the others.
func (c *Core) Apply(now time.Time, b *Batch, took func(time.Duration)) error {
	for i, cmd := range b.Commands {
		var ref uint64
		if b.Refs != nil {
			ref = b.Refs[i]
		}
		if err := c.applyOne(now, ref, cmd, took); err != nil {
			return fmt.Errorf("entry %d, command %d: %w", b.Index, i, err)
		}
	}
	c.index = b.Index
	return nil
}

func (c *Core) applyOne(now time.Time, ref uint64, cmd []byte, took func(time.Duration)) error {
	p, own := c.pending.take(ref)
	var rec group.Record
	if own && p.rec != nil {
		// The bytes are those that this very record was encoded to, and the codec is one to one, so decoding them would
		// give an equal record. Its request has not been answered, so its memory is still there.
		rec = p.rec
	} else {
		var err error
		if rec, err = c.decoder.Decode(cmd); err != nil {
			return err
		}
	}
	out := c.m.Apply(rec)
	c.topics.applied(rec)
	if own {
		if took != nil {
			took(now.Sub(p.at))
		}
		c.effects(now, c.m.Step(now, group.Committed{Token: p.token, Outcome: out}))
	}
	return nil
}

// effects carries out what a step asked for. It does not call the machine, so that e stays valid.
func (c *Core) effects(now time.Time, e group.Effects) {
	c.out.Notices = append(c.out.Notices, e.Notices...)
	for i := range e.Proposals {
		p := &e.Proposals[i]
		rec, _ := p.Record.(*group.OffsetCommit)
		ref := c.pending.add(pending{token: p.Token, at: now, rec: rec})
		c.deadline.add(ref, now)
		from := len(c.arena)
		c.arena = protocol.AppendRecord(c.arena, p.Record)
		c.out.Proposals = append(c.out.Proposals, Proposal{Ref: ref, from: from, to: len(c.arena)})
	}
	for i := range e.Replies {
		id, res := uint64(e.Replies[i].Req), e.Replies[i].Result
		r, ok := c.waiting.take(id)
		if !ok {
			continue // answered already, when leadership ended
		}
		code := resultCode(res)
		resp := r.Answer(res)
		if r.Read && c.leading {
			c.held = append(c.held, heldRead{req: r, resp: resp, code: code})
			continue
		}
		c.reply(r, resp, code)
	}
}

func (c *Core) reply(r *Request, resp kmsg.Response, code group.Code) {
	c.out.Replies = append(c.out.Replies, Reply{To: r.To, Resp: resp, Key: r.Key, Code: code})
}

// resultCode is the code that a result is counted under: its own, or the first one inside that is not None.
func resultCode(res group.Result) group.Code {
	switch r := res.(type) {
	case *group.CommitResult:
		return firstCode(r.Code, r.Partitions)
	case group.HeartbeatResult:
		return r.Code
	case group.JoinResult:
		return r.Code
	case group.SyncResult:
		return r.Code
	case group.LeaveResult:
		code := r.Code
		for i := 0; code == group.None && i < len(r.Members); i++ {
			code = r.Members[i].Code
		}
		return code
	case group.FetchResult:
		for i := range r.Groups {
			if r.Groups[i].Code != group.None {
				return r.Groups[i].Code
			}
		}
	case group.DeleteOffsetsResult:
		return firstCode(r.Code, r.Partitions)
	case group.DescribeResult:
		for i := range r.Groups {
			if r.Groups[i].Code != group.None {
				return r.Groups[i].Code
			}
		}
	case group.ListResult:
		return r.Code
	case group.DeleteGroupsResult:
		for _, g := range r.Groups {
			if g.Code != group.None {
				return g.Code
			}
		}
	}
	return group.None
}

func firstCode(code group.Code, rest []group.Code) group.Code {
	for i := 0; code == group.None && i < len(rest); i++ {
		code = rest[i]
	}
	return code
}
