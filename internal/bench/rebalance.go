package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

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
	round   int32
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

// rebalance lets all members join with a changed subscription and returns the time from the last JoinGroup until every
// member has its assignment of one and the same generation.
func (g *crowd) rebalance(ctx context.Context) (time.Duration, error) {
	g.round++
	for i, m := range g.members {
		m.Round = g.round
		if err := g.conns[i].Send(m.JoinRequest()); err != nil {
			return 0, err
		}
	}
	last := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stable := &rollCall{of: len(g.members), at: map[int32]int{}, done: make(chan struct{})}
	var wg sync.WaitGroup
	for i, m := range g.members {
		wg.Go(func() {
			if err := follow(ctx, g.conns[i], m, stable); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	return stable.when.Sub(last), nil
}

// rollCall waits for all members to be in one generation.
type rollCall struct {
	mu   sync.Mutex
	of   int
	at   map[int32]int
	when time.Time
	done chan struct{}
}

func (r *rollCall) present(generation int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at[generation]++; r.at[generation] == r.of {
		r.when = time.Now()
		close(r.done)
	}
}

// follow does what a client does whose first JoinGroup has been sent: it joins again when told to, syncs, and heartbeats
// until the whole group is there.
func follow(ctx context.Context, c *load.Conn, m *load.Member, all *rollCall) error {
	for {
		resp, err := c.Receive(m.JoinRequest())
		if err != nil {
			return err
		}
		again, err := m.Joined(resp)
		if err != nil {
			return err
		}
		if !again {
			if resp, err = c.Request(m.SyncRequest()); err != nil {
				return err
			}
			if err = m.Synced(resp); err == nil {
				all.present(m.Generation)
				err = heartbeatUntil(ctx, c, m, all.done)
			}
			if !errors.Is(err, kerr.RebalanceInProgress) {
				return err
			}
		}
		if err := c.Send(m.JoinRequest()); err != nil {
			return err
		}
	}
}

// heartbeatUntil returns nil once done is closed, or the error of a heartbeat.
func heartbeatUntil(ctx context.Context, c *load.Conn, m *load.Member, done <-chan struct{}) error {
	pace := time.NewTicker(50 * time.Millisecond)
	defer pace.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-pace.C:
		}
		resp, err := c.Request(m.HeartbeatRequest())
		if err != nil {
			return err
		}
		if err := load.CheckHeartbeat(resp); err != nil {
			return err
		}
	}
}
