// Command bench measures the daemon beside a real Apache Kafka, both in one run, and prints one table: what was measured,
// both figures, their ratio with its spread, and whether the target holds. Kafka acknowledges a commit from the memory of its replicas; the daemon has it on disk.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	only := flag.String("only", ".", "run the measurements whose name matches this regular expression")
	quick := flag.Bool("quick", false, "short runs, to try the benchmark itself: the figures mean nothing")
	out := flag.String("out", "", "also write the table to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	held, err := run(ctx, *only, *quick, *out)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	case !held:
		os.Exit(3)
	}
}

// measurement is one named part of the benchmark; it adds rows to the table.
type measurement struct {
	name string
	run  func(ctx context.Context, e *env) error
}

var measurements = []measurement{
	{"disk", disk},
	{"commits", commits},
	{"heartbeats", heartbeats},
	{"rebalance", rebalance},
	{"members", manyMembers},
	{"gateway", gateway},
	{"restart", restart},
	{"soak", soak},
}

func run(ctx context.Context, only string, quick bool, out string) (held bool, err error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	e, err := newEnv(ctx, quick)
	if err != nil {
		return false, err
	}
	defer e.close()
	for _, m := range measurements {
		if !match.MatchString(m.name) {
			continue
		}
		begin := time.Now()
		e.say("%s …", m.name)
		if err := m.run(ctx, e); err != nil {
			return false, fmt.Errorf("%s: %w", m.name, err)
		}
		e.say("%s took %v", m.name, time.Since(begin).Round(time.Second))
	}
	text := e.table.String()
	fmt.Print(text)
	if out != "" {
		if err := os.WriteFile(out, []byte(text), 0o644); err != nil {
			return false, err
		}
	}
	return e.table.held(), nil
}
