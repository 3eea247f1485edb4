package differential

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// patience is how long an answer may take before the step is recorded as having none.
	patience = 20 * time.Second
	// lull is how long a request must stay without an answer to be called parked.
	lull = 150 * time.Millisecond
	// slack is what a loaded machine may add to a timer's end.
	slack = 8 * time.Second
)

// errStop ends a sequence whose next steps make no sense; the recorded steps say why.
var errStop = errors.New("stopped")

// errSlow ends a sequence whose own schedule slipped on a loaded machine; it is played again.
var errSlow = errors.New("too slow")

// A Step is one recorded observation of a target.
type Step struct {
	Label   string  // connection, number of the request on it, API and version
	Request []Field // as sent, normalised
	Kind    string  // "answer", "closed", "no answer", or what went wrong
	Fields  []Field // of the answer
	// Mismatch is not empty when the answer is not what the reference says; on Kafka it means that the sequence does
	// not exercise its line or that the reference is wrong.
	Mismatch string
	// Divergence names an entry of docs/divergences.md; Want is what that entry says for this kind of target.
	Divergence, Want string
}

// A Script plays one sequence against one target and records what it sees.
type Script struct {
	target *Target
	prefix string
	norm   *normaliser
	steps  []Step
	conns  []*Conn
	admin  *Conn
	// due, unless zero, is when what the script does next must be over for the play to mean anything.
	due    time.Time
	parked *Call // a join that a sequence left waiting for one of its actions
	// restarted says that the play has reached the point of its profile's restart.
	restarted bool
	ownID     [16]byte // of the topic that the sequence made for itself

	mu    sync.Mutex
	cells map[[2]int16]bool
}

func newScript(t *Target, prefix string) *Script {
	return &Script{target: t, prefix: prefix, norm: newNormaliser(prefix, t), cells: map[[2]int16]bool{}}
}

// play runs a sequence to its end and closes its connections.
func (s *Script) play(run func(*Script)) (steps []Step, slow bool) {
	defer func() {
		for _, c := range s.conns {
			c.Close()
		}
		if c := s.target.Restart; c != nil && !s.restarted {
			c.arrive()
		}
		if r := recover(); r != nil {
			err, ok := r.(error)
			if !ok || (!errors.Is(err, errStop) && !errors.Is(err, errSlow)) {
				panic(r)
			}
			slow = errors.Is(err, errSlow)
		}
		steps = s.steps
	}()
	run(s)
	return s.steps, false
}

func (s *Script) stop(format string, args ...any) {
	s.steps = append(s.steps, Step{Label: "the sequence", Kind: "stopped: " + fmt.Sprintf(format, args...)})
	if !s.due.IsZero() && time.Now().After(s.due) {
		panic(errSlow)
	}
	panic(errStop)
}

func (s *Script) sent(key, version int16) {
	s.mu.Lock()
	s.cells[[2]int16{key, version}] = true
	s.mu.Unlock()
}

// Conn opens a connection to the group's coordinator with a client id of that name.
func (s *Script) Conn(name string) *Conn {
	id := name
	return s.dial(s.target.Addr(), name, &id)
}

// AnonymousConn opens a connection whose requests carry a null client id.
func (s *Script) AnonymousConn(name string) *Conn { return s.dial(s.target.Addr(), name, nil) }

func (s *Script) dial(addr, name string, clientID *string) *Conn {
	c, err := dial(s, addr, name, clientID)
	if err != nil {
		s.stop("%v", err)
	}
	s.conns = append(s.conns, c)
	return c
}

// Group names a group of this sequence.
func (s *Script) Group(name string, e era) *Group {
	return &Group{s: s, ID: s.prefix + "." + name, era: e}
}

// Pause lets time go by where the absence of an event is what is tested.
func (s *Script) Pause(d time.Duration) { time.Sleep(d) }

// OnTime ends this play, to be played again, when the script itself is later than a timing-dependent sequence can be:
// more than limit after start. It looks at no answer, so it can hide no difference.
func (s *Script) OnTime(start time.Time, limit time.Duration) {
	if time.Since(start) > limit {
		panic(errSlow)
	}
}

// Check records a mismatch with the reference when ok is false.
func (s *Script) Check(ok bool, format string, args ...any) {
	if !ok && s.last().Mismatch == "" {
		s.last().Mismatch = fmt.Sprintf(format, args...)
	}
}

func (s *Script) last() *Step { return &s.steps[len(s.steps)-1] }

// DivergesAs is Diverges for something that is not an answer: seen must be what the entry says of this kind of target.
func (s *Script) DivergesAs(id, what, kafka, ours, seen string) {
	want := kafka
	if s.target.Daemon {
		want = ours
	}
	s.steps = append(s.steps, Step{Label: what, Kind: seen, Divergence: id, Want: want})
}

// control is an unrecorded connection for polling a group's state.
func (s *Script) control() *Conn {
	if s.admin == nil {
		s.admin = s.Conn("control")
	}
	return s.admin
}

// ask sends a request on the control connection without recording it.
func (s *Script) ask(req kmsg.Request) kmsg.Response {
	call := s.control().Send(req)
	select {
	case <-call.done:
	case <-time.After(patience):
		s.stop("%s: no answer", call.label)
	}
	if call.closed {
		s.stop("%s: closed", call.label)
	}
	resp, _, err := call.response()
	if err != nil {
		s.stop("%s: %v", call.label, err)
	}
	return resp
}

// describe asks for a group's state without recording it.
func (g *Group) describe() kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewPtrDescribeGroupsRequest()
	r.Version = 5
	r.Groups = []string{g.ID}
	groups := g.s.ask(r).(*kmsg.DescribeGroupsResponse).Groups
	if len(groups) != 1 {
		g.s.stop("describing one group gave %d", len(groups))
	}
	return groups[0]
}

// Await polls, without recording, until the group is in the state and has so many members (any number if negative).
func (g *Group) Await(state string, members int) {
	g.s.until(fmt.Sprintf("group %s to be %s with %d members", g.s.norm.text(g.ID), state, members), func() bool {
		d := g.describe()
		return d.State == state && (members < 0 || len(d.Members) == members)
	})
}

// until polls, without recording, until a condition holds.
func (s *Script) until(what string, holds func() bool) {
	s.poll(what, patience, 5*time.Millisecond, holds)
}

// patient is until for what takes long.
func (s *Script) patient(what string, within time.Duration, holds func() bool) {
	s.poll(what, within, 100*time.Millisecond, holds)
}

func (s *Script) poll(what string, within, every time.Duration, holds func() bool) {
	for deadline := time.Now().Add(within); !holds(); time.Sleep(every) {
		if time.Now().After(deadline) {
			s.stop("waited in vain for %s", what)
		}
	}
}
