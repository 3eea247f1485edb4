package main

import (
	"context"
	"fmt"
	"time"

	"github.com/coordinatord/coordinatord/internal/load"
)

// soak watches memory over ten minutes of commit load: what the second half adds to the first is growth.
func soak(ctx context.Context, e *env) error {
	if err := e.topic(ctx, "commits", commitPartitions); err != nil {
		return err
	}
	s, err := e.server("--pprof")
	if err != nil {
		return err
	}
	d, err := s.Start(ctx)
	if err != nil {
		return err
	}
	defer d.Kill()
	const steps = 10
	step := time.Minute
	if e.quick {
		step = time.Second
	}
	var heaps, owns, residents spread
	for range steps {
		if _, err := load.Closed(ctx, d.Bootstrap, load.Commits("soak", "commits", commitConns, commitGroups, commitPartitions), 4, step); err != nil {
			return err
		}
		f, err := memory(ctx, s, d)
		if err != nil {
			return err
		}
		heaps, owns, residents = append(heaps, mib(f.heap)), append(owns, mib(f.own)), append(residents, mib(f.resident))
		e.say("soak: live heap %.1f MiB, own memory %.1f MiB, resident %.1f MiB", mib(f.heap), mib(f.own), mib(f.resident))
	}
	grown := func(s spread) float64 { return s[steps/2:].median() - s[:steps/2].median() }
	e.table.add(row{fmt.Sprintf("live heap over %v of load, MiB", steps*step), heaps.String(), "", fmt.Sprintf("second half %+.1f", grown(heaps)), "<= + 4", judge(grown(heaps) <= 4)})
	e.table.add(row{"  own memory, MiB", owns.String(), "", fmt.Sprintf("second half %+.1f", grown(owns)), "<= + 16", judge(grown(owns) <= 16)})
	e.table.add(row{what: "  resident with the mapped log, MiB", ours: residents.String()})
	e.table.note("the mapped log is page cache: it grows with the log until the next snapshot cuts it, and is given back under pressure.")
	return nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
