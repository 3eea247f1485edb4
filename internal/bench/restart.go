package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/internal/load"
	"github.com/coordinatord/coordinatord/internal/proc"
)

// The state of the restart measurement: a million offsets.
const (
	restartGroups     = 10_000
	restartPartitions = 100
	restartTopic      = "restart"
)

// restart measures memory for each offset and the time from kill -9 to ready with a million of them.
func restart(ctx context.Context, e *env) error {
	if err := e.topic(ctx, restartTopic, restartPartitions); err != nil {
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
	defer func() { d.Kill() }()
	empty, err := memory(ctx, s, d)
	if err != nil {
		return err
	}
	groups := restartGroups
	if e.quick {
		groups /= 100
	}
	if err := fill(ctx, d.Bootstrap, groups); err != nil {
		return err
	}
	offsets := float64(groups * restartPartitions)
	var took spread
	for range e.rounds(5) {
		d.Kill()
		if d, err = s.Start(ctx); err != nil {
			return err
		}
		took = append(took, ms(d.Took))
		if err := spotCheck(d.Bootstrap, groups); err != nil {
			return err
		}
	}
	full, err := memory(ctx, s, d)
	if err != nil {
		return err
	}
	perHeap, perResident := float64(full.heap-empty.heap)/offsets, float64(full.resident-empty.resident)/offsets
	e.table.add(row{what: fmt.Sprintf("kill -9 to ready with %.0f offsets, ms", offsets), ours: took.String(), target: "< 1000", holds: judge(took.median() < 1000)})
	e.table.add(row{what: "live heap, bytes an offset", ours: fmt.Sprintf("%.1f", perHeap), target: "<= 48", holds: judge(perHeap <= 48)})
	e.table.add(row{what: "resident memory, bytes an offset", ours: fmt.Sprintf("%.1f", perResident), target: "<= 160", holds: judge(perResident <= 160)})
	return nil
}

func restartGroup(g int) string { return fmt.Sprintf("restart-%05d", g) }

func restartOffset(g int) int64 { return int64(g)*7 + 1 }

// fill commits once for every group over a few connections.
func fill(_ context.Context, addr string, groups int) error {
	const conns, window = 8, 64
	errs := make(chan error, conns)
	for c := range conns {
		go func() {
			errs <- func() error {
				conn, err := load.Dial(addr)
				if err != nil {
					return err
				}
				defer conn.Close()
				var waiting []kmsg.Request
				receive := func() error {
					resp, err := conn.Receive(waiting[0])
					if err != nil {
						return err
					}
					waiting = waiting[1:]
					return load.CheckCommit(resp)
				}
				for g := c; g < groups; g += conns {
					req := load.CommitRequest(restartGroup(g), restartTopic, restartPartitions, restartOffset(g))
					if err := conn.Send(req); err != nil {
						return err
					}
					waiting = append(waiting, req)
					if len(waiting) == window {
						if err := receive(); err != nil {
							return err
						}
					}
				}
				for len(waiting) > 0 {
					if err := receive(); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	var err error
	for range conns {
		err = errors.Join(err, <-errs)
	}
	return err
}

// spotCheck reads some groups back.
func spotCheck(addr string, groups int) error {
	c, err := load.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for g := 0; g < groups; g += max(groups/50, 1) {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.SetVersion(5)
		req.Group = restartGroup(g)
		resp, err := c.Request(req)
		if err != nil {
			return err
		}
		r := resp.(*kmsg.OffsetFetchResponse)
		if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != restartPartitions {
			return fmt.Errorf("group %s lost partitions", req.Group)
		}
		for _, p := range r.Topics[0].Partitions {
			if p.Offset != restartOffset(g) {
				return fmt.Errorf("group %s partition %d: offset %d, committed %d", req.Group, p.Partition, p.Offset, restartOffset(g))
			}
		}
	}
	return nil
}

// footprint is what a process takes, in bytes.
type footprint struct {
	heap     int64 // live, after a collection
	resident int64
	own      int64 // resident without page cache
}

func memory(ctx context.Context, s *proc.Server, d *proc.Daemon) (f footprint, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.HTTP+"/debug/pprof/heap?gc=1&debug=1", nil)
	if err != nil {
		return f, err
	}
	client := http.Client{Timeout: 30 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		return f, err
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "# HeapAlloc = "); ok {
			if f.heap, err = strconv.ParseInt(text, 10, 64); err != nil {
				return f, err
			}
			f.resident, f.own, err = d.Resident()
			return f, err
		}
	}
	return f, errors.New("no HeapAlloc in the heap profile")
}
