// Command kafkago is the interop driver of segmentio/kafka-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/coordinatord/coordinatord/interop/member"
)

func main() { member.Run(run) }

func run(ctx context.Context, a member.Args) error {
	dialer := *kafka.DefaultDialer
	dialer.ClientID = a.Member
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: a.Bootstrap, GroupID: a.Group, Topic: a.Topic, Dialer: &dialer,
		StartOffset:    kafka.FirstOffset,
		SessionTimeout: a.Session(), HeartbeatInterval: member.Heartbeat, RebalanceTimeout: member.Rebalance,
		MaxWait:     200 * time.Millisecond,
		ErrorLogger: kafka.LoggerFunc(func(s string, args ...any) { fmt.Fprintf(os.Stderr, s+"\n", args...) }),
	})
	pending := map[int32]kafka.Message{}
	last := time.Now()
	for ctx.Err() == nil {
		// Nothing to read for a while is when the rest is committed.
		poll, cancel := context.WithTimeout(ctx, member.CommitEvery)
		m, err := r.FetchMessage(poll)
		cancel()
		switch {
		case err == nil:
			member.Record(m.Topic, int32(m.Partition), m.Offset, m.Key)
			pending[int32(m.Partition)] = m
		case errors.Is(err, io.EOF):
			return errors.New("the reader was closed")
		case !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			fmt.Fprintln(os.Stderr, "fetch:", err)
		}
		if time.Since(last) >= member.CommitEvery {
			commit(r, pending)
			last = time.Now()
		}
	}
	commit(r, pending)
	return r.Close()
}

func commit(r *kafka.Reader, pending map[int32]kafka.Message) {
	if len(pending) == 0 {
		return
	}
	messages := make([]kafka.Message, 0, len(pending))
	offsets := make(map[int32]int64, len(pending))
	for p, m := range pending {
		messages = append(messages, m)
		offsets[p] = m.Offset + 1
	}
	clear(pending)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.CommitMessages(ctx, messages...); err != nil {
		fmt.Fprintln(os.Stderr, "commit:", err)
		return
	}
	member.Committed(offsets)
}
