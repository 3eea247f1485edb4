package group

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestScenarios plays the scripts in testdata. A block "run" is a list of commands, one a line; each test of a script
// begins with a block "new", whose settings are Kafka's defaults unless given.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			var w *world
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				switch d.Cmd {
				case "new":
					w = newWorld(t, configOf(t, d))
					w.take(w.leader.Lead(w.now))
				case "run":
					w.t = t
					for line := range strings.Lines(d.Input) {
						if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
							w.command(line)
						}
					}
				default:
					t.Fatalf("%s: unknown block %q", d.Pos, d.Cmd)
				}
				out := w.out.String()
				w.out.Reset()
				return out
			})
		})
	}
}

// TestEveryNamedBehaviourHasAScenario demands that the scripts name each behaviour of the list in testdata/behaviours.
func TestEveryNamedBehaviourHasAScenario(t *testing.T) {
	list, err := os.ReadFile("testdata/behaviours")
	require.NoError(t, err)
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	var scripts strings.Builder
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		scripts.Write(b)
	}
	all := scripts.String()
	for name := range strings.FieldsSeq(string(list)) {
		require.Contains(t, all, "# "+name+"\n", "no scenario is named %s", name)
	}
}

func configOf(t *testing.T, d *datadriven.TestData) Config {
	cfg := DefaultConfig()
	cfg.InitialRebalanceDelay = 0
	for _, a := range d.CmdArgs {
		v := a.Vals[0]
		duration := func() time.Duration {
			x, err := time.ParseDuration(v)
			require.NoError(t, err)
			return x
		}
		switch a.Key {
		case "delay":
			cfg.InitialRebalanceDelay = duration()
		case "retention":
			cfg.OffsetsRetention = duration()
		case "check":
			cfg.RetentionCheckInterval = duration()
		case "max-size":
			n, err := strconv.Atoi(v)
			require.NoError(t, err)
			cfg.MaxSize = n
		case "metadata-max":
			n, err := strconv.Atoi(v)
			require.NoError(t, err)
			cfg.OffsetMetadataMaxBytes = n
		default:
			t.Fatalf("unknown setting %s", a.Key)
		}
	}
	return cfg
}

// args are the words of a command: those with an equals sign by name, the others in order.
type args struct {
	t     testing.TB
	words []string
	named map[string]string
}

func parse(t testing.TB, line string) args {
	a := args{t: t, named: make(map[string]string)}
	for word := range strings.FieldsSeq(line) {
		if k, v, ok := strings.Cut(word, "="); ok {
			a.named[k] = v
		} else {
			a.words = append(a.words, word)
		}
	}
	return a
}

func (a args) text(key, otherwise string) string {
	if v, ok := a.named[key]; ok {
		return v
	}
	return otherwise
}

func (a args) number(key string, otherwise int) int {
	v, ok := a.named[key]
	if !ok {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	require.NoError(a.t, err)
	return n
}

func (a args) duration(key string, otherwise time.Duration) time.Duration {
	v, ok := a.named[key]
	if !ok {
		return otherwise
	}
	d, err := time.ParseDuration(v)
	require.NoError(a.t, err)
	return d
}

func (a args) optional(key string) *string {
	if v, ok := a.named[key]; ok {
		return &v
	}
	return nil
}

func (a args) list(key string) []string {
	if a.named[key] == "" {
		return nil
	}
	return strings.Split(a.named[key], ",")
}

func (a args) word(i int) string {
	require.Greater(a.t, len(a.words), i, "too few words")
	return a.words[i]
}

// command plays one line.
func (w *world) command(line string) {
	a := parse(w.t, line)
	switch a.words[0] {
	case "join":
		w.step(w.joinOf(a))
	case "sync":
		w.step(w.syncOf(a))
	case "hb":
		w.step(Heartbeat{Req: w.request(a.word(1)), Group: a.text("g", "g"), MemberID: a.text("id", ""), InstanceID: a.optional("inst"), Generation: int32(a.number("gen", 1))})
	case "leave":
		l := Leave{Req: w.request(a.word(1)), Version: int16(a.number("v", 5)), Group: a.text("g", "g")}
		for _, m := range a.list("m") {
			lm := LeaveMember{}
			id, inst, ok := strings.Cut(m, "/")
			if lm.MemberID = id; ok {
				lm.InstanceID = &inst
			}
			l.Members = append(l.Members, lm)
		}
		w.step(l)
	case "commit":
		w.step(w.commitOf(a))
	case "fetch":
		w.step(w.fetchOf(a))
	case "delete-offsets":
		w.step(DeleteOffsets{Req: w.request(a.word(1)), Group: a.text("g", "g"), Topics: setsOf(w.t, a.words[2:])})
	case "describe":
		w.step(Describe{Req: w.request(a.word(1)), Version: int16(a.number("v", 6)), Groups: strings.Split(a.text("g", "g"), ",")})
	case "list":
		w.step(List{Req: w.request(a.word(1)), States: a.list("states"), Types: a.list("types")})
	case "delete":
		w.step(DeleteGroups{Req: w.request(a.word(1)), Groups: strings.Split(a.text("g", "g"), ",")})
	case "seen":
		w.step(TopicSeen{Name: a.word(1), ID: topicID(a.number("id", 0)), Partitions: int32(a.number("n", 1))})
	case "gone":
		w.step(TopicGone{Name: a.word(1), ID: topicID(a.number("id", 0))})
	default:
		w.control(a)
	}
}

// control plays a line that is not a request.
func (w *world) control(a args) {
	switch a.words[0] {
	case "tick":
		d, err := time.ParseDuration(a.word(1))
		require.NoError(w.t, err)
		w.advance(d)
	case "hold":
		w.hold = true
	case "land": // the oldest so many; all when no number is given
		n := len(w.pending)
		if len(a.words) > 1 {
			n, _ = strconv.Atoi(a.words[1])
		} else {
			w.hold = false
		}
		for range n {
			require.NotEmpty(w.t, w.pending)
			p := w.pending[0]
			w.pending = w.pending[1:]
			w.land(p)
		}
	case "fail":
		n, err := strconv.Atoi(a.word(1))
		require.NoError(w.t, err)
		require.NotEmpty(w.t, w.pending)
		p := w.pending[0]
		w.pending = w.pending[1:]
		w.lost = append(w.lost, p.Record)
		w.step(ProposalFailed{Token: p.Token, Err: Code(n)})
	case "late": // a proposal that was taken for failed is committed after all
		require.NotEmpty(w.t, w.lost)
		last := w.lost[len(w.lost)-1]
		w.lost = w.lost[:len(w.lost)-1]
		fmt.Fprintf(&w.out, "late %s stale=%t\n", formatRecord(last), w.apply(last).Stale)
	case "resign":
		w.take(w.leader.Resign())
		w.pending = nil
	case "lead":
		w.take(w.leader.Lead(w.now))
	case "failover":
		w.failover(len(a.words) > 1 && a.words[1] == "committed")
	case "restart": // from what the materialised copy holds
		w.take(w.leader.Resign())
		copied := make(map[Key]Record)
		for _, g := range w.leader.order {
			w.leader.touch(g)
		}
		materialise(w.leader, copied)
		w.leader = rebuilt(copied, w.cfg)
		require.Equal(w.t, w.replica.Hash(), w.leader.Hash())
		w.take(w.leader.Lead(w.now))
	case "max-size":
		w.leader.cfg.MaxSize, w.replica.cfg.MaxSize = a.number("n", 0), a.number("n", 0)
	case "notices":
		w.notices = a.word(1) == "on"
	case "unanswered":
		n := 0
		for id := range w.labels {
			if !w.answered[id] {
				n++
			}
		}
		require.Equal(w.t, n, w.leader.Stats().Parked)
		fmt.Fprintf(&w.out, "unanswered %d\n", n)
	case "stats":
		s := w.leader.Stats()
		fmt.Fprintf(&w.out, "groups=%d members=%d offsets=%d parked=%d states=%v\n", s.Groups, s.Members, s.Offsets, s.Parked, s.GroupsByState)
	case "held":
		w.leader.HeldTopics(func(name string, id TopicID) { fmt.Fprintf(&w.out, "held %s id=%d\n", name, id[15]) })
	case "topics":
		w.leader.Topics(func(name string, id TopicID, n int32) {
			fmt.Fprintf(&w.out, "topic %s id=%d partitions=%d\n", name, id[15], n)
		})
	default:
		w.t.Fatalf("unknown command %q", a.words[0])
	}
}

func topicID(n int) TopicID {
	var id TopicID
	id[15] = byte(n)
	return id
}

func (w *world) joinOf(a args) Join {
	if _, ok := a.named["id"]; !ok {
		w.fresh++ // so that the first client's member id ends in 1, the second's in 2
	}
	j := Join{
		Req: w.request(a.word(1)), Version: int16(a.number("v", 9)), Group: a.text("g", "g"),
		MemberID: a.text("id", ""), InstanceID: a.optional("inst"),
		Client:         Client{ID: a.text("client", a.word(1)), Host: a.text("host", "/127.0.0.1")},
		SessionTimeout: a.duration("session", 10*time.Second), RebalanceTimeout: a.duration("rebalance", time.Minute),
		ProtocolType: a.text("type", "consumer"), Reason: a.text("reason", ""), FreshID: strconv.Itoa(w.fresh),
	}
	for p := range strings.SplitSeq(a.text("p", "range:x"), ",") {
		if p == "" {
			continue
		}
		name, metadata, _ := strings.Cut(p, ":")
		proto := Protocol{Name: name, Metadata: []byte(metadata)}
		if topics, ok := strings.CutPrefix(metadata, "sub/"); ok {
			proto.Metadata = subscription(1, strings.Split(topics, "+")...)
		}
		j.Protocols = append(j.Protocols, proto)
	}
	return j
}

func (w *world) syncOf(a args) Sync {
	s := Sync{
		Req: w.request(a.word(1)), Version: int16(a.number("v", 5)), Group: a.text("g", "g"),
		MemberID: a.text("id", ""), InstanceID: a.optional("inst"), Generation: int32(a.number("gen", 1)),
	}
	if s.Version >= 5 {
		protocolType, name := a.text("type", "consumer"), a.text("name", "range")
		s.ProtocolType, s.ProtocolName = &protocolType, &name
		if protocolType == "null" {
			s.ProtocolType = nil
		}
		if name == "null" {
			s.ProtocolName = nil
		}
	}
	for _, as := range a.list("a") {
		id, b, _ := strings.Cut(as, ":")
		s.Assignments = append(s.Assignments, Assignment{MemberID: id, Bytes: []byte(b)})
	}
	return s
}

// commitOf reads words like orders:3=17, orders:3=17@5 (leader epoch) and orders:3=17@5#metadata.
func (w *world) commitOf(a args) *Commit {
	c := &Commit{
		Req: w.request(a.word(1)), Version: int16(a.number("v", 9)), Group: a.text("g", "g"),
		MemberID: a.text("id", ""), InstanceID: a.optional("inst"), Generation: int32(a.number("gen", 1)),
		Retention: a.duration("retention", -time.Millisecond),
	}
	for _, word := range a.list("o") {
		topic, rest, _ := strings.Cut(word, ":")
		partition, rest, _ := strings.Cut(rest, "/")
		rest, metadata, _ := strings.Cut(rest, "#")
		offset, epoch, hasEpoch := strings.Cut(rest, "@")
		p := OffsetPartition{LeaderEpoch: -1, Metadata: metadataOf(w.t, metadata)}
		p.Partition = int32(mustInt(w.t, partition))
		p.Offset = mustInt(w.t, offset)
		if hasEpoch {
			p.LeaderEpoch = int32(mustInt(w.t, epoch))
		}
		if n := len(c.Topics); n == 0 || c.Topics[n-1].Name != topic {
			c.Topics = append(c.Topics, OffsetTopic{Name: topic, ID: topicID(a.number("tid", 0))})
		}
		last := &c.Topics[len(c.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return c
}

// metadataOf reads text, or a length and a character to repeat: 4097*x.
func metadataOf(t testing.TB, s string) string {
	if n, c, ok := strings.Cut(s, "*"); ok {
		return strings.Repeat(c, int(mustInt(t, n)))
	}
	if b, ok := strings.CutPrefix(s, "base64/"); ok {
		raw, err := base64.RawStdEncoding.DecodeString(b)
		require.NoError(t, err)
		return string(raw)
	}
	return s
}

func mustInt(t testing.TB, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err)
	return n
}

// fetchOf reads words like orders:0+1+2; "all" asks for all that is there, and groups are separated by slashes.
func (w *world) fetchOf(a args) Fetch {
	f := Fetch{Req: w.request(a.word(1))}
	group := FetchGroup{Group: a.text("g", "g"), MemberEpoch: -1}
	for i := 2; i < len(a.words); i++ {
		switch a.words[i] {
		case "all":
			group.All = true
		case "stable":
			f.RequireStable = true
		case "/":
			f.Groups = append(f.Groups, group)
			group = FetchGroup{Group: a.words[i+1], MemberEpoch: -1}
			i++
		default:
			group.Topics = append(group.Topics, setsOf(w.t, a.words[i:i+1])...)
		}
	}
	f.Groups = append(f.Groups, group)
	return f
}

func setsOf(t testing.TB, words []string) []PartitionSet {
	var sets []PartitionSet
	for _, word := range words {
		topic, list, _ := strings.Cut(word, ":")
		set := PartitionSet{Topic: topic}
		for p := range strings.SplitSeq(list, "+") {
			if p != "" {
				set.Partitions = append(set.Partitions, int32(mustInt(t, p)))
			}
		}
		sets = append(sets, set)
	}
	return sets
}
