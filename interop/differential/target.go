package differential

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/coordinatord/coordinatord/internal/realkafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Profile is one set of broker settings; the daemon in front of that broker gets the same.
type Profile string

const (
	// Plain has no initial rebalance delay, sessions from 100 ms to 60 s and at most four members in a group.
	Plain Profile = "plain"
	// Restart is like Plain; in the middle of its sequences both sides are stopped in order and started again.
	Restart Profile = "restart"
	// Slow has an initial rebalance delay and a frequent sweep of expired offsets.
	Slow Profile = "slow"
)

// The settings that sequences rely on.
const (
	minSession   = 100
	maxSession   = 60000
	maxMembers   = 4
	initialDelay = 2 * time.Second
	sweepEvery   = time.Second
)

// Settings are a profile's group settings, by Kafka's names.
func (p Profile) Settings() map[string]string {
	s := map[string]string{
		"group.min.session.timeout.ms":        strconv.Itoa(minSession),
		"group.max.session.timeout.ms":        strconv.Itoa(maxSession),
		"group.initial.rebalance.delay.ms":    "0",
		"group.max.size":                      strconv.Itoa(maxMembers),
		"offsets.retention.check.interval.ms": "600000",
		"offsets.retention.minutes":           "10080",
	}
	if p == Slow {
		s["group.initial.rebalance.delay.ms"] = strconv.Itoa(int(initialDelay.Milliseconds()))
		s["offsets.retention.check.interval.ms"] = strconv.Itoa(int(sweepEvery.Milliseconds()))
		s["offsets.retention.minutes"] = "1"
	}
	return s
}

// A Target is what sequences are played against: the coordinator of one profile.
type Target struct {
	Name   string
	Daemon bool
	// Host and Port are what FindCoordinator names, and where sequences connect.
	Host string
	Port int32
	// Bootstrap is the address that clients are given first.
	Bootstrap string
	// Broker is the real broker behind it.
	Broker string
	// Topics are the ids of the topics that every sequence may use.
	Topics map[string][16]byte
	// ClusterID is the broker's cluster.id.
	ClusterID string
	// Restart is what restarts the target, in the profile of that name.
	Restart *restart
	// Side tells the two targets of a run apart in group names.
	Side string
}

// Addr is where the coordinator listens.
func (t *Target) Addr() string { return net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port))) }

// topicPartitions are the topics that exist before the first sequence.
var topicPartitions = map[string]int32{"orders": 4, "extra": 2}

// startKafka starts the broker of a profile, with its topics.
func startKafka(ctx context.Context, p Profile) (*realkafka.Cluster, *Target, error) {
	props := p.Settings()
	props["offsets.topic.num.partitions"] = "4"
	props["auto.create.topics.enable"] = "false"
	props["transaction.state.log.num.partitions"] = "1"
	props["connections.max.idle.ms"] = "600000"
	cluster, err := realkafka.Start(ctx, realkafka.Options{Properties: props, Heap: "768m"})
	if err != nil {
		return nil, nil, fmt.Errorf("kafka for profile %s: %w", p, err)
	}
	addr := cluster.Brokers()[0].Addr
	t := &Target{Name: "kafka", Bootstrap: addr, Broker: addr, ClusterID: cluster.ID()}
	if t.Topics, err = createTopics(addr, topicPartitions); err == nil {
		err = t.findCoordinator()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w (and %w)", err, cluster.Close())
	}
	return cluster, t, nil
}

// findCoordinator asks the bootstrap address where groups live and goes there, as every client does. The internal
// topic is created by the first question, so it repeats until there is an answer.
func (t *Target) findCoordinator() error {
	var last error
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		r := kmsg.NewPtrFindCoordinatorRequest()
		r.Version, r.CoordinatorKey = 1, "some group"
		resp, err := roundTrip(t.Bootstrap, r)
		if err != nil {
			last = err
			continue
		}
		f := resp.(*kmsg.FindCoordinatorResponse)
		if f.ErrorCode != 0 {
			last = fmt.Errorf("error %d", f.ErrorCode)
			continue
		}
		t.Host, t.Port = f.Host, f.Port
		// ListGroups answers 14 until every partition of the internal topic is loaded, and DescribeGroups 16 before that.
		if last = t.loaded(); last == nil {
			return nil
		}
	}
	return fmt.Errorf("no coordinator at %s: %w", t.Bootstrap, last)
}

// loaded is nil once the coordinator has loaded all groups.
func (t *Target) loaded() error {
	var groups []string
	for i := range 40 {
		groups = append(groups, fmt.Sprint("probe ", i))
	}
	d := kmsg.NewPtrDescribeGroupsRequest()
	d.Groups = groups
	for _, r := range []kmsg.Request{d, kmsg.NewPtrListGroupsRequest()} {
		resp, err := roundTrip(t.Addr(), r)
		if err != nil {
			return err
		}
		for _, code := range codes(resp) {
			if code != 0 {
				return fmt.Errorf("%s answers %d", apiName(r.Key()), code)
			}
		}
	}
	return nil
}

// createTopics creates topics and waits until their ids are known.
func createTopics(addr string, topics map[string]int32) (map[string][16]byte, error) {
	r := kmsg.NewPtrCreateTopicsRequest()
	r.Version, r.TimeoutMillis = 5, 30000
	for name, n := range topics {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, n, 1
		r.Topics = append(r.Topics, t)
	}
	resp, err := roundTrip(addr, r)
	if err != nil {
		return nil, fmt.Errorf("create topics: %w", err)
	}
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if t.ErrorCode != 0 {
			return nil, fmt.Errorf("create topic %s: error %d", t.Topic, t.ErrorCode)
		}
	}
	ids := map[string][16]byte{}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		m := kmsg.NewPtrMetadataRequest()
		m.Version = 12
		for name := range topics {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = new(name)
			m.Topics = append(m.Topics, t)
		}
		resp, err := roundTrip(addr, m)
		if err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
		for _, t := range resp.(*kmsg.MetadataResponse).Topics {
			if t.ErrorCode == 0 && t.Topic != nil && len(t.Partitions) == int(topics[*t.Topic]) {
				ids[*t.Topic] = t.TopicID
			}
		}
		if len(ids) == len(topics) {
			return ids, nil
		}
	}
	return nil, fmt.Errorf("topics did not appear")
}

// deleteTopic deletes a topic and waits for the controller's answer.
func deleteTopic(addr, name string) error {
	r := kmsg.NewPtrDeleteTopicsRequest()
	r.Version, r.TimeoutMillis, r.TopicNames = 4, 30000, []string{name}
	resp, err := roundTrip(addr, r)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.DeleteTopicsResponse).Topics {
		if t.ErrorCode != 0 {
			return fmt.Errorf("delete topic %s: error %d", name, t.ErrorCode)
		}
	}
	return nil
}

// roundTrip sends one request on a connection of its own.
func roundTrip(addr string, req kmsg.Request) (kmsg.Response, error) {
	s := newScript(&Target{}, "setup")
	id := "setup"
	c, err := dial(s, addr, "setup", &id)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	call := c.Send(req)
	select {
	case <-call.done:
	case <-time.After(40 * time.Second):
		return nil, fmt.Errorf("%s: no answer", call.label)
	}
	if call.closed {
		return nil, fmt.Errorf("%s: connection closed", call.label)
	}
	resp, _, err := call.response()
	return resp, err
}
