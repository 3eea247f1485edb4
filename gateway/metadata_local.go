package gateway

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// snapshotMetadata is the Metadata version that topics are kept in; it can say everything.
const snapshotMetadata = int16(13)

// topicOf takes what the cache keeps out of a Metadata answer.
func topicOf(t *kmsg.MetadataResponseTopic) topic {
	// Partitions are numbered from 0, but one that is in error could be missing from the list.
	n := int32(0)
	for i := range t.Partitions {
		n = max(n, t.Partitions[i].Partition+1)
	}
	one := kmsg.MetadataResponse{Version: snapshotMetadata, ControllerID: -1, Topics: []kmsg.MetadataResponseTopic{*t}}
	return topic{name: *t.Topic, id: t.TopicID, partitions: n, raw: one.AppendTo(nil)}
}

// LocalMetadata answers a Metadata request out of what is known, for the time when no broker can be reached: a consumer
// that starts then finds the daemon and joins its group. It has the brokers known last, and topics with the leaders known
// last. False when that would not do: the request asks for all topics or for one that is not known. A topic left out or in
// error would make consumers take it for deleted and rebalance, so closing the connection, as a broker that is down does,
// is the better answer then.
func (d *Directory) LocalMetadata(req *kmsg.MetadataRequest) (resp *kmsg.MetadataResponse, ok bool) {
	table := d.Table()
	all := req.Topics == nil || req.Version == 0 && len(req.Topics) == 0
	if len(table.ids) == 0 || all {
		return nil, false
	}
	resp = kmsg.NewPtrMetadataResponse()
	resp.Version = req.Version
	if table.clusterID != "" {
		id := table.clusterID
		resp.ClusterID = &id
	}
	for _, id := range table.ids {
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID = id
		b.Host, b.Port, _ = table.Advertised(id)
		if rack := table.brokers[id].rack; rack != "" {
			b.Rack = &rack
		}
		resp.Brokers = append(resp.Brokers, b)
	}
	resp.ControllerID = reachableController(table, table.controller, table.ids[0])
	for i := range req.Topics {
		known, ok := d.topics.find(&req.Topics[i])
		if !ok {
			return nil, false
		}
		one := kmsg.NewPtrMetadataResponse()
		if decode(one, snapshotMetadata, known.raw) != nil || len(one.Topics) != 1 {
			return nil, false
		}
		maskLeaders(table, one)
		resp.Topics = append(resp.Topics, one.Topics[0])
	}
	return resp, true
}

// find looks a topic up by what a Metadata request names: the id when there is one, else the name.
func (c *topicCache) find(t *kmsg.MetadataRequestTopic) (topic, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if t.TopicID != ([16]byte{}) {
		known, ok := c.byID[t.TopicID]
		return known, ok
	}
	if t.Topic == nil {
		return topic{}, false
	}
	known, ok := c.byName[*t.Topic]
	return known, ok
}

// snapshot returns the kept topics in the order of their names.
func (c *topicCache) snapshot() [][]byte {
	c.mu.RLock()
	defer c.mu.RUnlock()
	topics := make([]topic, 0, len(c.byName))
	for _, t := range c.byName {
		topics = append(topics, t)
	}
	slices.SortFunc(topics, func(a, b topic) int { return cmp.Compare(a.name, b.name) })
	out := make([][]byte, len(topics))
	for i, t := range topics {
		out[i] = t.raw
	}
	return out
}

func (c *topicCache) restore(topics []topic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range topics {
		c.set(t)
	}
}
