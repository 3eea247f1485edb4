package gateway

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestSnapshotRestoresEverything starts a directory while Kafka is away and compares what it says.
func TestSnapshotRestoresEverything(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(3), kfake.ClusterID("abc"), kfake.SeedTopics(6, "orders", "payments"))
	d := newDirectory(t, c.ListenAddrs(), nil)
	eventually(t, d, func() bool { return len(d.versions.all(nil)) == 3 })
	require.NoError(t, d.AskTopics(testContext(t), []string{"orders", "payments"}, nil))
	kept := d.Snapshot()
	require.NotEmpty(t, kept)
	c.Close()

	again := idleDirectory(t, testPorts)
	require.Nil(t, again.Snapshot())
	require.NoError(t, again.Restore(kept))
	require.True(t, again.Table().same(d.Table()))
	require.Equal(t, d.Table().IDs(), again.Table().IDs())
	require.Equal(t, "abc", again.Table().ClusterID())
	require.Equal(t, string(kept), string(again.Snapshot()))
	for broker := int32(-1); broker < 3; broker++ {
		want, err := d.APIVersions(4, broker)
		require.NoError(t, err)
		again.cfg = d.cfg
		got, err := again.APIVersions(4, broker)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	id, n, ok := again.LookupName("orders")
	require.True(t, ok)
	require.Equal(t, int32(6), n)
	name, _, ok := again.LookupID(id)
	require.True(t, ok)
	require.Equal(t, "orders", name)
}

func TestRestoreRefusesDamage(t *testing.T) {
	d := idleDirectory(t, testPorts)
	d.table.Store(tableOf(testPorts, 1))
	edit(t, d, kafka44(4), 1)
	name := "t"
	d.topics.restore([]topic{topicOf(&kmsg.MetadataResponseTopic{Topic: &name, Partitions: make([]kmsg.MetadataResponseTopicPartition, 1)})})
	kept := string(d.Snapshot())
	require.NoError(t, bareDirectory().Restore([]byte(kept)))
	for n := range len(kept) {
		again := bareDirectory()
		require.Error(t, again.Restore([]byte(kept[:n])))
		require.Empty(t, again.Table().IDs())
	}
	for good, broken := range map[string]string{
		`"format":1`:    `"format":2`,
		`"brokers":[`:   `"brokers":[],"x":[`,
		`"port":9092`:   `"port":0`,
		`"host":"real"`: `"host":""`,
		`"id":1`:        `"id":-1`,
		`"version":4`:   `"version":9`,
		`"body":"`:      `"body":"` + base64.StdEncoding.EncodeToString([]byte{0, 0, 255, 255, 255, 255, 15, 0, 0}),
		`"topics":["`:   `"topics":["` + base64.StdEncoding.EncodeToString([]byte{0, 0, 0, 0, 255, 255, 255, 255, 15}),
		`"cluster_id"`:  `"cluster"`,
	} {
		bad := strings.Replace(kept, good, broken, 1)
		require.NotEqual(t, kept, bad, good)
		again := bareDirectory()
		require.Error(t, again.Restore([]byte(bad)), "%s", broken)
		require.Empty(t, again.Table().IDs())
		require.Nil(t, again.versions.get(1))
	}
}

// TestLocalMetadata compares the answer that is given while Kafka is away with the one that the gateway gives otherwise.
func TestLocalMetadata(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(3), kfake.ClusterID("abc"), kfake.SeedTopics(6, "orders", "payments"))
	for _, ports := range []Ports{testPorts, {Host: "g", First: 1, Last: 2, FirstID: 1}} {
		d := newDirectory(t, c.ListenAddrs(), func(c *DirectoryConfig) { c.Ports = ports })
		require.NoError(t, d.AskTopics(testContext(t), []string{"orders", "payments"}, nil))
		for version := int16(1); version <= 13; version++ {
			req := kmsg.NewPtrMetadataRequest()
			req.Version = version
			for _, name := range []string{"payments", "orders"} {
				topic := kmsg.NewMetadataRequestTopic()
				topic.Topic = &name
				req.Topics = append(req.Topics, topic)
			}
			resp, err := req.RequestWith(testContext(t), d.Client())
			require.NoError(t, err)
			resp.Version = version
			body, err := d.Rewrite(keyMetadata, version, resp.AppendTo(nil))
			require.NoError(t, err)
			want := kmsg.NewPtrMetadataResponse()
			require.NoError(t, decode(want, version, body))
			req.Version = version
			local, ok := d.LocalMetadata(req)
			require.True(t, ok)
			got := kmsg.NewPtrMetadataResponse()
			require.NoError(t, decode(got, version, local.AppendTo(nil)))
			for _, resp := range []*kmsg.MetadataResponse{want, got} {
				for _, topic := range resp.Topics { // The fake cluster lists partitions in any order.
					slices.SortFunc(topic.Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition - b.Partition) })
				}
			}
			require.Equal(t, want.ClusterID, got.ClusterID)
			require.ElementsMatch(t, want.Brokers, got.Brokers)
			require.ElementsMatch(t, want.Topics, got.Topics)
		}

		id, _, _ := d.LookupName("orders")
		byID := kmsg.NewPtrMetadataRequest()
		byID.Version = 12
		byID.Topics = []kmsg.MetadataRequestTopic{{TopicID: id}}
		resp, ok := d.LocalMetadata(byID)
		require.True(t, ok)
		require.Equal(t, "orders", *resp.Topics[0].Topic)

		// Where an answer would have to leave something out there is none.
		unknown := "unknown"
		for _, topics := range [][]kmsg.MetadataRequestTopic{nil, {{Topic: &unknown}}, {{TopicID: [16]byte{1}}}, {{}}} {
			req := kmsg.NewPtrMetadataRequest()
			req.Version, req.Topics = 12, topics
			_, ok = d.LocalMetadata(req)
			require.False(t, ok)
		}
		none := kmsg.NewPtrMetadataRequest()
		none.Topics = []kmsg.MetadataRequestTopic{}
		_, ok = d.LocalMetadata(none)
		require.False(t, ok, "in version 0 no topics means all")
		none.Version = 1
		resp, ok = d.LocalMetadata(none)
		require.True(t, ok)
		require.Empty(t, resp.Topics)
	}
	_, ok := idleDirectory(t, testPorts).LocalMetadata(&kmsg.MetadataRequest{Version: 1, Topics: []kmsg.MetadataRequestTopic{}})
	require.False(t, ok, "nothing is known")
}

// bareDirectory has no client: it cannot ask, but it is made in no time.
func bareDirectory() *Directory {
	d := &Directory{cfg: DirectoryConfig{Ports: testPorts}}
	d.table.Store(&Table{ports: testPorts})
	d.topics.init(d)
	return d
}

func FuzzRestore(f *testing.F) {
	d := idleDirectory(f, testPorts)
	d.table.Store(tableOf(testPorts, 1, 2))
	d.versions.put(1, kafka44(4))
	name := "t"
	d.topics.restore([]topic{topicOf(&kmsg.MetadataResponseTopic{Topic: &name, Partitions: make([]kmsg.MetadataResponseTopicPartition, 1)})})
	f.Add(d.Snapshot())
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		again := bareDirectory()
		if again.Restore(data) != nil {
			require.Empty(t, again.Table().IDs())
			return
		}
		// What was taken can be kept and taken again.
		kept := again.Snapshot()
		third := bareDirectory()
		require.NoError(t, third.Restore(kept))
		require.Equal(t, string(kept), string(third.Snapshot()))
	})
}
