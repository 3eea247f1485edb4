package crash

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/internal/load"
)

const (
	topic      = "crash"
	partitions = 10
	window     = 8 // commits in flight on each connection
)

// ledger is what one group's client knows: the last offset that was acknowledged and the last one that was sent.
type ledger struct {
	group        string
	acked, sent  int64
	acknowledged int64 // how many commits were
}

// commitUntilCut commits growing offsets for the client's groups in turn until the connection breaks. It returns an error
// only for a refused commit: a broken connection is how it ends. Every acknowledged commit is counted in total.
func commitUntilCut(addr string, groups []*ledger, total *atomic.Int64) error {
	c, err := load.Dial(addr)
	if err != nil {
		return nil // the daemon may be dead already
	}
	defer c.Close()
	type flight struct {
		l      *ledger
		req    kmsg.Request
		offset int64
	}
	var flying []flight
	for i := 0; ; i++ {
		l := groups[i%len(groups)]
		l.sent++
		req := load.CommitRequest(l.group, topic, partitions, l.sent)
		if c.Send(req) != nil {
			return nil
		}
		flying = append(flying, flight{l, req, l.sent})
		if len(flying) < window {
			continue
		}
		f := flying[0]
		flying = flying[1:]
		resp, err := c.Receive(f.req)
		if err != nil {
			return nil // cut
		}
		if err := load.CheckCommit(resp); err != nil {
			return err
		}
		f.l.acked = f.offset
		f.l.acknowledged++
		total.Add(1)
	}
}

// verify reads every group back: each partition must hold an offset between the last acknowledged and the last sent, the
// same for all partitions of a group, as they were committed together.
func verify(addr string, groups []*ledger) error {
	c, err := load.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, l := range groups {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.SetVersion(5)
		req.Group = l.group
		resp, err := c.Request(req)
		if err != nil {
			return err
		}
		r := resp.(*kmsg.OffsetFetchResponse)
		if r.ErrorCode != 0 {
			return fmt.Errorf("group %s: error %d", l.group, r.ErrorCode)
		}
		if l.acked == 0 && len(r.Topics) == 0 {
			continue
		}
		if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != partitions {
			return fmt.Errorf("group %s lost partitions: %v", l.group, r.Topics)
		}
		for _, p := range r.Topics[0].Partitions {
			if p.Offset < l.acked || p.Offset > l.sent || p.Offset != r.Topics[0].Partitions[0].Offset {
				return fmt.Errorf("group %s partition %d holds %d: acknowledged %d, sent %d", l.group, p.Partition, p.Offset, l.acked, l.sent)
			}
		}
	}
	return nil
}

// spread gives each of n clients its share of the groups.
func spread(groups []*ledger, n int) [][]*ledger {
	shares := make([][]*ledger, n)
	for i, g := range groups {
		shares[i%n] = append(shares[i%n], g)
	}
	return shares
}

// all runs f for each share and collects the first error.
func all(shares [][]*ledger, f func([]*ledger) error) error {
	var wg sync.WaitGroup
	errs := make(chan error, len(shares))
	for _, s := range shares {
		wg.Go(func() { errs <- f(s) })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
