package daemon

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"
)

// standinDir makes this test binary run a stand-in instead of the tests: a process of its own can be killed.
const standinDir = "TEST_STANDIN_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(standinDir); dir != "" {
		s, err := StartStandin(context.Background(), StandinConfig{Dir: dir, Brokers: 1, DefaultPartitions: 3}, zap.NewNop())
		if err != nil {
			fmt.Println("ERROR", err)
			os.Exit(1)
		}
		fmt.Println("BOOTSTRAP", s.Addrs()[0])
		select {}
	}
	os.Exit(m.Run())
}

// startStandinProcess returns the address of a stand-in in a process of its own, and what kills it with SIGKILL.
func startStandinProcess(t *testing.T, dir string) (addr string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), standinDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "BOOTSTRAP ")
	require.True(t, ok, line)
	return addr, kill
}

func testClient(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// consume reads n records of a topic from its start and returns their values by partition, in order.
func consume(t *testing.T, addr, topic string, n int) map[int32][]string {
	t.Helper()
	client := testClient(t, addr, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	got := make(map[int32][]string)
	for seen := 0; seen < n; {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err0())
		fetches.EachRecord(func(r *kgo.Record) {
			require.Equal(t, int64(len(got[r.Partition])), r.Offset, "offsets have no gap")
			got[r.Partition] = append(got[r.Partition], string(r.Value))
			seen++
		})
	}
	return got
}

// Acknowledged records, and the topic that their first produce created, survive kill -9.
func TestStandinKeepsAcknowledgedRecordsOverKill(t *testing.T) {
	dir := t.TempDir()
	want := make(map[int32][]string)
	total := 0
	for round := range 3 {
		addr, kill := startStandinProcess(t, dir)
		client := testClient(t, addr, kgo.AllowAutoTopicCreation(), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		for i := range 30 {
			r := &kgo.Record{Topic: "orders", Partition: int32(i % 3), Value: fmt.Appendf(nil, "%d-%d", round, i)}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			require.NoError(t, client.ProduceSync(ctx, r).FirstErr())
			cancel()
			want[r.Partition] = append(want[r.Partition], string(r.Value))
			total++
		}
		// The kill comes while more is on its way: a batch that was not acknowledged may be there or not, torn or whole.
		for i := range 50 {
			client.Produce(context.Background(), &kgo.Record{Topic: "scratch", Partition: 0, Value: make([]byte, 1000+i)}, nil)
		}
		kill()
		client.Close()
	}
	addr, _ := startStandinProcess(t, dir)
	require.Equal(t, want, consume(t, addr, "orders", total))
}

func TestStandinTopics(t *testing.T) {
	dir := t.TempDir()
	start := func(topics ...TopicSpec) *Standin {
		s, err := StartStandin(t.Context(), StandinConfig{Dir: dir, Brokers: 2, DefaultPartitions: 4, Topics: topics}, zap.NewNop())
		require.NoError(t, err)
		return s
	}
	partitions := func(s *Standin, topic string) int {
		details, err := s.admin.ListTopics(t.Context(), topic)
		require.NoError(t, err)
		require.NoError(t, details.Error())
		return len(details[topic].Partitions)
	}

	s := start(TopicSpec{"a", 3}, TopicSpec{"b", 5})
	require.Len(t, s.Addrs(), 2)
	for _, addr := range s.Addrs() {
		require.True(t, strings.HasPrefix(addr, "127.0.0.1:"), addr)
	}
	require.Equal(t, 3, partitions(s, "a"))
	id := clusterID(t, s)
	s.Close()

	s = start(TopicSpec{"a", 6}, TopicSpec{"b", 2})
	require.Equal(t, 6, partitions(s, "a"), "a topic grows")
	require.Equal(t, 5, partitions(s, "b"), "a topic keeps what it has")
	require.Equal(t, id, clusterID(t, s), "the cluster id belongs to the directory")

	_, err := StartStandin(t.Context(), StandinConfig{Dir: dir, Brokers: 1, DefaultPartitions: 1}, zap.NewNop())
	require.ErrorContains(t, err, "in use by another coordinatord")
	s.Close()

	s, err = StartStandin(t.Context(), StandinConfig{Dir: dir, Brokers: 1, DefaultPartitions: 1, Topics: []TopicSpec{{"a.b", 1}, {"a_b", 1}}}, zap.NewNop())
	require.ErrorContains(t, err, `--topics: topic "a_b" cannot be created`)
	require.Nil(t, s)
}

// A topic that was deleted comes back, empty, with its next first use.
func TestStandinTopicAfterDeletion(t *testing.T) {
	s, err := StartStandin(t.Context(), StandinConfig{Dir: t.TempDir(), Brokers: 1, DefaultPartitions: 1}, zap.NewNop())
	require.NoError(t, err)
	defer s.Close()
	produce := func(value string) int64 {
		client := testClient(t, s.Addrs()[0], kgo.AllowAutoTopicCreation())
		defer client.Close()
		r, err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte(value)}).First()
		require.NoError(t, err)
		return r.Offset
	}
	require.Equal(t, int64(0), produce("one"))
	require.Equal(t, int64(1), produce("two"))
	_, err = s.admin.DeleteTopics(t.Context(), "t")
	require.NoError(t, err)
	require.Equal(t, int64(0), produce("three"))
}

func clusterID(t *testing.T, s *Standin) string {
	t.Helper()
	md, err := kadm.NewClient(s.client).BrokerMetadata(t.Context())
	require.NoError(t, err)
	require.Len(t, md.Cluster, 22)
	return md.Cluster
}
