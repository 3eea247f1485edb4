package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/internal/load"
	"github.com/coordinatord/coordinatord/internal/proc"
	"github.com/coordinatord/coordinatord/internal/realkafka"
)

// env is what the measurements share: one real broker, the daemon's binary, and the table.
type env struct {
	dir       string
	bin       string
	cluster   *realkafka.Cluster
	kafka     string // the broker's address
	pumped    string // the broker's second listener, whose advertised address is pumpAt
	pumpAt    string
	ports     *realkafka.Ports
	table     table
	quick     bool
	fdatasync time.Duration
	closers   []func()
}

func newEnv(ctx context.Context, quick bool) (e *env, err error) {
	e = &env{quick: quick}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	if e.dir, err = os.MkdirTemp("", "coordinatord-bench-"); err != nil {
		return nil, err
	}
	if e.bin, err = proc.Build(ctx, e.dir); err != nil {
		return nil, err
	}
	if e.ports, err = realkafka.ReservePorts(2); err != nil {
		return nil, err
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", e.ports.Numbers[i]) }
	e.pumped, e.pumpAt = at(0), at(1)
	e.say("starting Kafka")
	e.cluster, err = realkafka.Start(ctx, realkafka.Options{
		Listeners: []realkafka.Listener{{Name: "PUMPED", Addr: e.pumped, Advertised: e.pumpAt}},
		Properties: map[string]string{
			"group.initial.rebalance.delay.ms": "0",
			"group.max.session.timeout.ms":     "1800000",
			"auto.create.topics.enable":        "false",
		},
	})
	if err != nil {
		return nil, err
	}
	e.kafka = e.cluster.Bootstrap()
	return e, e.coordinates(ctx)
}

// coordinates makes Kafka create and load its offsets topic: until then it coordinates no group, or only some.
func (e *env) coordinates(ctx context.Context) error {
	if err := e.topic(ctx, "warm-up", 1); err != nil {
		return err
	}
	c, err := load.Dial(e.kafka)
	if err != nil {
		return err
	}
	defer c.Close()
	const groups = 400 // by hash, enough to meet each of the offsets topic's 50 partitions
	for g := 0; g < groups; {
		name := fmt.Sprintf("warm-up-%d", g)
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.SetVersion(2)
		find.CoordinatorKey = name
		if _, err := c.Request(find); err != nil {
			return err
		}
		resp, err := c.Request(load.CommitRequest(name, "warm-up", 1, 0))
		if err != nil {
			return err
		}
		if load.CheckCommit(resp) == nil {
			g++
			continue
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pause waits before Kafka is asked again for something that has no event to wait for.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(50 * time.Millisecond):
		return nil
	}
}

func (e *env) close() {
	for _, f := range e.closers {
		f()
	}
	if e.cluster != nil {
		_ = e.cluster.Close()
	}
	if e.ports != nil {
		e.ports.Release()
	}
	_ = os.RemoveAll(e.dir)
}

func (e *env) say(format string, a ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", a...)
}

// seconds is a duration of a measured run; a try of the benchmark itself takes less.
func (e *env) seconds(n int) time.Duration {
	if e.quick {
		return 500 * time.Millisecond
	}
	return time.Duration(n) * time.Second
}

func (e *env) rounds(n int) int {
	if e.quick {
		return 1
	}
	return n
}

// server prepares a daemon beside the broker with an empty data directory.
func (e *env) server(args ...string) (*proc.Server, error) {
	dir, err := os.MkdirTemp(e.dir, "data-")
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log.txt"))
	if err != nil {
		return nil, err
	}
	args = append([]string{"--group.initial.rebalance.delay.ms", "0", "--log-level", "warn"}, args...)
	s, err := proc.NewServer(e.bin, dir, e.kafka, 1, log, args...)
	if err != nil {
		return nil, err
	}
	e.closers = append(e.closers, s.Close)
	return s, nil
}

func (e *env) daemon(ctx context.Context, args ...string) (*proc.Daemon, error) {
	s, err := e.server(args...)
	if err != nil {
		return nil, err
	}
	return s.Start(ctx)
}

// topic creates a topic in Kafka and waits until its partitions have leaders.
func (e *env) topic(ctx context.Context, name string, partitions int) error {
	c, err := load.Dial(e.kafka)
	if err != nil {
		return err
	}
	defer c.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(7)
	req.TimeoutMillis = 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(partitions), 1
	req.Topics = append(req.Topics, t)
	resp, err := c.Request(req)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create topic %s: %w", name, err)
	}
	for {
		meta := kmsg.NewPtrMetadataRequest()
		meta.SetVersion(9)
		mt := kmsg.NewMetadataRequestTopic()
		mt.Topic = &name
		meta.Topics = append(meta.Topics, mt)
		resp, err := c.Request(meta)
		if err != nil {
			return err
		}
		if led(resp.(*kmsg.MetadataResponse).Topics[0], partitions) {
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func led(t kmsg.MetadataResponseTopic, partitions int) bool {
	if t.ErrorCode != 0 || len(t.Partitions) != partitions {
		return false
	}
	for _, p := range t.Partitions {
		if p.ErrorCode != 0 || p.Leader < 0 {
			return false
		}
	}
	return true
}
