package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coordinatord/coordinatord/internal/load"
)

// rebalance compares how long a group needs from its last member's JoinGroup until every member has its assignment.
func rebalance(ctx context.Context, e *env) error {
	d, err := e.daemon(ctx)
	if err != nil {
		return err
	}
	defer d.Kill()
	for _, n := range []int{100, 1000} {
		took := map[string]spread{}
		for side, addr := range map[string]string{"kafka": e.kafka, "ours": d.Bootstrap} {
			g, err := newCrowd(addr, fmt.Sprintf("rebalance-%d", n), n)
			if err != nil {
				return fmt.Errorf("%s, %d members: %w", side, n, err)
			}
			for round := range e.rounds(9) + 2 {
				t, err := g.rebalance(ctx)
				if err != nil {
					return fmt.Errorf("%s, %d members: %w", side, n, err)
				}
				if round >= 2 { // the first two form the group and warm up
					took[side] = append(took[side], ms(t))
				}
			}
			g.close()
			e.say("rebalance of %d members, %s: %v ms", n, side, took[side])
		}
		ratio := took["ours"].median() / took["kafka"].median()
		e.table.add(row{fmt.Sprintf("%d members, last join to stable, ms", n), took["ours"].String(), took["kafka"].String(), fmt.Sprintf("%.2f", ratio), "<= 1 x", judge(ratio <= 1)})
	}
	return nil
}

// crowd is a group whose members have a connection each.
type crowd struct {
	members []*load.Member
	conns   []*load.Conn
}

func newCrowd(addr, group string, n int) (*crowd, error) {
	g := &crowd{}
	for range n {
		c, err := load.Dial(addr)
		if err != nil {
			g.close()
			return nil, err
		}
		g.conns = append(g.conns, c)
		g.members = append(g.members, &load.Member{Group: group})
	}
	// The ids first, so that a round is one JoinGroup and one SyncGroup for each member.
	for i, m := range g.members {
		resp, err := g.conns[i].Request(m.JoinRequest())
		if err != nil {
			g.close()
			return nil, err
		}
		if again, err := m.Joined(resp); err != nil || !again {
			g.close()
			return nil, errors.Join(err, errors.New("the first join was not answered with a member id alone"))
		}
	}
	return g, nil
}

func (g *crowd) close() {
	for _, c := range g.conns {
		_ = c.Close()
	}
}

// rebalance lets all members join and sync and returns the time from the last JoinGroup until the last answer.
func (g *crowd) rebalance(context.Context) (time.Duration, error) {
	joins := make([]error, len(g.members))
	for i, m := range g.members {
		joins[i] = g.conns[i].Send(m.JoinRequest())
	}
	if err := errors.Join(joins...); err != nil {
		return 0, err
	}
	last := time.Now()
	errs := make([]error, len(g.members))
	var wg sync.WaitGroup
	for i, m := range g.members {
		wg.Go(func() {
			c := g.conns[i]
			for again := true; again; {
				resp, err := c.Receive(m.JoinRequest())
				if err != nil {
					errs[i] = err
					return
				}
				if again, errs[i] = m.Joined(resp); errs[i] != nil {
					return
				}
				if again {
					errs[i] = c.Send(m.JoinRequest())
				}
			}
			resp, err := c.Request(m.SyncRequest())
			if err != nil {
				errs[i] = err
				return
			}
			errs[i] = m.Synced(resp)
		})
	}
	wg.Wait()
	return time.Since(last), errors.Join(errs...)
}
