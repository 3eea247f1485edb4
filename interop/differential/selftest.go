package differential

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// A plant is a deviation that a build tag puts into the daemon, and the sequences that must notice it.
type plant struct {
	tag, what string
	sequences *regexp.Regexp
}

var plants = []plant{
	{"plant_hb_completing", "Heartbeat while completing answers 27", regexp.MustCompile(`^heartbeat/in every state/`)},
	{"plant_join_v3_79", "JoinGroup below v4 asks for a member id", regexp.MustCompile(`^join/(first member|null client id)/v[0-4]$`)},
	{"plant_follower_rejoin", "an unchanged follower's rejoin starts a rebalance", regexp.MustCompile(`^rejoin/follower unchanged`)},
	{"plant_fetch_missing_group", "OffsetFetch of a missing group answers 69", regexp.MustCompile(`^fetch/missing group/`)},
	{"plant_leave_member_code", "LeaveGroup puts a member's error at the top", regexp.MustCompile(`^leave/(refusals|batch)`)},
}

// SelfTest shows that the differential test can fail: it builds the daemon once as it is and once with each plant, and
// fails unless the first shows no difference and each of the others does.
func SelfTest(ctx context.Context, o Options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	known, err := readDivergences()
	if err != nil {
		return err
	}
	cluster, kafka, err := startKafka(ctx, Plain)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	all := Suite()
	var union []Sequence
	for _, s := range all {
		for _, p := range plants {
			if p.sequences.MatchString(s.Name) {
				union = append(union, s)
				break
			}
		}
	}
	clean, first, err := against(ctx, o, kafka, 0, "", union, known)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "no plant: %d sequences, %d of them with a difference%s\n", len(union), len(clean), first)
	failed := len(clean) > 0
	for i, p := range plants {
		var seqs []Sequence
		for _, s := range union {
			// What differs without the plant proves nothing.
			if p.sequences.MatchString(s.Name) && !clean[s.Name] {
				seqs = append(seqs, s)
			}
		}
		caught, first, err := against(ctx, o, kafka, i+1, p.tag, seqs, known)
		if err != nil {
			return fmt.Errorf("%s: %w", p.tag, err)
		}
		if len(caught) == 0 {
			failed = true
			fmt.Fprintf(o.Out, "%s (%s): NOT CAUGHT by %d sequences\n", p.tag, p.what, len(seqs))
			continue
		}
		fmt.Fprintf(o.Out, "%s (%s): caught by %d of %d sequences%s\n", p.tag, p.what, len(caught), len(seqs), first)
	}
	if failed {
		return errors.New("self-test failed")
	}
	return nil
}

// against plays sequences against Kafka and a daemon built with a tag, and names those that differ.
func against(ctx context.Context, o Options, kafka *Target, round int, tag string, seqs []Sequence, known map[string]bool) (different map[string]bool, first string, err error) {
	binary, remove, err := buildDaemon(ctx, tag)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, remove()) }()
	name := o.DaemonLog
	if name != "" {
		name = fmt.Sprintf("%s.%d", name, round)
	}
	d, err := startDaemon(ctx, binary, Plain, kafka, name)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	different = map[string]bool{}
	a, b := *kafka, *d.target
	a.Side, b.Side = fmt.Sprintf("a%d", round), fmt.Sprintf("b%d", round)
	Run(ctx, seqs, map[Profile]Pair{Plain: {A: &a, B: &b}}, o.Parallel, known, func(r Result) {
		if len(r.Differences) > 0 {
			different[r.Sequence.Name] = true
		}
		if first == "" && len(r.Differences) > 0 {
			df := r.Differences[0]
			first = fmt.Sprintf("; first %s, %s: kafka %s, ours %s", r.Sequence.Name, df.Step, df.A, df.B)
		}
		for _, m := range r.Mismatches {
			fmt.Fprintf(o.Out, "MISMATCH %s: Kafka: %s\n", r.Sequence.Name, m)
		}
	})
	if ctx.Err() != nil {
		return different, first, fmt.Errorf("stopped after %v: %w", o.Timeout.Round(time.Second), ctx.Err())
	}
	return different, first, nil
}
