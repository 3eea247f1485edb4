package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// stepTimeout bounds every wait of a scenario. The longest that a step takes
// by design is a session timeout and a rebalance; the rest is a busy machine.
const stepTimeout = 120 * time.Second

// closeTimeout bounds how long a member may take to close.
const closeTimeout = 20 * time.Second

// A Kind is what a scenario plays.
type Kind string

// The scenarios.
const (
	// Dynamic: members join, leave, die, join; the coordinator dies.
	Dynamic Kind = "dynamic"
	// Static: members with an instance id are restarted in time, by SIGTERM
	// and by SIGKILL; the coordinator dies.
	Static Kind = "static"
)

// Steps are the steps of a scenario in order; the last two judge the whole.
func (k Kind) Steps() []string {
	if k == Static {
		return []string{"fill", "join", "restart", "kill", "crash", "drain", "end", "resume", "records", "offsets"}
	}
	return []string{"fill", "join", "leave", "kill", "rejoin", "crash", "drain", "end", "resume", "records", "offsets"}
}

// A Result is how one run of a scenario went.
type Result struct {
	Client string
	Kind   Kind
	Steps  map[string]Step
	// Facts are what was seen on the way and may differ between clients, but
	// not between Kafka and the daemon.
	Facts   map[string]string
	Verdict verdict
	Took    time.Duration
}

// A Step is how one step went. A step that was not reached is not in the map.
type Step struct {
	Took time.Duration
	Err  error
}

// Failed is whether a step went wrong or was not reached.
func (r *Result) Failed() bool {
	for _, s := range r.Kind.Steps() {
		if step, ok := r.Steps[s]; !ok || step.Err != nil {
			return true
		}
	}
	return false
}

// A scenario is one run of one client on one target.
type scenario struct {
	client  *Client
	target  Target
	kind    Kind
	dir     string
	topic   string
	group   string
	journal *journal
	feeder  *feeder
	admin   *admin
	members map[string]*process // Those that run, by name.
	closed  int                 // How many were ended by SIGTERM.
	result  *Result
}

// Run plays a scenario; logs of the members stay in dir. An error is one of
// the suite itself, what the client or the target does wrong is in the result.
func Run(ctx context.Context, c *Client, target Target, kind Kind, dir string) (*Result, error) {
	name := fmt.Sprintf("interop-%s-%s", strings.ReplaceAll(c.Name, ".", "-"), kind)
	s := &scenario{
		client: c, target: target, kind: kind, dir: dir, topic: name, group: name + "-group",
		journal: newJournal(), members: map[string]*process{},
		result: &Result{Client: c.Name, Kind: kind, Steps: map[string]Step{}, Facts: map[string]string{}},
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	if s.admin, err = newAdmin(target); err != nil {
		return nil, err
	}
	defer s.admin.close()
	if s.feeder, err = newFeeder(target.Bootstrap(), s.topic); err != nil {
		return nil, err
	}
	defer s.feeder.close()
	defer func() {
		for _, p := range s.members {
			p.kill()
		}
	}()
	begin := time.Now()
	if s.step(ctx, "fill", s.fill) {
		s.feeder.run()
		if kind == Static {
			s.playStatic(ctx)
		} else {
			s.playDynamic(ctx)
		}
	}
	s.result.Took = time.Since(begin)
	return s.result, s.journal.save(filepath.Join(dir, "journal.jsonl"))
}

// fill creates the topic and produces what is there before the members are.
func (s *scenario) fill(ctx context.Context) error {
	topics := []string{s.topic}
	if s.client.Counts {
		topics = append(topics, s.topic+"-counts")
	}
	if err := s.admin.create(ctx, topics...); err != nil {
		return err
	}
	s.feeder.feed(prefill)
	return s.feeder.flush(ctx)
}

// playDynamic is the scenario of members without an instance id.
func (s *scenario) playDynamic(ctx context.Context) {
	ok := s.step(ctx, "join", func(ctx context.Context) error {
		if err := s.start("A", "B", "C"); err != nil {
			return err
		}
		if err := s.share(ctx, 0, "A", "B", "C"); err != nil {
			return err
		}
		return s.describe(ctx)
	}) && s.step(ctx, "leave", func(ctx context.Context) error {
		mark := s.journal.mark()
		if err := s.stop(ctx, "C"); err != nil {
			return err
		}
		members, err := s.admin.members(ctx, s.group)
		if err != nil {
			return err
		}
		left := !slices.Contains(members, "C")
		if left != s.client.Leaves {
			return fmt.Errorf("after the close of C the group has the members %v", members)
		}
		return s.share(ctx, mark, "A", "B")
	}) && s.step(ctx, "kill", func(ctx context.Context) error {
		mark := s.journal.mark()
		s.kill("B")
		return s.share(ctx, mark, "A")
	}) && s.step(ctx, "rejoin", func(ctx context.Context) error {
		mark := s.journal.mark()
		if err := s.start("D"); err != nil {
			return err
		}
		return s.share(ctx, mark, "A", "D")
	})
	s.finish(ctx, ok, "A", "D")
}

// playStatic is the scenario of members with an instance id.
func (s *scenario) playStatic(ctx context.Context) {
	restart := func(ctx context.Context, old, name string, end func() error, others ...string) error {
		mark := s.journal.mark()
		if err := end(); err != nil {
			return err
		}
		if err := s.start(name); err != nil {
			return err
		}
		if err := s.share(ctx, mark, append(others, name)...); err != nil {
			return err
		}
		entries, _ := s.journal.since(mark)
		n := 0
		for _, o := range others {
			n += moves(entries, o)
		}
		s.result.Facts["others are disturbed by the restart of "+old] = fmt.Sprint(n > 0)
		return nil
	}
	ok := s.step(ctx, "join", func(ctx context.Context) error {
		if err := s.start("A", "B", "C"); err != nil {
			return err
		}
		if err := s.share(ctx, 0, "A", "B", "C"); err != nil {
			return err
		}
		return s.describe(ctx)
	}) && s.step(ctx, "restart", func(ctx context.Context) error {
		return restart(ctx, "C", "C2", func() error { return s.stop(ctx, "C") }, "A", "B")
	}) && s.step(ctx, "kill", func(ctx context.Context) error {
		return restart(ctx, "B", "B2", func() error { s.kill("B"); return nil }, "A", "C2")
	})
	s.finish(ctx, ok, "A", "B2", "C2")
}

// finish plays what both scenarios end with: the coordinator dies, everything
// is read and committed, the members end, another one comes back.
func (s *scenario) finish(ctx context.Context, ok bool, members ...string) {
	ok = ok && s.step(ctx, "crash", func(ctx context.Context) error {
		return s.crash(ctx, members...)
	}) && s.step(ctx, "drain", func(ctx context.Context) error {
		if err := s.feeder.halt(ctx); err != nil {
			return err
		}
		return s.drained(ctx)
	}) && s.step(ctx, "end", func(ctx context.Context) error {
		return s.stop(ctx, members...)
	}) && s.step(ctx, "resume", func(ctx context.Context) error {
		at, mark := s.ends(), s.journal.mark()
		s.feeder.feed(10)
		if err := s.feeder.flush(ctx); err != nil {
			return err
		}
		// The sessions of static members go on without them: all come back.
		back := []string{"E"}
		if s.kind == Static {
			back = []string{"A3", "B3", "C3"}
		}
		if err := s.start(back...); err != nil {
			return err
		}
		if err := s.drained(ctx); err != nil {
			return err
		}
		if err := s.stop(ctx, back...); err != nil {
			return err
		}
		entries, _ := s.journal.since(mark)
		return resumed(entries, at)
	})
	// The judgement is worth having even when the scenario broke off, but
	// then not everything was read.
	s.result.Verdict = s.journal.judge(s.ends(), s.closed*s.client.Drops, s.client.Stale)
	if !ok {
		return
	}
	s.step(ctx, "records", func(ctx context.Context) error {
		if len(s.result.Verdict.Faults) > 0 {
			return errors.New(strings.Join(s.result.Verdict.Faults, "; "))
		}
		if s.client.Counts {
			return s.admin.counted(ctx, s.topic+"-counts", s.feeder.counts())
		}
		return nil
	})
	s.step(ctx, "offsets", func(ctx context.Context) error {
		return s.admin.atEnd(ctx, s.group, s.topic, s.ends())
	})
}

// crash kills the coordinator while members commit.
func (s *scenario) crash(ctx context.Context, members ...string) error {
	mark := s.journal.mark()
	before, _ := s.journal.since(0)
	if err := s.target.Crash(ctx); err != nil {
		return err
	}
	var committed map[int32]int64
	err := retry(ctx, func(ctx context.Context) (err error) {
		committed, err = s.admin.committed(ctx, s.group, s.topic)
		return err
	})
	if err != nil {
		return err
	}
	for p, o := range acknowledged(before) {
		if committed[p] < o {
			return fmt.Errorf("partition %d: the commit of %d was acknowledged, after the crash it is %d", p, o, committed[p])
		}
	}
	if err := s.share(ctx, mark, members...); err != nil {
		return err
	}
	return retry(ctx, func(ctx context.Context) error {
		now, err := s.admin.committed(ctx, s.group, s.topic)
		if err != nil {
			return err
		}
		for p := range int32(Partitions) {
			if now[p] <= committed[p] {
				return fmt.Errorf("partition %d: no commit since the crash, still %d", p, now[p])
			}
		}
		return nil
	})
}

// step plays one step and notes how it went.
func (s *scenario) step(ctx context.Context, name string, f func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	begin := time.Now()
	err := f(ctx)
	s.result.Steps[name] = Step{Took: time.Since(begin), Err: err}
	return err == nil
}

// start starts members. The instance id of a static member is the first letter
// of its name, so that C2 is C restarted.
func (s *scenario) start(names ...string) error {
	for _, n := range names {
		instance := ""
		if s.kind == Static {
			instance = "instance-" + n[:1]
		}
		p, err := start(s.client, s.journal, s.dir, s.target.Bootstrap(), s.topic, s.group, n, instance)
		if err != nil {
			return err
		}
		s.members[n] = p
	}
	return nil
}

func (s *scenario) kill(name string) {
	s.members[name].kill()
	delete(s.members, name)
}

// stop ends members in order, all at once.
func (s *scenario) stop(ctx context.Context, names ...string) error {
	errs := make(chan error, len(names))
	for _, n := range names {
		p := s.members[n]
		delete(s.members, n)
		go func() { errs <- p.stop(ctx, closeTimeout) }()
	}
	s.closed += len(names)
	var all []error
	for range names {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// share waits until the members read all partitions among them.
func (s *scenario) share(ctx context.Context, mark int, members ...string) error {
	return s.journal.wait(ctx, mark, func(entries []entry) error {
		return errors.Join(s.alive(), shared(entries, members, s.client.Even))
	})
}

// alive is an error when a member ended by itself.
func (s *scenario) alive() error {
	for _, p := range s.members {
		if err := p.running(); err != nil {
			return err
		}
	}
	return nil
}

// drained waits until everything in the topic is committed.
func (s *scenario) drained(ctx context.Context) error {
	return retry(ctx, func(ctx context.Context) error {
		if err := s.alive(); err != nil {
			return err
		}
		return s.admin.atEnd(ctx, s.group, s.topic, s.ends())
	})
}

// ends is how many records each partition has.
func (s *scenario) ends() map[int32]int64 {
	ends := map[int32]int64{}
	for p := range int32(Partitions) {
		ends[p] = s.feeder.n
	}
	return ends
}

// describe notes what DescribeGroups says of the group.
func (s *scenario) describe(ctx context.Context) error {
	return retry(ctx, func(ctx context.Context) error {
		facts, err := s.admin.describe(ctx, s.group)
		if err == nil {
			s.result.Facts["DescribeGroups"] = facts
		}
		return err
	})
}

// retry asks again every 100 ms until f succeeds or the step's time is over;
// the error is the last one.
func retry(ctx context.Context, f func(context.Context) error) error {
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-t.C:
		}
	}
}

// Logs is where the members' logs of a run are.
func Logs(dir string, c *Client, kind Kind, target string) string {
	return filepath.Join(dir, target, c.Name+"-"+string(kind))
}

// acknowledged is the last acknowledged commit by partition.
func acknowledged(entries []entry) map[int32]int64 {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, byTime)
	out := map[int32]int64{}
	for _, e := range entries {
		maps.Copy(out, e.line.Offsets)
	}
	return out
}
