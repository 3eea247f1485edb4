// Command sarama is the interop driver of IBM/sarama. The variant "0.11" caps
// the protocol at that version of Kafka.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/IBM/sarama"

	"github.com/coordinatord/coordinatord/interop/member"
)

func main() { member.Run(run) }

func run(ctx context.Context, a member.Args) error {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	if a.Variant == "0.11" {
		c.Version = sarama.V0_11_0_0
	}
	c.ClientID = a.Member
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Interval = member.CommitEvery
	c.Consumer.Group.Session.Timeout = a.Session()
	c.Consumer.Group.Heartbeat.Interval = member.Heartbeat
	c.Consumer.Group.Rebalance.Timeout = member.Rebalance
	c.Consumer.Group.InstanceId = a.Instance
	c.Consumer.Return.Errors = true

	var group sarama.ConsumerGroup
	// The first connection is not retried by the client.
	for group == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if group, err = sarama.NewConsumerGroup(a.Bootstrap, a.Group, c); err != nil {
			fmt.Fprintln(os.Stderr, "connect:", err)
		}
	}
	errs := make(chan struct{})
	go func() {
		defer close(errs)
		for err := range group.Errors() {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{a.Topic}, handler{topic: a.Topic}); err != nil && !errors.Is(err, sarama.ErrClosedConsumerGroup) {
			fmt.Fprintln(os.Stderr, "consume:", err)
		}
	}
	err := group.Close()
	<-errs
	return err
}

type handler struct{ topic string }

func (h handler) Setup(s sarama.ConsumerGroupSession) error {
	member.Assigned(s.Claims()[h.topic])
	return nil
}

func (h handler) Cleanup(s sarama.ConsumerGroupSession) error {
	member.Revoked(s.Claims()[h.topic])
	return nil
}

// ConsumeClaim marks what it printed; the client commits marks in the
// background and does not say which commits were taken, so none is printed.
func (h handler) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case r, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			member.Record(r.Topic, r.Partition, r.Offset, r.Key)
			s.MarkMessage(r, "")
		case <-s.Context().Done():
			return nil
		}
	}
}
