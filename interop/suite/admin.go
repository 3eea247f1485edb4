package suite

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// admin asks the target about groups and Kafka itself about records, so that a
// gateway that tells wrong log ends does not judge itself.
type admin struct {
	target, kafka *kadm.Client
	brokers       string
}

func newAdmin(t Target) (*admin, error) {
	target, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(t.Bootstrap(), ",")...))
	if err != nil {
		return nil, err
	}
	kafka, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(t.Kafka(), ",")...))
	if err != nil {
		target.Close()
		return nil, err
	}
	return &admin{kadm.NewClient(target), kadm.NewClient(kafka), t.Kafka()}, nil
}

func (a *admin) close() {
	a.target.Close()
	a.kafka.Close()
}

// create creates topics through the target.
func (a *admin) create(ctx context.Context, topics ...string) error {
	made, err := a.target.CreateTopics(ctx, Partitions, -1, nil, topics...)
	if err != nil {
		return fmt.Errorf("create topics %v: %w", topics, err)
	}
	return made.Error()
}

// committed is the committed offset of every partition; 0 where there is none.
func (a *admin) committed(ctx context.Context, group, topic string) (map[int32]int64, error) {
	// A coordinator that hangs must not hang the suite.
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	offsets, err := a.target.FetchOffsets(ctx, group)
	if err == nil {
		err = offsets.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("fetch offsets of %s: %w", group, err)
	}
	out := map[int32]int64{}
	for p := range int32(Partitions) {
		if o, ok := offsets.Lookup(topic, p); ok && o.At >= 0 {
			out[p] = o.At
		}
	}
	return out, nil
}

// atEnd is nil when the committed offsets are the log ends, and both what they
// should be.
func (a *admin) atEnd(ctx context.Context, group, topic string, want map[int32]int64) error {
	committed, err := a.committed(ctx, group, topic)
	if err != nil {
		return err
	}
	ends, err := a.kafka.ListEndOffsets(ctx, topic)
	if err != nil {
		return fmt.Errorf("list offsets of %s: %w", topic, err)
	}
	for p := range int32(Partitions) {
		end, _ := ends.Lookup(topic, p)
		if end.Err != nil {
			return fmt.Errorf("list offsets of %s[%d]: %w", topic, p, end.Err)
		}
		if end.Offset != want[p] || committed[p] != want[p] {
			return fmt.Errorf("partition %d: %d records produced, log end %d, committed %d", p, want[p], end.Offset, committed[p])
		}
	}
	return nil
}

// members are the client ids of the members of a group.
func (a *admin) members(ctx context.Context, group string) ([]string, error) {
	g, err := a.group(ctx, group)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range g.Members {
		out = append(out, strings.TrimSuffix(m.ClientID, "-StreamThread-1-consumer"))
	}
	slices.Sort(out)
	return out, nil
}

// describe is what DescribeGroups says, without what is generated.
func (a *admin) describe(ctx context.Context, group string) (string, error) {
	g, err := a.group(ctx, group)
	if err != nil {
		return "", err
	}
	if g.State != "Stable" {
		return "", fmt.Errorf("group %s is %s", group, g.State)
	}
	var members []string
	for _, m := range g.Members {
		instance := "none"
		if m.InstanceID != nil {
			instance = *m.InstanceID
		}
		members = append(members, fmt.Sprintf("%s from %s instance %s", m.ClientID, m.ClientHost, instance))
	}
	slices.Sort(members)
	return fmt.Sprintf("%s %s/%s: %s", g.State, g.ProtocolType, g.Protocol, strings.Join(members, ", ")), nil
}

func (a *admin) group(ctx context.Context, group string) (kadm.DescribedGroup, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	groups, err := a.target.DescribeGroups(ctx, group)
	if err == nil {
		err = groups.Error()
	}
	if err != nil {
		return kadm.DescribedGroup{}, fmt.Errorf("describe %s: %w", group, err)
	}
	return groups[group], nil
}

// counted is nil when the counts by key in a topic have reached what they
// should be: at least once, so more is right too.
func (a *admin) counted(ctx context.Context, topic string, want map[string]int64) error {
	ends, err := a.kafka.ListEndOffsets(ctx, topic)
	if err != nil {
		return fmt.Errorf("list offsets of %s: %w", topic, err)
	}
	total := int64(0)
	ends.Each(func(o kadm.ListedOffset) { total += o.Offset })
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(a.brokers, ",")...),
		kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	got := map[string]int64{}
	for n := int64(0); n < total; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read %s: %w", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			n++
			if len(r.Value) == 8 {
				k := string(r.Key)
				got[k] = max(got[k], int64(binary.BigEndian.Uint64(r.Value)))
			}
		})
	}
	for k, n := range want {
		if got[k] < n {
			return fmt.Errorf("key %s was counted %d times of %d", k, got[k], n)
		}
	}
	return nil
}
