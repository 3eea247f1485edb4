package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// The one line of standard output, readiness, the fixed JSON of /v1/cluster, and an orderly stop.
func TestServeLifecycle(t *testing.T) {
	t.Parallel()
	kafka := startKafka(t, t.TempDir())
	dir, p := t.TempDir(), freePorts(t, 1)
	d := start(t, append([]string{"serve", "--data-dir", dir, "--kafka-brokers", kafka.bootstrap, "--log-format", "json", "--node-id", "7"}, p.args()...)...)

	status, body := d.get("/readyz")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"ready":true,"reasons":[]}`, body)
	_, body = d.get("/v1/cluster")
	var cluster map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &cluster))
	require.Greater(t, cluster["term"], 0.0)
	delete(cluster, "term")
	require.Equal(t, map[string]any{"node_id": 7.0, "leader_id": 7.0, "nodes": []any{
		map[string]any{"id": 7.0, "raft": "127.0.0.1:9190", "bootstrap": d.bootstrap, "voter": true},
	}}, cluster)
	status, body = d.get("/metrics")
	require.Equal(t, http.StatusOK, status)
	for _, name := range []string{"coordinatord_leading 1", "coordinatord_connections 0", `coordinatord_raft_leader_id{shard="0"} 7`, "go_goroutines"} {
		require.Contains(t, body, name)
	}

	require.Equal(t, 0, d.terminate())
	require.Equal(t, "BOOTSTRAP="+d.bootstrap+"\n", d.stdout.String(), "one line and no more")
	for s := bufio.NewScanner(strings.NewReader(d.stderr.String())); s.Scan(); {
		var entry map[string]any
		require.NoError(t, json.Unmarshal(s.Bytes(), &entry), s.Text())
		require.NotEmpty(t, entry["msg"])
	}
}

func TestDataDirectoryIsGuarded(t *testing.T) {
	t.Parallel()
	kafka := startKafka(t, t.TempDir())
	dir := t.TempDir()
	serve := func(more ...string) []string {
		return append(append([]string{"serve", "--data-dir", dir, "--kafka-brokers", kafka.bootstrap}, freePorts(t, 1).args()...), more...)
	}
	d := start(t, serve()...)
	failsWith(t, serve(), "in use", dir)
	require.Equal(t, 0, d.terminate())

	failsWith(t, serve("--node-id", "2"), "node 1", "node 2", dir)
	failsWith(t, serve("--raft-log-store", "wal"), "bbolt", "wal")

	other := startKafka(t, t.TempDir())
	failsWith(t, serve("--kafka-brokers", other.bootstrap), "Kafka cluster", dir)

	meta := filepath.Join(dir, "meta")
	text, err := os.ReadFile(meta)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(meta, bytes.Replace(text, []byte(`"format":1`), []byte(`"format":2`), 1), 0o600))
	failsWith(t, serve(), "newer", dir)
	require.NoError(t, os.WriteFile(meta, text, 0o600))

	// What was known of Kafka is a help and no more: without it, or with rubbish in it, the directory still serves its own.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "brokers.json"), []byte("{"), 0o600))
	d = start(t, serve()...)
	require.Contains(t, d.stderr.String(), "what was last known of Kafka cannot be used")
	require.Equal(t, 0, d.terminate())
	require.NoError(t, os.Remove(filepath.Join(dir, "brokers.json")))
	require.Equal(t, 0, start(t, serve()...).terminate())
}

func TestPortsInUse(t *testing.T) {
	t.Parallel()
	kafka := startKafka(t, t.TempDir())
	for _, which := range []string{"listen", "http", "broker-ports"} {
		t.Run(which, func(t *testing.T) {
			p := freePorts(t, 2)
			port := map[string]int{"listen": p.listen, "http": p.http, "broker-ports": p.last}[which]
			ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			require.NoError(t, err)
			defer ln.Close()
			failsWith(t, append([]string{"serve", "--data-dir", t.TempDir(), "--kafka-brokers", kafka.bootstrap}, p.args()...),
				fmt.Sprint(port), "--"+which)
		})
	}
}

// A daemon that knows its Kafka serves its groups while Kafka is away, also after a restart, and ends when the Kafka that
// comes instead is another one.
func TestServeWithoutKafka(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePort(t)
	kafka := runKafka(t, port, "AAAAAAAAAAAAAAAAAAAAAA")
	args := append([]string{"serve", "--data-dir", dir, "--kafka-brokers", kafka.ListenAddrs()[0]}, freePorts(t, 3).args()...)
	d := start(t, args...)
	produce(t, d.bootstrap, "orders", 0, 10)
	require.Len(t, consumeGroup(t, d.bootstrap, "g", "orders", 10), 10)
	d.awaitEmpty("g")
	d.kill()
	kafka.Close()

	d = start(t, args...)
	require.Contains(t, d.stderr.String(), "served without it")
	status, body := d.get("/v1/groups/g")
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"lag_partial":true`)
	// Commits and fetches need no broker.
	seed := kafkaClient(t, d.bootstrap, kgo.MaxVersions(kversion.V3_7_0())).SeedBrokers()[0] // later commits name topics by id
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Group = "g"
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "orders"
	part := kmsg.NewOffsetCommitRequestTopicPartition()
	part.Offset = 12345
	topic.Partitions = append(topic.Partitions, part)
	commit.Topics = append(commit.Topics, topic)
	resp, err := commit.RequestWith(testContext(t), seed)
	require.NoError(t, err)
	require.Zero(t, resp.Topics[0].Partitions[0].ErrorCode)
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetchGroup := kmsg.NewOffsetFetchRequestGroup()
	fetchGroup.Group = "g"
	fetch.Groups = append(fetch.Groups, fetchGroup)
	fetched, err := fetch.RequestWith(testContext(t), seed)
	require.NoError(t, err)
	require.Equal(t, int64(12345), fetched.Groups[0].Topics[0].Partitions[0].Offset)

	// Another Kafka takes the address.
	runKafka(t, port, "BBBBBBBBBBBBBBBBBBBBBB")
	require.Equal(t, exitFailed, d.exit())
	require.Contains(t, d.stderr.String(), "is of Kafka cluster")
}

// Another Kafka that takes the address of the one that was there ends the daemon: its records have other offsets.
func TestAnotherKafkaWhileServing(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	kafka := runKafka(t, port, "AAAAAAAAAAAAAAAAAAAAAA")
	d := start(t, append([]string{
		"serve", "--data-dir", t.TempDir(), "--kafka-brokers", kafka.ListenAddrs()[0], "--kafka-refresh-interval", "200ms",
	}, freePorts(t, 3).args()...)...)
	kafka.Close()
	runKafka(t, port, "BBBBBBBBBBBBBBBBBBBBBB")
	require.Equal(t, exitFailed, d.exit())
	require.Contains(t, d.stderr.String(), "is of Kafka cluster")
}

// A stop does not wait for members that are still to come: the one that waits for them is told to look for the
// coordinator again.
func TestStopAnswersParkedJoins(t *testing.T) {
	t.Parallel()
	p := freePorts(t, 1)
	d := start(t, append(append([]string{"dev", "--data-dir", t.TempDir()}, p.args()...),
		"--drain-timeout", "10m", "--group.initial.rebalance.delay.ms", "600000")...)
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.ProtocolType, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = "g", "consumer", 30_000, 1_800_000
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name = "range"
	join.Protocols = append(join.Protocols, protocol)
	seed := kafkaClient(t, d.bootstrap, kgo.MaxVersions(kversion.V2_0_0())).SeedBrokers()[0] // it joins in one step
	code := make(chan int16, 1)
	go func() {
		resp, err := join.RequestWith(context.Background(), seed)
		if err != nil {
			t.Error(err)
			code <- -1
			return
		}
		code <- resp.ErrorCode
	}()
	require.Eventually(t, func() bool {
		_, body := d.get("/metrics")
		return strings.Contains(body, "coordinatord_parked_requests 1\n")
	}, 30*time.Second, 20*time.Millisecond)
	require.Equal(t, exitOK, d.terminate())
	require.Equal(t, kerr.NotCoordinator.Code, <-code)
}

// A second signal does not wait for what the first one waits for.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	p := freePorts(t, 1)
	d := start(t, append([]string{"dev", "--data-dir", t.TempDir(), "--topics", "t:1", "--drain-timeout", "10m"}, p.args()...)...)
	// The broker holds this answer back for ten minutes, and the drain waits for it.
	client := kafkaClient(t, d.bootstrap, kgo.ConsumeTopics("t"), kgo.FetchMaxWait(10*time.Minute), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))
	go client.PollFetches(context.Background())
	require.Eventually(t, func() bool {
		_, body := d.get("/metrics")
		return strings.Contains(body, `coordinatord_requests_total{api="Fetch"`)
	}, 30*time.Second, 20*time.Millisecond)

	require.NoError(t, d.cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		status, _ := d.get("/readyz")
		return status == http.StatusServiceUnavailable
	}, 30*time.Second, 20*time.Millisecond, "a stopping daemon is not ready")
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, exitInterrupted, d.exit())
}

// A daemon whose log nobody reads any more goes on.
func TestLogReaderGoesAway(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	p := freePorts(t, 1)
	d := prepare(t, append([]string{"dev", "--data-dir", t.TempDir(), "--topics", "t:1"}, p.args()...)...)
	d.cmd.Stderr = w
	d.run()
	require.NoError(t, w.Close())
	<-d.stdout.first
	d.bootstrap = fmt.Sprintf("127.0.0.1:%d", p.listen)
	require.NoError(t, r.Close())
	produce(t, d.bootstrap, "t", 0, 3)
	require.Len(t, consumeGroup(t, d.bootstrap, "g", "t", 3), 3) // logs a line for each step of the group
	require.Equal(t, exitOK, d.terminate())
}

// Ctrl-C while Kafka has never answered ends the start.
func TestInterruptWhileWaitingForKafka(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	require.NoError(t, err)
	defer ln.Close()
	p := freePorts(t, 1)
	d := launch(t, append([]string{"serve", "--data-dir", t.TempDir(), "--kafka-brokers", ln.Addr().String()}, p.args()...)...)
	d.http = fmt.Sprintf("127.0.0.1:%d", p.http)
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + d.http + "/readyz")
		if err != nil {
			return false // not bound yet
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(body), "waiting for Kafka")
	}, 30*time.Second, 20*time.Millisecond)
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	require.Equal(t, exitOK, d.exit())
	require.Empty(t, d.stdout.String())
}
