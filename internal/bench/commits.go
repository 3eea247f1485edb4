package main

import (
	"context"
	"fmt"
	"time"

	"github.com/coordinatord/coordinatord/internal/load"
)

// The shape of the commit load (the same on both sides).
const (
	commitConns      = 16
	commitGroups     = 64
	commitPartitions = 10
)

// commits compares OffsetCommit at 1 and 16 requests in flight on each connection, bbolt and raft-wal and Kafka in turn.
func commits(ctx context.Context, e *env) error {
	if err := e.topic(ctx, "commits", commitPartitions); err != nil {
		return err
	}
	sides := []struct {
		name string
		addr string
	}{{"kafka", e.kafka}, {"bbolt", ""}, {"wal", ""}}
	for i, logStore := range []string{"bbolt", "wal"} {
		d, err := e.daemon(ctx, "--raft-log-store", logStore)
		if err != nil {
			return err
		}
		defer d.Kill()
		sides[i+1].addr = d.Bootstrap
	}
	commitLoad := func(side, addr string, inFlight int, d time.Duration) (load.Result, error) {
		sources := load.Commits("bench-"+side, "commits", commitConns, commitGroups, commitPartitions)
		res, err := load.Closed(ctx, addr, sources, inFlight, d)
		if err != nil {
			return res, fmt.Errorf("%s with %d in flight: %w", side, inFlight, err)
		}
		return res, nil
	}
	for _, s := range sides { // Kafka's compiler needs the longest
		warm := e.seconds(15)
		if s.name != "kafka" {
			warm = e.seconds(3)
		}
		if _, err := commitLoad(s.name, s.addr, 16, warm); err != nil {
			return err
		}
	}
	for _, inFlight := range []int{1, 16} {
		rate, p50, p99 := map[string]spread{}, map[string]spread{}, map[string]spread{}
		for range e.rounds(5) {
			for _, s := range sides {
				res, err := commitLoad(s.name, s.addr, inFlight, e.seconds(4))
				if err != nil {
					return err
				}
				rate[s.name] = append(rate[s.name], res.PerSecond())
				p50[s.name] = append(p50[s.name], ms(res.Latency.Quantile(0.5)))
				p99[s.name] = append(p99[s.name], ms(res.Latency.Quantile(0.99)))
				e.say("commits %s in flight %d: %.0f/s p50 %v p99 %v", s.name, inFlight, res.PerSecond(), res.Latency.Quantile(0.5), res.Latency.Quantile(0.99))
			}
		}
		goal := 3.0
		if inFlight == 16 {
			goal = 5
		}
		for _, s := range []string{"bbolt", "wal"} {
			ratio := rate[s].over(rate["kafka"])
			v := judge(ratio.median() >= goal)
			target := fmt.Sprintf(">= %v x", goal)
			if inFlight == 1 && e.fdatasync > 300*time.Microsecond {
				target += " where fdatasync <= 0.3 ms"
				if v == fails {
					v = informs
				}
			}
			e.table.add(row{fmt.Sprintf("OffsetCommit/s, %s, %d in flight", s, inFlight), fmt.Sprintf("%.0f", rate[s].median()), fmt.Sprintf("%.0f", rate["kafka"].median()), ratio.String(), target, v})
			late := p99[s].over(p99["kafka"])
			e.table.add(row{fmt.Sprintf("  p99 ms (p50 %.2f / %.2f)", p50[s].median(), p50["kafka"].median()), fmt.Sprintf("%.2f", p99[s].median()), fmt.Sprintf("%.2f", p99["kafka"].median()), late.String(), "<= 1 x", judge(late.median() <= 1)})
		}
	}
	e.table.note("OffsetCommit: %d connections, %d groups, %d partitions a request, closed loop. Kafka acknowledges from the page cache of one broker; the daemon after fdatasync.", commitConns, commitGroups, commitPartitions)
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
