package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coordinatord/coordinatord/internal/realkafka"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	flightsTopic = "flights"
	// flightsTimeout bounds every wait of the run.
	flightsTimeout = 10 * time.Minute
	// membersEach is how many members a group has.
	membersEach = 2
)

// flightsRun is the run of the flights: one topic, one producer, a group of
// each client.
type flightsRun struct {
	report  io.Writer
	cluster *realkafka.Cluster
	daemon  *Daemon
	admin   *admin
	groups  []*scenario
	ends    map[int32]int64 // Records produced by partition.
}

// RunFlights produces all flights through the daemon to a topic of six
// partitions on three brokers, while a group of each client reads them. The
// daemon is killed once and a broker is killed once, both in the middle of
// producing. It writes what every group saw to report. The error says what
// fell short.
func RunFlights(ctx context.Context, bin, dir string, clients []*Client, report io.Writer) (err error) {
	flights, err := Flights(ctx)
	if err != nil {
		return err
	}
	r := &flightsRun{report: report, ends: map[int32]int64{}}
	if r.cluster, err = realkafka.Start(ctx, realkafka.Options{Brokers: 3, Heap: "768m"}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.cluster.Close()) }()
	if r.daemon, err = StartDaemon(ctx, bin, filepath.Join(dir, "daemon"), r.cluster); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.daemon.Close()) }()
	if r.admin, err = newAdmin(r.daemon); err != nil {
		return err
	}
	defer r.admin.close()
	ctx, cancel := context.WithTimeout(ctx, flightsTimeout)
	defer cancel()
	if err := r.admin.create(ctx, flightsTopic); err != nil {
		return err
	}
	r.say("three brokers and the daemon are up; %d flights to go", len(flights))
	defer func() {
		for _, g := range r.groups {
			for _, m := range g.members {
				m.kill()
			}
		}
	}()
	if err := r.join(clients, dir); err != nil {
		return err
	}
	if err := r.produce(ctx, flights); err != nil {
		return err
	}
	if err := r.drain(ctx); err != nil {
		return err
	}
	return r.judge(ctx, flights)
}

func (r *flightsRun) say(format string, args ...any) {
	fmt.Fprintf(r.report, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}

// join starts the groups.
func (r *flightsRun) join(clients []*Client, dir string) error {
	for _, c := range clients {
		g := &scenario{
			client: c, target: r.daemon, kind: Dynamic, dir: filepath.Join(dir, c.Name), topic: flightsTopic,
			group: "flights-" + c.Name, journal: newJournal(), admin: r.admin, members: map[string]*process{},
		}
		if err := os.MkdirAll(g.dir, 0o755); err != nil {
			return err
		}
		r.groups = append(r.groups, g)
		for i := range membersEach {
			if err := g.start(fmt.Sprintf("%s-%d", c.Name, i+1)); err != nil {
				return err
			}
		}
	}
	return nil
}

// produce produces all flights through the daemon. At a third of them the
// daemon is killed and started again, at two thirds a broker, both while
// producing goes on.
func (r *flightsRun) produce(ctx context.Context, flights []Flight) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(r.daemon.Bootstrap()), kgo.ClientID("flights"), kgo.DefaultProduceTopic(flightsTopic),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.UnknownTopicRetries(-1), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	var (
		mu     sync.Mutex
		failed error
		kills  sync.WaitGroup
	)
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if failed == nil {
			failed = err
		}
	}
	kill := func(what string, f func() error) {
		// All must have begun, or nothing is in the middle.
		if err := r.reading(ctx); err != nil {
			fail(err)
			return
		}
		kills.Go(func() {
			begin := time.Now()
			if err := f(); err != nil {
				fail(fmt.Errorf("%s: %w", what, err))
				return
			}
			r.say("%s was killed and is back after %.1f s", what, time.Since(begin).Seconds())
		})
	}
	for i, f := range flights {
		switch i {
		case len(flights) / 3:
			kill("the daemon", func() error { return r.daemon.Crash(ctx) })
		case 2 * len(flights) / 3:
			kills.Wait() // One thing at a time.
			kill("broker 2", func() error {
				b := r.cluster.Broker(2)
				b.Kill()
				return b.Start(ctx)
			})
		}
		client.Produce(ctx, &kgo.Record{Key: f.Key, Value: f.Value}, func(rec *kgo.Record, err error) {
			if err != nil {
				fail(fmt.Errorf("produce: %w", err))
				return
			}
			mu.Lock()
			r.ends[rec.Partition]++
			mu.Unlock()
		})
	}
	err = client.Flush(ctx)
	kills.Wait()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	r.say("all flights are produced: %v", r.ends)
	return nil
}

// reading waits until every group has read something.
func (r *flightsRun) reading(ctx context.Context) error {
	for _, g := range r.groups {
		err := g.journal.wait(ctx, 0, func(entries []entry) error {
			if slices.ContainsFunc(entries, func(e entry) bool { return e.line.Event == "record" }) {
				return nil
			}
			return errors.Join(g.alive(), fmt.Errorf("%s reads nothing", g.group))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// drain waits until every group has committed everything, and ends it.
func (r *flightsRun) drain(ctx context.Context) error {
	for _, g := range r.groups {
		err := retry(ctx, func(ctx context.Context) error {
			return errors.Join(g.alive(), r.admin.atEnd(ctx, g.group, flightsTopic, r.ends))
		})
		if err != nil {
			return fmt.Errorf("%s: %w", g.group, err)
		}
		r.say("%s has committed everything", g.group)
	}
	for _, g := range r.groups {
		var names []string
		for name := range g.members {
			names = append(names, name)
		}
		if err := g.stop(ctx, names...); err != nil {
			return err
		}
	}
	return nil
}

// judge says of every group what it saw, and what kafka-consumer-groups says
// of it.
func (r *flightsRun) judge(ctx context.Context, flights []Flight) error {
	var short []error
	for _, g := range r.groups {
		v := g.journal.judge(r.ends, g.closed*g.client.Drops, g.client.Stale)
		distinct, keyless := g.journal.distinct()
		end, lag, err := r.describe(ctx, g.group)
		r.say("%-24s %d records read, %d distinct, %d of them without a key; log end %d, lag %d", g.group, v.Records, distinct, keyless, end, lag)
		switch {
		case err != nil:
			short = append(short, err)
		case len(v.Faults) > 0:
			short = append(short, fmt.Errorf("%s: %s", g.group, strings.Join(v.Faults, "; ")))
		case distinct != len(flights) || keyless != FlightsKeyless:
			short = append(short, fmt.Errorf("%s saw %d distinct records, %d without a key; want %d and %d", g.group, distinct, keyless, len(flights), FlightsKeyless))
		case end != int64(len(flights)) || lag != 0:
			short = append(short, fmt.Errorf("%s: kafka-consumer-groups shows the log end %d and the lag %d; want %d and 0", g.group, end, lag, len(flights)))
		}
	}
	return errors.Join(short...)
}

// describe sums up the log ends and lags that kafka-consumer-groups shows.
func (r *flightsRun) describe(ctx context.Context, group string) (end, lag int64, err error) {
	out, err := realkafka.Tool(ctx, "kafka-consumer-groups", "--bootstrap-server", r.daemon.Bootstrap(), "--describe", "--group", group)
	if err != nil {
		return 0, 0, err
	}
	rows := 0
	for line := range strings.Lines(out) {
		// GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG …
		f := strings.Fields(line)
		if len(f) < 6 || f[0] != group || f[1] != flightsTopic {
			continue
		}
		e, err1 := strconv.ParseInt(f[4], 10, 64)
		l, err2 := strconv.ParseInt(f[5], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return 0, 0, fmt.Errorf("kafka-consumer-groups prints %q: %w", line, err)
		}
		rows, end, lag = rows+1, end+e, lag+l
	}
	if rows != Partitions {
		return 0, 0, fmt.Errorf("kafka-consumer-groups shows %d partitions of %s: %s", rows, group, out)
	}
	return end, lag, nil
}

// distinct counts the different records that were printed, and those of them
// that have no key.
func (j *journal) distinct() (records, keyless int) {
	entries, _ := j.since(0)
	seen := map[int32]map[int64]bool{}
	for _, e := range entries {
		if e.line.Event != "record" {
			continue
		}
		p, o := e.line.Partition, e.line.Offset
		if seen[p] == nil {
			seen[p] = map[int64]bool{}
		}
		if !seen[p][o] {
			seen[p][o] = true
			records++
			if e.line.Key == nil {
				keyless++
			}
		}
	}
	return records, keyless
}
