package differential

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// server answers every frame on its connections with what reply gives; nil closes the connection, an empty slice
// stays silent.
func server(t *testing.T, reply func(corr int32, frame []byte) []byte) *Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for {
					var size [4]byte
					if _, err := io.ReadFull(c, size[:]); err != nil {
						return
					}
					frame := make([]byte, binary.BigEndian.Uint32(size[:]))
					if _, err := io.ReadFull(c, frame); err != nil {
						return
					}
					out := reply(int32(binary.BigEndian.Uint32(frame[4:8])), frame)
					if out == nil {
						return
					}
					_, _ = c.Write(out)
				}
			}()
		}
	}()
	addr := l.Addr().(*net.TCPAddr)
	return &Target{Host: "127.0.0.1", Port: int32(addr.Port)}
}

func answer(corr int32, body ...byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(corr))
	return append(b, body...)
}

// heartbeat plays one heartbeat v0 and returns its step.
func heartbeat(t *testing.T, target *Target, settle time.Duration) Step {
	t.Helper()
	s := newScript(target, "prefix")
	steps, _ := s.play(func(s *Script) {
		s.Conn("c").Send(kmsg.NewPtrHeartbeatRequest()).Settle(settle)
	})
	if len(steps) != 1 {
		t.Fatalf("%d steps", len(steps))
	}
	return steps[0]
}

func TestOutcomesAreToldApart(t *testing.T) {
	code := func(c byte) *Target {
		return server(t, func(corr int32, _ []byte) []byte { return answer(corr, 0, c) })
	}
	cases := []struct {
		name   string
		target *Target
		want   string
	}{
		{"answer", code(27), "27"},
		{"closed", server(t, func(int32, []byte) []byte { return nil }), "closed"},
		{"silent", server(t, func(int32, []byte) []byte { return []byte{} }), "none"},
		{"disorder", server(t, func(corr int32, _ []byte) []byte { return answer(corr+1, 0, 0) }), "out of order: correlation id 2 answered where 1 was next"},
		{"short", server(t, func(corr int32, _ []byte) []byte { return answer(corr, 0) }), "bad answer"},
	}
	var steps []Step
	for _, c := range cases {
		st := heartbeat(t, c.target, 300*time.Millisecond)
		if !strings.HasPrefix(st.outcome(), c.want) {
			t.Errorf("%s: outcome %q, want %q", c.name, st.outcome(), c.want)
		}
		steps = append(steps, st)
	}
	for i := range steps {
		for j := range steps {
			r := Result{A: steps[i : i+1], B: steps[j : j+1], Explained: map[string]int{}}
			compare(&r, nil)
			if (len(r.Differences) == 0) != (i == j) {
				t.Errorf("%s against %s: %d differences", cases[i].name, cases[j].name, len(r.Differences))
			}
		}
	}
}

func TestBytesLeftOverAreADifference(t *testing.T) {
	exact := heartbeat(t, server(t, func(corr int32, _ []byte) []byte { return answer(corr, 0, 0) }), time.Second)
	longer := heartbeat(t, server(t, func(corr int32, _ []byte) []byte { return answer(corr, 0, 0, 0) }), time.Second)
	if same(exact, longer) {
		t.Fatal("an answer with a byte too many passes for the same")
	}
}

func TestStepsWithoutCounterpartAreADifference(t *testing.T) {
	one := []Step{{Label: "x", Kind: "closed"}}
	for _, r := range []Result{{A: one}, {B: one}} {
		compare(&r, nil)
		if len(r.Differences) != 1 {
			t.Errorf("%d differences", len(r.Differences))
		}
	}
}

func TestDivergenceMustBeTheOneDescribed(t *testing.T) {
	step := func(kind, want string) []Step {
		return []Step{{Label: "x", Kind: kind, Divergence: "D1", Want: want}}
	}
	cases := []struct {
		name        string
		a, b        []Step
		known       map[string]bool
		differences int
		explained   int
	}{
		{"as described", step("no answer", "none"), step("closed", "closed"), map[string]bool{"D1": true}, 0, 1},
		{"not in the document", step("no answer", "none"), step("closed", "closed"), nil, 1, 1},
		{"ours is another", step("no answer", "none"), step("no answer", "closed"), map[string]bool{"D1": true}, 1, 1},
		{"Kafka is another", step("closed", "none"), step("closed", "closed"), map[string]bool{"D1": true}, 1, 1},
		{"the same Kafka twice", step("no answer", "none"), step("no answer", "none"), map[string]bool{"D1": true}, 0, 0},
	}
	for _, c := range cases {
		r := Result{A: c.a, B: c.b, Explained: map[string]int{}}
		compare(&r, c.known)
		if len(r.Differences) != c.differences || r.Explained["D1"] != c.explained {
			t.Errorf("%s: %d differences, explained %d times", c.name, len(r.Differences), r.Explained["D1"])
		}
	}
}

func TestGeneratedIdsAreNumberedInOrder(t *testing.T) {
	n := newNormaliser("a-seq-01", &Target{})
	first, second := "c-11111111-2222-3333-4444-555555555555", "c-99999999-2222-3333-4444-555555555555"
	for _, c := range []struct{ in, want string }{
		{first, "c-<uuid1>"},
		{second, "c-<uuid2>"},
		{first, "c-<uuid1>"},
		{"d-11111111-2222-3333-4444-555555555555", "d-<uuid1>"},
		{"c-1111", "c-1111"},
		{"a-seq-01.g", "~.g"},
	} {
		if got := n.text(c.in); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestOnlyTheAdvertisedAddressIsBlanked(t *testing.T) {
	n := newNormaliser("p", &Target{Host: "127.0.0.1", Port: 9193})
	blank := kmsg.NewPtrFindCoordinatorResponse()
	blank.Host, blank.Port = "127.0.0.1", 9193
	n.canonical(nil, blank)
	leaked := kmsg.NewPtrFindCoordinatorResponse()
	leaked.Host, leaked.Port = "127.0.0.1", 9092
	n.canonical(nil, leaked)
	if blank.Port != 0 || leaked.Port != 9092 {
		t.Errorf("ports %d and %d", blank.Port, leaked.Port)
	}
}

func TestSuiteIsWellFormed(t *testing.T) {
	ids := map[string]bool{}
	for _, l := range allLines() {
		if ids[l.id] {
			t.Errorf("line %s twice", l.id)
		}
		ids[l.id] = true
	}
	suite := Suite()
	if len(suite) < 200 {
		t.Errorf("%d sequences", len(suite))
	}
	names, used := map[string]bool{}, map[string]bool{}
	for _, s := range suite {
		if names[s.Name] {
			t.Errorf("two sequences %q", s.Name)
		}
		names[s.Name] = true
		if len(s.Lines) == 0 {
			t.Errorf("%q covers no line", s.Name)
		}
		for _, l := range s.Lines {
			used[l] = true
			if !ids[l] {
				t.Errorf("%q covers %s, which is no line", s.Name, l)
			}
		}
	}
	for _, l := range allLines() {
		if !used[l.id] && l.reason == "" {
			t.Errorf("line %s (%s) has neither a sequence nor a reason", l.id, l.title)
		}
	}
	for _, p := range plants {
		n := 0
		for _, s := range suite {
			if p.sequences.MatchString(s.Name) {
				n++
			}
		}
		if n == 0 {
			t.Errorf("no sequence for %s", p.tag)
		}
	}
}

func TestDivergencesAreReadFromTheDocument(t *testing.T) {
	known, err := readDivergences()
	if err != nil {
		t.Fatal(err)
	}
	if !known["D1"] {
		t.Errorf("known: %v", known)
	}
}
