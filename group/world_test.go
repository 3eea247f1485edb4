package group

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// world is a leader, a replica that applies the same log, and clients that are lines of text.
type world struct {
	t        testing.TB
	cfg      Config
	leader   *Machine
	replica  *Machine
	now      time.Time
	hold     bool // proposals wait for "land" or "fail"
	notices  bool
	pending  []Proposal
	lost     []Record // failed, and may be committed all the same
	labels   map[ReqID]string
	answered map[ReqID]bool
	fresh    int
	seen     func(Reply)      // called for each reply, when set
	handed   map[string]int32 // by group, the last generation that was begun
	out      strings.Builder
}

func newWorld(t testing.TB, cfg Config) *world {
	t.Helper()
	return &world{
		t: t, cfg: cfg, leader: New(cfg), replica: New(cfg),
		now:    time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		labels: make(map[ReqID]string), answered: make(map[ReqID]bool), handed: make(map[string]int32),
	}
}

// step gives the leader an event and takes what comes of it.
func (w *world) step(ev Event) { w.take(w.leader.Step(w.now, ev)) }

func (w *world) take(fx Effects) {
	w.t.Helper()
	if err := w.leader.check(); err != nil {
		w.t.Fatalf("after a step: %v\n%s", err, w.out.String())
	}
	for _, r := range fx.Replies {
		if w.answered[r.Req] {
			w.t.Fatalf("request %d answered twice: %+v", r.Req, r.Result)
		}
		if w.labels[r.Req] == "" {
			w.t.Fatalf("answer to nobody: %+v", r)
		}
		w.answered[r.Req] = true
		if w.seen != nil {
			w.seen(r)
			continue
		}
		fmt.Fprintf(&w.out, "%s: %s\n", w.labels[r.Req], formatResult(r.Result))
	}
	for _, n := range fx.Notices {
		if w.notices {
			fmt.Fprintf(&w.out, "notice %s group=%s gen=%d member=%s count=%d reason=%q\n",
				n.Kind, n.Group, n.Generation, n.Member, n.Count, n.Reason)
		}
	}
	proposed := slices.Clone(fx.Proposals)
	if w.hold {
		for _, p := range proposed {
			if w.seen != nil {
				break
			}
			fmt.Fprintf(&w.out, "propose %s\n", formatRecord(p.Record))
		}
		w.pending = append(w.pending, proposed...)
		return
	}
	for _, p := range proposed {
		w.land(p)
	}
}

// land commits a proposal on both machines and tells the leader.
func (w *world) land(p Proposal) {
	w.t.Helper()
	o := w.apply(p.Record)
	w.step(Committed{Token: p.Token, Outcome: o})
}

func (w *world) apply(r Record) Outcome {
	w.t.Helper()
	o, o2 := w.leader.Apply(r), w.replica.Apply(r)
	if o.Code != o2.Code || o.Stale != o2.Stale || o.Removed != o2.Removed || !slices.Equal(o.Partitions, o2.Partitions) {
		w.t.Fatalf("outcomes differ: %+v and %+v", o, o2)
	}
	if a, b := w.leader.Hash(), w.replica.Hash(); a != b {
		w.t.Fatalf("images differ after %s", formatRecord(r))
	}
	if err := w.leader.check(); err != nil {
		w.t.Fatalf("after %s: %v", formatRecord(r), err)
	}
	w.noteGeneration(r, o)
	return o
}

// noteGeneration demands that no generation of a group begins twice, until the group is deleted.
func (w *world) noteGeneration(r Record, o Outcome) {
	w.t.Helper()
	if meta, ok := r.(*GroupMeta); ok && !o.Stale && meta.Phase == PhaseCompleting {
		if last, ok := w.handed[meta.Group]; ok && meta.Generation <= last {
			w.t.Fatalf("generation %d of %q begins after %d", meta.Generation, meta.Group, last)
		}
		w.handed[meta.Group] = meta.Generation
	}
	for name := range w.handed {
		if w.leader.find(name) == nil {
			delete(w.handed, name)
		}
	}
}

// advance lets time pass, stopping at each deadline.
func (w *world) advance(d time.Duration) {
	w.t.Helper()
	end := w.now.Add(d)
	for range 3000 {
		next, ok := w.leader.NextDeadline()
		if !ok || next.After(end) {
			w.now = end
			return
		}
		if next.After(w.now) {
			w.now = next
		}
		w.step(Tick{})
	}
	w.t.Fatal("deadlines never end")
}

// failover lets the replica lead and the leader follow. What was in flight is lost, or committed before the new leader
// serves; it cannot come later, because of the barrier in the new leader's term.
func (w *world) failover(committed bool) {
	w.t.Helper()
	w.take(w.leader.Resign())
	for _, p := range w.pending {
		if committed {
			w.apply(p.Record)
		}
	}
	w.pending, w.lost = nil, nil
	w.leader, w.replica = w.replica, w.leader
	w.take(w.leader.Lead(w.now))
}

// rebuilt returns a machine made from what TakeDirty says of m, which must have been asked from its beginning.
func rebuilt(copyOf map[Key]Record, cfg Config) *Machine {
	m := New(cfg)
	keys := make([]Key, 0, len(copyOf))
	for k := range copyOf {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return strings.Compare(string(rune(a.Kind))+a.Name, string(rune(b.Kind))+b.Name)
	})
	for _, k := range keys {
		m.Apply(copyOf[k])
	}
	return m
}

// materialise takes what changed into a copy, as the store does.
func materialise(m *Machine, into map[Key]Record) {
	m.TakeDirty(func(key Key, r Record) {
		switch r := r.(type) {
		case nil:
			delete(into, key)
		case *GroupImage:
			c := &GroupImage{Meta: r.Meta}
			c.Meta.Members = slices.Clone(r.Meta.Members)
			for _, t := range r.Topics {
				t.Partitions = slices.Clone(t.Partitions)
				c.Topics = append(c.Topics, t)
			}
			into[key] = c
		default:
			into[key] = r
		}
	})
}

func (w *world) request(label string) ReqID {
	id := ReqID(len(w.labels) + 1)
	w.labels[id] = label
	return id
}

// subscription is a consumer's subscription, version 0 or with bytes after the part that all versions have.
func subscription(version int16, topics ...string) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(len(topics)))
	for _, t := range topics {
		b = binary.BigEndian.AppendUint16(b, uint16(len(t)))
		b = append(b, t...)
	}
	return binary.BigEndian.AppendUint32(b, 0xffffffff)
}

func ptrText(p *string) string {
	if p == nil {
		return "nil"
	}
	return *p
}

func bytesText(b []byte) string {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return fmt.Sprintf("(%d bytes)", len(b))
		}
	}
	return strconv.Quote(string(b))
}

func formatResult(r Result) string {
	switch r := r.(type) {
	case JoinResult:
		if r.Code != None && r.ProtocolName == nil {
			return fmt.Sprintf("join %s gen=%d leader=%q member=%q members=%d", r.Code, r.Generation, r.Leader, r.MemberID, len(r.Members))
		}
		s := fmt.Sprintf("join %s gen=%d protocol=%s/%s leader=%s member=%s", r.Code, r.Generation,
			ptrText(r.ProtocolType), ptrText(r.ProtocolName), r.Leader, r.MemberID)
		if r.SkipAssignment {
			s += " skip"
		}
		for _, m := range r.Members {
			s += fmt.Sprintf(" (%s", m.MemberID)
			if m.InstanceID != nil {
				s += " " + *m.InstanceID
			}
			s += " " + bytesText(m.Metadata) + ")"
		}
		return s
	case SyncResult:
		if r.Code != None {
			return fmt.Sprintf("sync %s", r.Code)
		}
		return fmt.Sprintf("sync NONE protocol=%s/%s assignment=%s", ptrText(r.ProtocolType), ptrText(r.ProtocolName), bytesText(r.Assignment))
	case HeartbeatResult:
		return fmt.Sprintf("heartbeat %s", r.Code)
	case LeaveResult:
		s := fmt.Sprintf("leave %s", r.Code)
		for _, m := range r.Members {
			s += fmt.Sprintf(" (%q %s %s)", m.MemberID, ptrText(m.InstanceID), m.Code)
		}
		return s
	case *CommitResult:
		return fmt.Sprintf("commit %s%s", r.Code, codesText(r.Partitions))
	case FetchResult:
		s := "fetch"
		for _, g := range r.Groups {
			s += fmt.Sprintf(" %s %s", g.Group, g.Code)
			for _, t := range g.Topics {
				s += " " + t.Topic
				if t.ID != (TopicID{}) {
					s += fmt.Sprintf("/%d", t.ID[15])
				}
				for _, p := range t.Partitions {
					s += fmt.Sprintf(" [%d: %d epoch=%d %s %s]", p.Partition, p.Offset, p.LeaderEpoch, bytesText([]byte(p.Metadata)), p.Code)
				}
			}
		}
		return s
	case DeleteOffsetsResult:
		return fmt.Sprintf("delete-offsets %s%s", r.Code, codesText(r.Partitions))
	case DescribeResult:
		s := "describe"
		for _, g := range r.Groups {
			s += fmt.Sprintf(" %s %s state=%s protocol=%s/%s gen=%d leader=%s", g.Group, g.Code, g.State, g.ProtocolType, g.Protocol, g.Generation, g.Leader)
			if g.Message != "" {
				s += " " + strconv.Quote(g.Message)
			}
			for _, m := range g.Members {
				s += fmt.Sprintf(" (%s %s client=%s%s metadata=%s assignment=%s)", m.MemberID, ptrText(m.InstanceID), m.Client.ID, m.Client.Host, bytesText(m.Metadata), bytesText(m.Assignment))
			}
		}
		return s
	case ListResult:
		s := fmt.Sprintf("list %s", r.Code)
		for _, g := range r.Groups {
			s += fmt.Sprintf(" (%s %q %s %s)", g.Group, g.ProtocolType, g.State, g.Type)
		}
		return s
	case DeleteGroupsResult:
		s := "delete"
		for _, g := range r.Groups {
			s += fmt.Sprintf(" (%q %s)", g.Group, g.Code)
		}
		return s
	}
	return fmt.Sprintf("%+v", r)
}

func codesText(codes []Code) string {
	s := ""
	for _, c := range codes {
		s += " " + c.String()
	}
	return s
}

func formatRecord(r Record) string {
	switch r := r.(type) {
	case *GroupMeta:
		s := fmt.Sprintf("meta %s seq=%d phase=%d gen=%d protocol=%s/%s leader=%s", r.Group, r.Sequence, r.Phase, r.Generation, r.ProtocolType, r.Protocol, r.Leader)
		for _, m := range r.Members {
			s += fmt.Sprintf(" (%s %s %s)", m.MemberID, ptrText(m.InstanceID), bytesText(m.Assignment))
		}
		return s
	case *GroupDelete:
		return "group-delete " + r.Group
	case *OffsetCommit:
		s := fmt.Sprintf("commit %s gen=%d member=%q instance=%s simple=%t", r.Group, r.Guard.Generation, r.Guard.MemberID, ptrText(r.Guard.InstanceID), r.Guard.Simple)
		for _, t := range r.Topics {
			s += " " + t.Name
			for _, p := range t.Partitions {
				s += fmt.Sprintf(" %d=%d", p.Partition, p.Offset)
			}
		}
		return s
	case *OffsetDelete:
		s := fmt.Sprintf("offset-delete %s expired=%t drop-empty=%t", r.Group, r.Expired, r.DropEmpty)
		for _, t := range r.Topics {
			s += fmt.Sprintf(" %s %v", t.Topic, t.Partitions)
		}
		return s
	case *TopicUpsert:
		return fmt.Sprintf("topic %s id=%d partitions=%d", r.Name, r.ID[15], r.Partitions)
	case *TopicDrop:
		return fmt.Sprintf("topic-drop %s id=%d", r.Name, r.ID[15])
	}
	return fmt.Sprintf("%+v", r)
}
