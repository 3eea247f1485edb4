// Command franz is the interop driver of franz-go.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/interop/member"
)

func main() { member.Run(run) }

func run(ctx context.Context, a member.Args) error {
	opts := []kgo.Opt{
		kgo.SeedBrokers(a.Bootstrap...),
		kgo.ClientID(a.Member),
		kgo.ConsumerGroup(a.Group),
		kgo.ConsumeTopics(a.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(a.Session()),
		kgo.HeartbeatInterval(member.Heartbeat),
		kgo.RebalanceTimeout(member.Rebalance),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { member.Assigned(m[a.Topic]) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { member.Revoked(m[a.Topic]) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { member.Revoked(m[a.Topic]) }),
	}
	if a.Instance != "" {
		opts = append(opts, kgo.InstanceID(a.Instance))
	}
	if a.Variant == "eager" {
		opts = append(opts, kgo.Balancers(kgo.RangeBalancer()))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	for ctx.Err() == nil {
		fetches := client.PollRecords(ctx, member.MaxPoll)
		fetches.EachError(func(topic string, partition int32, err error) {
			if ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "%s[%d]: %v\n", topic, partition, err)
			}
		})
		fetches.EachRecord(func(r *kgo.Record) { member.Record(r.Topic, r.Partition, r.Offset, r.Key) })
		if fetches.NumRecords() > 0 {
			commit(ctx, client)
		}
		client.AllowRebalance()
	}
	return nil
}

// commit commits what was polled. A refusal is no reason to stop: the next
// owner goes on from the last commit that was taken.
func commit(ctx context.Context, client *kgo.Client) {
	// The commit of the last records may begin after SIGTERM.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	client.CommitOffsetsSync(ctx, client.UncommittedOffsets(), func(_ *kgo.Client, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "commit:", err)
			return
		}
		sent, done := map[int32]int64{}, map[int32]int64{}
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				sent[p.Partition] = p.Offset
			}
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					fmt.Fprintln(os.Stderr, "commit:", err)
					continue
				}
				done[p.Partition] = sent[p.Partition]
			}
		}
		member.Committed(done)
	})
}
