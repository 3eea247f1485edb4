// Command interop runs clients in several languages through the same scenario
// directly on Apache Kafka and through the daemon, and prints where they
// differ. It exits 1 when they do, 2 when it could not be run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coordinatord/coordinatord/internal/proc"
	"github.com/coordinatord/coordinatord/internal/realkafka"

	"github.com/coordinatord/coordinatord/interop/suite"
)

// options are the flags.
type options struct {
	quick    bool
	direct   bool
	control  bool
	clients  string
	kinds    string
	tools    bool
	parallel int
	brokers  int
	binary   string
	logs     string
}

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", os.Getenv("INTEROP") == "quick", "one broker, one scenario for each client, no control; default with INTEROP=quick")
	flag.BoolVar(&o.direct, "direct", false, "only the control: directly on Kafka, without a daemon")
	flag.BoolVar(&o.control, "control", true, "run the control too (not with --quick, unless it is given)")
	flag.StringVar(&o.clients, "clients", ".", "a regular expression of the clients to run")
	flag.StringVar(&o.kinds, "scenarios", "", "the scenarios to run, of dynamic,static; default both, with --quick dynamic")
	flag.BoolVar(&o.tools, "tools", true, "compare Kafka's command line tools too")
	flag.IntVar(&o.parallel, "parallel", 3, "how many scenarios run at once; more than two cores can start in time make members late")
	flag.IntVar(&o.brokers, "brokers", 0, "how many brokers are behind the daemons; default 3, with --quick 1")
	flag.StringVar(&o.binary, "binary", "", "the daemon to run; built from the source by default")
	flag.StringVar(&o.logs, "logs", "", "where logs go; default a temporary directory, kept when something fails")
	flag.Parse()
	if o.quick {
		given := false
		flag.Visit(func(f *flag.Flag) { given = given || f.Name == "control" })
		o.control = o.control && given
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	bad, err := run(ctx, o)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(2)
	case bad > 0:
		fmt.Fprintf(os.Stdout, "%d differences that docs/divergences.md does not explain\n", bad)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, "no unexplained difference")
}

// A job is one scenario of one client on one kind of target.
type job struct {
	client *suite.Client
	kind   suite.Kind
	direct bool
	pair   *suite.Pair
}

func run(ctx context.Context, o options) (bad int, err error) {
	wanted, err := regexp.Compile(o.clients)
	if err != nil {
		return 0, err
	}
	clients := suite.Clients()
	if !o.quick {
		clients = append(clients, suite.Variants()...)
	}
	clients = slices.DeleteFunc(clients, func(c *suite.Client) bool { return !wanted.MatchString(c.Name) })
	begin := time.Now()
	if _, err := realkafka.Install(ctx); err != nil {
		return 0, err
	}
	if err := suite.Install(ctx, clients); err != nil {
		return 0, err
	}
	fmt.Fprintf(os.Stdout, "installed %d clients in %.0f s\n", len(clients), time.Since(begin).Seconds())

	if o.logs == "" {
		if o.logs, err = os.MkdirTemp("", "interop-"); err != nil {
			return 0, err
		}
		defer func() {
			if bad == 0 && err == nil {
				_ = os.RemoveAll(o.logs)
			} else {
				fmt.Fprintln(os.Stdout, "logs are in", o.logs)
			}
		}()
	}
	r := &runner{options: o}
	if err := r.prepare(ctx); err != nil {
		return 0, errors.Join(err, r.close())
	}
	pairs, err := r.play(ctx, jobs(clients, o))
	var cases []suite.ToolCase
	if err == nil && o.tools && !o.direct {
		cases, err = r.compareTools(ctx)
	}
	if err := errors.Join(err, r.close()); err != nil {
		return 0, err
	}
	root, err := realkafka.RepoDir()
	if err != nil {
		return 0, err
	}
	explained, err := suite.Explained(filepath.Join(root, "docs", "divergences.md"))
	if err != nil {
		return 0, err
	}
	fmt.Fprintln(os.Stdout)
	bad, err = suite.Matrix(os.Stdout, pairs, explained)
	bad += suite.ToolTable(os.Stdout, cases, explained)
	fmt.Fprintf(os.Stdout, "%.0f s\n", time.Since(begin).Seconds())
	return bad, err
}

// jobs are the scenarios to run, the controls next to what they control.
func jobs(clients []*suite.Client, o options) []*job {
	kinds := o.kinds
	if kinds == "" {
		kinds = "dynamic,static"
		if o.quick {
			kinds = "dynamic"
		}
	}
	var out []*job
	for kind := range strings.SplitSeq(kinds, ",") {
		for _, c := range clients {
			if suite.Kind(kind) == suite.Static && !c.Static {
				continue
			}
			pair := &suite.Pair{}
			if !o.direct {
				out = append(out, &job{c, suite.Kind(kind), false, pair})
			}
			if o.direct || o.control {
				out = append(out, &job{c, suite.Kind(kind), true, pair})
			}
		}
	}
	return out
}

type runner struct {
	options
	cluster *realkafka.Cluster // Behind the daemons.
}

// prepare builds the daemon and starts the Kafka behind it.
func (r *runner) prepare(ctx context.Context) error {
	if r.direct {
		return nil
	}
	var err error
	if r.binary == "" {
		if r.binary, err = proc.Build(ctx, r.logs); err != nil {
			return err
		}
	}
	if r.brokers == 0 {
		r.brokers = 3
		if r.quick {
			r.brokers = 1
		}
	}
	r.cluster, err = realkafka.Start(ctx, realkafka.Options{Brokers: r.brokers, Heap: "768m"})
	return err
}

func (r *runner) close() error {
	if r.cluster == nil {
		return nil
	}
	return r.cluster.Close()
}

// play runs jobs, several at once.
func (r *runner) play(ctx context.Context, all []*job) ([]suite.Pair, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan *job)
	errs := make([]error, r.parallel)
	var wg sync.WaitGroup
	for i := range r.parallel {
		wg.Go(func() {
			for j := range queue {
				if err := r.one(ctx, j); err != nil && errs[i] == nil {
					errs[i] = fmt.Errorf("%s %s: %w", j.client.Name, j.kind, err)
					cancel()
				}
			}
		})
	}
	for _, j := range all {
		queue <- j
	}
	close(queue)
	wg.Wait()
	var pairs []suite.Pair
	seen := map[*suite.Pair]bool{}
	for _, j := range all {
		if !seen[j.pair] && (j.pair.Daemon != nil || j.pair.Direct != nil) {
			seen[j.pair] = true
			pairs = append(pairs, *j.pair)
		}
	}
	return pairs, errors.Join(errs...)
}

// controlTries is how often a control is played: one that fails, because its only broker was killed and back too late for
// the client, says nothing about the daemon and spoils the comparison. What runs through the daemon is played once.
const controlTries = 3

// one runs one job.
func (r *runner) one(ctx context.Context, j *job) error {
	if !j.direct {
		result, err := r.play1(ctx, j, "daemon")
		j.pair.Daemon = result
		return err
	}
	for try := 1; ; try++ {
		name := "direct"
		if try > 1 {
			name = fmt.Sprintf("direct-%d", try)
		}
		result, err := r.play1(ctx, j, name)
		j.pair.Direct = result
		if err != nil || try == controlTries || !result.Failed() {
			return err
		}
	}
}

// play1 plays a job's scenario once, on a target of its own.
func (r *runner) play1(ctx context.Context, j *job, name string) (result *suite.Result, err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	dir := suite.Logs(r.logs, j.client, j.kind, name)
	var target suite.Target
	if j.direct {
		target, err = suite.StartDirect(ctx, "512m")
	} else {
		target, err = suite.StartDaemon(ctx, r.binary, dir, r.cluster)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if result, err = suite.Run(ctx, j.client, target, j.kind, dir); err == nil {
		fmt.Fprintln(os.Stdout, result.Summary(name))
	}
	return result, err
}

// compareTools compares Kafka's command line tools on a Kafka of their own, so that
// both sides list the same.
func (r *runner) compareTools(ctx context.Context) (cases []suite.ToolCase, err error) {
	begin := time.Now()
	clients := slices.DeleteFunc(suite.Clients(), func(c *suite.Client) bool { return c.Name != "franz-go" })
	if err := suite.Install(ctx, clients); err != nil {
		return nil, err
	}
	cluster, err := realkafka.Start(ctx, realkafka.Options{Heap: "512m"})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	dir := filepath.Join(r.logs, "tools")
	daemon, err := suite.StartDaemon(ctx, r.binary, filepath.Join(dir, "daemon"), cluster)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, daemon.Close()) }()
	cases, err = suite.CompareTools(ctx, suite.Beside(cluster), daemon, clients[0], dir)
	if err == nil {
		same := 0
		for _, c := range cases {
			if c.Same() {
				same++
			}
		}
		fmt.Fprintf(os.Stdout, "%-24s %-8s %-7s %4.0f s  %d of %d calls the same\n", "tools", "", "both", time.Since(begin).Seconds(), same, len(cases))
	}
	return cases, err
}
