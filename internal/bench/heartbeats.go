package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/internal/load"
)

// The shape of the heartbeat load.
const (
	heartbeatConns    = 16
	heartbeatGroups   = 256
	heartbeatInFlight = 4
)

// heartbeats compares Heartbeat on groups of one member each.
func heartbeats(ctx context.Context, e *env) error {
	d, err := e.daemon(ctx)
	if err != nil {
		return err
	}
	defer d.Kill()
	sides := map[string]string{"kafka": e.kafka, "ours": d.Bootstrap}
	sources := map[string][]load.Source{}
	for side, addr := range sides {
		if sources[side], err = heartbeatSources(addr); err != nil {
			return fmt.Errorf("%s: %w", side, err)
		}
	}
	rate, p99 := map[string]spread{}, map[string]spread{}
	for round := range e.rounds(5) + 1 {
		for side, addr := range sides {
			took := e.seconds(4)
			if round == 0 {
				took = e.seconds(10) // warm up
			}
			res, err := load.Closed(ctx, addr, sources[side], heartbeatInFlight, took)
			if err != nil {
				return fmt.Errorf("%s: %w", side, err)
			}
			e.say("heartbeats %s: %.0f/s p99 %v", side, res.PerSecond(), res.Latency.Quantile(0.99))
			if round > 0 {
				rate[side] = append(rate[side], res.PerSecond())
				p99[side] = append(p99[side], ms(res.Latency.Quantile(0.99)))
			}
		}
	}
	ratio := rate["ours"].over(rate["kafka"])
	e.table.add(row{fmt.Sprintf("Heartbeat/s, %d connections, %d in flight", heartbeatConns, heartbeatInFlight), fmt.Sprintf("%.0f", rate["ours"].median()), fmt.Sprintf("%.0f", rate["kafka"].median()), ratio.String(), ">= 3 x", judge(ratio.median() >= 3)})
	e.table.add(row{what: "  p99 ms", ours: fmt.Sprintf("%.2f", p99["ours"].median()), theirs: fmt.Sprintf("%.2f", p99["kafka"].median()), ratio: p99["ours"].over(p99["kafka"]).String()})
	return nil
}

func heartbeatSources(addr string) ([]load.Source, error) {
	c, err := load.Dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	reqs := make([][]kmsg.Request, heartbeatConns)
	for g := range heartbeatGroups {
		m := &load.Member{Group: fmt.Sprintf("heartbeat-%d", g)}
		if err := m.JoinAlone(c); err != nil {
			return nil, err
		}
		reqs[g%heartbeatConns] = append(reqs[g%heartbeatConns], m.HeartbeatRequest())
	}
	sources := make([]load.Source, heartbeatConns)
	for i := range sources {
		sources[i] = load.NewPatched(reqs[i], 0, load.CheckHeartbeat)
	}
	return sources, nil
}
