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
	var heaps, residents spread
	for range steps {
		if _, err := load.Closed(ctx, d.Bootstrap, load.Commits("soak", "commits", commitConns, commitGroups, commitPartitions), 4, step); err != nil {
			return err
		}
		heap, resident, err := memory(ctx, s, d)
		if err != nil {
			return err
		}
		heaps, residents = append(heaps, float64(heap)/(1<<20)), append(residents, float64(resident)/(1<<20))
		e.say("soak: heap %.1f MiB, resident %.1f MiB", float64(heap)/(1<<20), float64(resident)/(1<<20))
	}
	grown := heaps[steps/2:].median() / heaps[:steps/2].median()
	resident := residents[steps/2:].median() / residents[:steps/2].median()
	e.table.add(row{fmt.Sprintf("live heap over %v of load, MiB", steps*step), heaps.String(), "", fmt.Sprintf("%.2f second half to first", grown), "<= 1.1", judge(grown <= 1.1)})
	e.table.add(row{"  resident, MiB", residents.String(), "", fmt.Sprintf("%.2f", resident), "<= 1.2", judge(resident <= 1.2)})
	return nil
}
