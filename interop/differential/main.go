package differential

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Options are those of the command.
type Options struct {
	Target    string // "daemon" or "self"
	Match     *regexp.Regexp
	Parallel  int
	Tags      string
	Verbose   bool
	DaemonLog string
	Timeout   time.Duration
	Out       io.Writer
}

// ErrDifferent is what Main returns when a difference is not explained.
var ErrDifferent = errors.New("unexplained differences")

// Main starts the targets, plays the suite, prints the table and the differences.
func Main(ctx context.Context, o Options) (err error) {
	if o.Target != "daemon" && o.Target != "self" {
		return fmt.Errorf("--target %q: it is daemon or self", o.Target)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	start := time.Now()
	known, err := readDivergences()
	if err != nil {
		return err
	}
	var seqs []Sequence
	profiles := map[Profile]int{}
	for _, s := range Suite() {
		if o.Match == nil || o.Match.MatchString(s.Name) {
			seqs = append(seqs, s)
			profiles[s.Profile]++
		}
	}
	if len(seqs) == 0 {
		return errors.New("no sequence matches --run")
	}
	// The long ones first, so that they do not stand alone at the end; those whose timers are the tightest last, when
	// everything is warm.
	order := func(s Sequence) int {
		switch {
		case s.Long:
			return 0
		case s.Profile == Plain:
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(seqs, func(a, b Sequence) int { return order(a) - order(b) })
	env, err := startEnvironment(ctx, o, profiles)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	if err := env.warm(ctx); err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "targets ready after %v\n", time.Since(start).Round(time.Second))
	rep := &report{out: o.Out, verbose: o.Verbose}
	Run(ctx, seqs, env.pairs, o.Parallel, known, rep.add)
	if o.Match == nil || o.Match.String() == "" {
		rep.table()
	}
	rep.summary(time.Since(start))
	if ctx.Err() != nil {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	if rep.differences > 0 || rep.mismatches > 0 || rep.holes > 0 {
		return ErrDifferent
	}
	return nil
}

// An environment is the processes of a run.
type environment struct {
	pairs   map[Profile]Pair
	mu      sync.Mutex
	closers []func() error
}

func (e *environment) onClose(f func() error) {
	e.mu.Lock()
	e.closers = append(e.closers, f)
	e.mu.Unlock()
}

// Close ends the processes, the last started first.
func (e *environment) Close() error {
	var errs []error
	for _, f := range slices.Backward(e.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func startEnvironment(ctx context.Context, o Options, profiles map[Profile]int) (*environment, error) {
	e := &environment{pairs: map[Profile]Pair{}}
	var binary string
	if o.Target == "daemon" {
		var err error
		var remove func() error
		if binary, remove, err = buildDaemon(ctx, o.Tags); err != nil {
			return nil, err
		}
		e.onClose(remove)
	}
	var wg sync.WaitGroup
	var errs []error
	for p, n := range profiles {
		wg.Go(func() {
			pair, err := e.start(ctx, o, p, n, binary)
			e.mu.Lock()
			defer e.mu.Unlock()
			errs = append(errs, err)
			e.pairs[p] = pair
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *environment) start(ctx context.Context, o Options, p Profile, sequences int, binary string) (Pair, error) {
	cluster, kafka, err := startKafka(ctx, p)
	if err != nil {
		return Pair{}, err
	}
	e.onClose(cluster.Close)
	copied := *kafka
	other := &copied
	again := func(ctx context.Context) error {
		// In order: after SIGKILL a lone broker may load its offsets up to an old high watermark and forget the rest.
		b := cluster.Brokers()[0]
		if err := b.Stop(ctx); err != nil {
			return err
		}
		if err := b.Start(ctx); err != nil {
			return err
		}
		return kafka.findCoordinator()
	}
	if o.Target == "daemon" {
		d, err := startDaemon(ctx, binary, p, kafka, o.DaemonLog)
		if err != nil {
			return Pair{}, err
		}
		e.onClose(d.Close)
		other = d.target
		kafkaToo := again
		again = func(ctx context.Context) error { return errors.Join(kafkaToo(ctx), d.restart(ctx)) }
	}
	if p == Restart {
		kafka.Restart = newRestart(ctx, 2*sequences, again)
		other.Restart = kafka.Restart
	}
	kafka.Side, other.Side = "a", "b"
	return Pair{A: kafka, B: other}, nil
}

// warm plays some groups that are not looked at against every target, so that the first sequences with timers do not
// meet a Java virtual machine that is still compiling.
func (e *environment) warm(ctx context.Context) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for _, pair := range e.pairs {
		for _, t := range []*Target{pair.A, pair.B} {
			wg.Go(func() {
				if err := warmTarget(ctx, t); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

func warmTarget(ctx context.Context, t *Target) error {
	quiet := *t
	quiet.Restart = nil // warming up is no play that a restart waits for
	for i := 0; i < 40 && ctx.Err() == nil; i++ {
		s := newScript(&quiet, fmt.Sprintf("%s-warm-%d", t.Side, i))
		steps, _ := s.play(func(s *Script) {
			g := s.Group("g", era(i%10))
			m := g.Member("m")
			m.Session = minSession
			c := s.Conn("c")
			g.CommitSimple(c, "orders", 0, 1).Answer()
			m.Enter().Answer()
			for range 20 {
				m.Heartbeat().Answer()
			}
			g.Fetch(c)
			g.Describe(c)
		})
		if last := steps[len(steps)-1]; last.Kind != "answer" {
			return fmt.Errorf("warming up %s: %s: %s", t.Name, last.Label, last.Kind)
		}
	}
	return nil
}
