package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/coordinatord/coordinatord/internal/load"
)

// manyMembers measures what 10,000 members in 100 groups cost that heartbeat every three seconds.
func manyMembers(ctx context.Context, e *env) error {
	const groups, perGroup = 100, 100
	interval := 3 * time.Second
	d, err := e.daemon(ctx)
	if err != nil {
		return err
	}
	defer d.Kill()
	beats := make([]kmsg.Request, 0, groups*perGroup)
	for g := range groups {
		c, err := newCrowd(d.Bootstrap, fmt.Sprintf("many-%d", g), perGroup)
		if err != nil {
			return err
		}
		if _, err := c.rebalance(ctx); err != nil {
			return err
		}
		for _, m := range c.members {
			beats = append(beats, m.HeartbeatRequest())
		}
		c.close()
	}
	const conns = 50
	ctx, cancel := context.WithTimeout(ctx, e.seconds(20))
	defer cancel()
	before, err := d.CPU()
	if err != nil {
		return err
	}
	begin := time.Now()
	var work errgroup.Group
	for i := range conns {
		mine := beats[i*len(beats)/conns : (i+1)*len(beats)/conns]
		work.Go(func() error { return beat(ctx, d.Bootstrap, mine, interval) })
	}
	if err := work.Wait(); err != nil {
		return err
	}
	after, err := d.CPU()
	if err != nil {
		return err
	}
	cores := (after - before).Seconds() / time.Since(begin).Seconds()
	e.table.add(row{what: "10,000 members in 100 groups, cores used", ours: fmt.Sprintf("%.2f", cores), target: "< 1", holds: judge(cores < 1)})
	return nil
}

// beat sends every heartbeat once in each interval, evenly spread, and demands success.
func beat(ctx context.Context, addr string, beats []kmsg.Request, interval time.Duration) error {
	c, err := load.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	pace := rate.NewLimiter(rate.Every(interval/time.Duration(len(beats))), 1)
	for i := 0; ; i++ {
		if err := pace.Wait(ctx); err != nil {
			return nil // the run is over
		}
		resp, err := c.Request(beats[i%len(beats)])
		if err != nil {
			return err
		}
		if err := load.CheckHeartbeat(resp); err != nil {
			return err
		}
	}
}
