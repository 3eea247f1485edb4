package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/wire"
)

// snapshotFormat is the version of what Snapshot writes. Restore refuses another one.
const snapshotFormat = 1

// snapshot is the last known cluster as it is kept on disk.
type snapshot struct {
	Format     int                `json:"format"`
	ClusterID  string             `json:"cluster_id"`
	Controller int32              `json:"controller"`
	Brokers    []snapshotBroker   `json:"brokers"`
	Versions   []snapshotVersions `json:"versions"`
	Topics     [][]byte           `json:"topics"` // each a Metadata answer of version snapshotMetadata with this topic only
}

type snapshotBroker struct {
	ID   int32  `json:"id"`
	Host string `json:"host"`
	Port int32  `json:"port"`
	Rack string `json:"rack,omitempty"`
}

// snapshotVersions is what one broker supports.
type snapshotVersions struct {
	Broker int32 `json:"broker"`
	// Version is the version that the broker answered in; Body is laid out as wire.APIVersionsMax nevertheless.
	Version int16  `json:"version"`
	Body    []byte `json:"body"`
}

// Snapshot returns what is known of the cluster, for a daemon that has to start while Kafka is away. Nil when nothing is
// known.
func (d *Directory) Snapshot() []byte {
	t := d.Table()
	if len(t.brokers) == 0 {
		return nil
	}
	s := snapshot{Format: snapshotFormat, ClusterID: t.clusterID, Controller: t.controller}
	for _, b := range t.brokers {
		s.Brokers = append(s.Brokers, snapshotBroker{ID: b.id, Host: b.host, Port: b.port, Rack: b.rack})
	}
	slices.SortFunc(s.Brokers, func(a, b snapshotBroker) int { return cmp.Compare(a.ID, b.ID) })
	s.Versions = d.versions.snapshot()
	s.Topics = d.topics.snapshot()
	out, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("a snapshot is plain data, but: %v", err))
	}
	return out
}

// Restore puts back what Snapshot returned; call it before Start. On an error nothing is restored.
func (d *Directory) Restore(data []byte) error {
	var s snapshot
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var format struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &format); err != nil {
		return fmt.Errorf("the stored table of brokers is damaged: %w", err)
	}
	if format.Format != snapshotFormat {
		return fmt.Errorf("the stored table of brokers has the format %d, this program knows %d", format.Format, snapshotFormat)
	}
	if err := dec.Decode(&s); err != nil {
		return fmt.Errorf("the stored table of brokers is damaged: %w", err)
	}
	if len(s.Brokers) == 0 {
		return errors.New("the stored table of brokers is damaged: it has no broker")
	}
	live := make([]broker, 0, len(s.Brokers))
	for _, b := range s.Brokers {
		if b.ID < 0 || b.Host == "" || b.Port < 1 || b.Port > 65535 {
			return fmt.Errorf("the stored table of brokers is damaged: broker %d at %q port %d", b.ID, b.Host, b.Port)
		}
		live = append(live, broker{
			id: b.ID, host: b.Host, port: b.Port, rack: b.Rack,
			addr: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))),
		})
	}
	answers := make(map[int32]*kmsg.ApiVersionsResponse, len(s.Versions))
	for _, v := range s.Versions {
		resp, err := decodeAPIVersions(wire.APIVersionsMax, v.Body)
		if err != nil {
			return fmt.Errorf("the stored table of brokers is damaged: broker %d: %w", v.Broker, err)
		}
		if v.Version < 0 || v.Version > wire.APIVersionsMax {
			return fmt.Errorf("the stored table of brokers is damaged: broker %d answered in version %d", v.Broker, v.Version)
		}
		resp.Version = v.Version
		answers[v.Broker] = resp
	}
	topics := make([]topic, 0, len(s.Topics))
	for _, raw := range s.Topics {
		resp := kmsg.NewPtrMetadataResponse()
		if err := decode(resp, snapshotMetadata, raw); err != nil {
			return fmt.Errorf("the stored table of brokers is damaged: a topic: %w", err)
		}
		if len(resp.Topics) != 1 || resp.Topics[0].Topic == nil {
			return errors.New("the stored table of brokers is damaged: a topic without a name")
		}
		topics = append(topics, topicOf(&resp.Topics[0]))
	}
	d.table.Store(newTable(d.cfg.Ports, s.ClusterID, s.Controller, live, nil))
	for id, resp := range answers {
		d.versions.put(id, resp)
	}
	d.topics.restore(topics)
	return nil
}

func (c *versionCache) snapshot() []snapshotVersions {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]snapshotVersions, 0, len(c.byBroker))
	for id, resp := range c.byBroker {
		out = append(out, snapshotVersions{Broker: id, Version: resp.Version, Body: encodeVersions(resp)})
	}
	slices.SortFunc(out, func(a, b snapshotVersions) int { return cmp.Compare(a.Broker, b.Broker) })
	return out
}
