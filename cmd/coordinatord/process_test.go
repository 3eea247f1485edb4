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
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// asProgram makes this test binary be the program: what is tested is main itself, in a process that can be killed.
const asProgram = "TEST_AS_COORDINATORD"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// daemonProcess is a daemon in a process of its own.
type daemonProcess struct {
	t         *testing.T
	cmd       *exec.Cmd
	bootstrap string
	http      string
	stdout    lines
	stderr    buffer
	exited    chan struct{}
}

// ports are those of one daemon: a bootstrap port, an HTTP port and n broker ports, all free a moment ago.
type ports struct{ listen, http, first, last int }

func freePorts(t *testing.T, n int) ports {
	t.Helper()
	for range 100 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		base := ln.Addr().(*net.TCPAddr).Port
		taken := []net.Listener{ln}
		for i := 1; i < n+2; i++ {
			next, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", base+i))
			if err != nil {
				break
			}
			taken = append(taken, next)
		}
		for _, l := range taken {
			require.NoError(t, l.Close())
		}
		if len(taken) == n+2 {
			return ports{base, base + 1, base + 2, base + 1 + n}
		}
	}
	t.Fatal("no free ports")
	return ports{}
}

func (p ports) args() []string {
	return []string{
		"--listen", fmt.Sprintf("127.0.0.1:%d", p.listen),
		"--http", fmt.Sprintf("127.0.0.1:%d", p.http),
		"--broker-ports", fmt.Sprintf("%d-%d", p.first, p.last),
		"--advertise-host", "127.0.0.1",
		"--group.initial.rebalance.delay.ms", "0",
	}
}

// prepare is launch before the start.
func prepare(t *testing.T, args ...string) *daemonProcess {
	t.Helper()
	d := &daemonProcess{t: t, cmd: exec.Command(os.Args[0], args...), exited: make(chan struct{})}
	d.cmd.Env = append(os.Environ(), asProgram+"=1")
	d.cmd.Stderr = &d.stderr
	d.stdout.first = make(chan struct{})
	d.cmd.Stdout = &d.stdout
	return d
}

func (d *daemonProcess) run() {
	d.t.Helper()
	require.NoError(d.t, d.cmd.Start())
	go func() {
		_ = d.cmd.Wait() // the state is asked for
		close(d.exited)
	}()
	d.t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		<-d.exited
		if d.t.Failed() {
			d.t.Logf("%v:\n%s", d.cmd.Args, d.stderr.String())
		}
	})
}

// launch starts the program without waiting for anything.
func launch(t *testing.T, args ...string) *daemonProcess {
	t.Helper()
	d := prepare(t, args...)
	d.run()
	return d
}

// start starts the program and waits for its BOOTSTRAP line.
func start(t *testing.T, args ...string) *daemonProcess {
	t.Helper()
	d := launch(t, args...)
	select {
	case <-d.stdout.first:
	case <-d.exited:
		t.Fatalf("the daemon exited with %d:\n%s", d.cmd.ProcessState.ExitCode(), d.stderr.String())
	case <-time.After(60 * time.Second):
		t.Fatalf("the daemon printed nothing:\n%s", d.stderr.String())
	}
	bootstrap, ok := strings.CutPrefix(strings.TrimSuffix(d.stdout.String(), "\n"), "BOOTSTRAP=")
	require.True(t, ok, d.stdout.String())
	d.bootstrap = bootstrap
	for i, a := range args {
		if a == "--http" {
			d.http = args[i+1]
		}
	}
	return d
}

func (d *daemonProcess) kill() {
	d.t.Helper()
	require.NoError(d.t, d.cmd.Process.Kill())
	<-d.exited
}

// terminate sends SIGTERM and returns the exit code.
func (d *daemonProcess) terminate() int {
	d.t.Helper()
	require.NoError(d.t, d.cmd.Process.Signal(syscall.SIGTERM))
	return d.exit()
}

func (d *daemonProcess) exit() int {
	d.t.Helper()
	select {
	case <-d.exited:
		return d.cmd.ProcessState.ExitCode()
	case <-time.After(60 * time.Second):
		d.t.Fatal("the daemon does not exit")
		return -1
	}
}

// get asks the daemon's HTTP.
func (d *daemonProcess) get(path string) (status int, body string) {
	d.t.Helper()
	resp, err := http.Get("http://" + d.http + path)
	require.NoError(d.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(d.t, err)
	return resp.StatusCode, string(text)
}

// awaitEmpty waits until the members of a group have left: a client's Close does not wait for the answer.
func (d *daemonProcess) awaitEmpty(group string) {
	d.t.Helper()
	require.Eventually(d.t, func() bool {
		_, body := d.get("/v1/groups/" + group)
		return strings.Contains(body, `"state":"Empty"`)
	}, 30*time.Second, 10*time.Millisecond)
}

// buffer is a bytes.Buffer that a process writes while the test reads.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// lines tells when the first line has come.
type lines struct {
	buffer
	once  sync.Once
	first chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	n, err := l.buffer.Write(p)
	if bytes.IndexByte(p, '\n') >= 0 {
		l.once.Do(func() { close(l.first) })
	}
	return n, err
}

func kafkaClient(t *testing.T, bootstrap string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(bootstrap)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// produce produces values from..to-1, each acknowledged, spread over the partitions.
func produce(t *testing.T, bootstrap, topic string, from, to int) {
	t.Helper()
	client := kafkaClient(t, bootstrap, kgo.AllowAutoTopicCreation())
	defer client.Close()
	for i := from; i < to; i++ {
		r := &kgo.Record{Topic: topic, Key: fmt.Append(nil, i), Value: fmt.Append(nil, i)}
		require.NoError(t, client.ProduceSync(testContext(t), r).FirstErr())
	}
}

// consumeGroup consumes n records as a member of a group, commits them, leaves and returns their values.
func consumeGroup(t *testing.T, bootstrap, group, topic string, n int) []string {
	t.Helper()
	client := kafkaClient(t, bootstrap, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer client.Close()
	var got []string
	ctx := testContext(t)
	for len(got) < n {
		fetches := client.PollRecords(ctx, n-len(got))
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
		require.NoError(t, client.CommitRecords(ctx, fetches.Records()...))
	}
	return got
}

// Records and committed offsets survive kill -9: the group resumes where it was.
func TestDevResumesAfterKill(t *testing.T) {
	dir, p := t.TempDir(), freePorts(t, 2)
	args := append([]string{"dev", "--data-dir", dir, "--topics", "orders:3"}, p.args()...)
	d := start(t, args...)
	require.Equal(t, fmt.Sprintf("127.0.0.1:%d", p.listen), d.bootstrap)
	produce(t, d.bootstrap, "orders", 0, 40)
	produce(t, d.bootstrap, "created-on-first-use", 0, 5)
	seen := make(map[string]int)
	for _, v := range consumeGroup(t, d.bootstrap, "g1", "orders", 25) {
		seen[v]++
	}
	d.kill()

	d = start(t, args...)
	produce(t, d.bootstrap, "orders", 40, 60)
	for _, v := range consumeGroup(t, d.bootstrap, "g1", "orders", 35) {
		seen[v]++
	}
	require.Len(t, seen, 60)
	for v, times := range seen {
		require.Equal(t, 1, times, v)
	}
	require.Len(t, consumeGroup(t, d.bootstrap, "g2", "created-on-first-use", 5), 5)

	d.awaitEmpty("g1")
	status, body := d.get("/v1/groups/g1")
	require.Equal(t, http.StatusOK, status, body)
	var g struct {
		State   string
		Lag     int64
		Members []any
		Offsets []struct{ Offset, LogEnd int64 }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &g))
	require.Equal(t, "Empty", g.State)
	require.Zero(t, g.Lag)
	require.Empty(t, g.Members)
	require.Len(t, g.Offsets, 3)
	require.Equal(t, 0, d.terminate())
}

// A producer that lives on through kill -9 of the daemon and its stand-in goes on, and each acknowledged record is there
// once and in its order.
func TestDevProducerGoesOnAfterKill(t *testing.T) {
	dir, p := t.TempDir(), freePorts(t, 1)
	args := append([]string{"dev", "--data-dir", dir, "--topics", "orders:1"}, p.args()...)
	d := start(t, args...)
	producer := kafkaClient(t, d.bootstrap)
	const rounds, each = 3, 20
	for round := range rounds {
		if round > 0 {
			d.kill()
			d = start(t, args...)
		}
		for i := range each {
			r := &kgo.Record{Topic: "orders", Value: fmt.Append(nil, round*each+i)}
			require.NoError(t, producer.ProduceSync(testContext(t), r).FirstErr(), "round %d", round)
		}
	}
	want := make([]string, rounds*each)
	for i := range want {
		want[i] = fmt.Sprint(i)
	}
	require.Equal(t, want, consumeGroup(t, d.bootstrap, "g", "orders", len(want)))
}

// The one line of standard output, readiness, the fixed JSON of /v1/cluster, and an orderly stop.
func TestServeLifecycle(t *testing.T) {
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

// startKafka runs a stand-in in a process of its own: dev's, whose brokers a serve can use directly. Only its Kafka is
// used.
func startKafka(t *testing.T, dir string) *daemonProcess {
	t.Helper()
	p := freePorts(t, 1)
	d := start(t, append([]string{"dev", "--data-dir", dir}, p.args()...)...)
	d.bootstrap = upstreamOf(t, d)
	return d
}

// upstreamOf reads the address of a broker of dev's stand-in from its log.
func upstreamOf(t *testing.T, d *daemonProcess) string {
	t.Helper()
	_, rest, ok := strings.Cut(d.stderr.String(), `"upstream": "`)
	require.True(t, ok, d.stderr.String())
	addr, _, _ := strings.Cut(rest, `"`)
	return addr
}

// failsWith starts a daemon that must end by itself with exit code 1 and one sentence that has the words.
func failsWith(t *testing.T, args []string, words ...string) {
	t.Helper()
	d := launch(t, args...)
	require.Equal(t, exitFailed, d.exit(), d.stderr.String())
	require.Empty(t, d.stdout.String())
	var last string
	for s := bufio.NewScanner(strings.NewReader(d.stderr.String())); s.Scan(); {
		last = s.Text()
	}
	require.True(t, strings.HasPrefix(last, "coordinatord: "), last)
	for _, w := range words {
		require.Contains(t, last, w)
	}
}

func TestDataDirectoryIsGuarded(t *testing.T) {
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

	// The directory still serves its own.
	require.Equal(t, 0, start(t, serve()...).terminate())
}

func TestPortsInUse(t *testing.T) {
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
	kafkaDir, dir := t.TempDir(), t.TempDir()
	kafka := startKafka(t, kafkaDir)
	args := append([]string{"serve", "--data-dir", dir, "--kafka-brokers", kafka.bootstrap}, freePorts(t, 1).args()...)
	d := start(t, args...)
	produce(t, d.bootstrap, "orders", 0, 10)
	require.Len(t, consumeGroup(t, d.bootstrap, "g", "orders", 10), 10)
	d.awaitEmpty("g")
	d.kill()
	kafka.kill()

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
	host, port, err := net.SplitHostPort(kafka.bootstrap)
	require.NoError(t, err)
	startOtherKafka(t, host, port)
	require.Equal(t, exitFailed, d.exit())
	require.Contains(t, d.stderr.String(), "is of Kafka cluster")
}

// Another Kafka that takes the address of the one that was there ends the daemon: its records have other offsets.
func TestAnotherKafkaWhileServing(t *testing.T) {
	kafka := startKafka(t, t.TempDir())
	d := start(t, append([]string{"serve", "--data-dir", t.TempDir(), "--kafka-brokers", kafka.bootstrap, "--kafka-refresh-interval", "200ms"}, freePorts(t, 1).args()...)...)
	kafka.kill()
	host, port, err := net.SplitHostPort(kafka.bootstrap)
	require.NoError(t, err)
	startOtherKafka(t, host, port)
	require.Equal(t, exitFailed, d.exit())
	require.Contains(t, d.stderr.String(), "is of Kafka cluster")
}

// A stop does not wait for members that are still to come: the one that waits for them is told to look for the
// coordinator again.
func TestStopAnswersParkedJoins(t *testing.T) {
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

// inspect reads the state as the next start finds it: after a stop from the copy, after a kill with the log's tail too.
func TestInspect(t *testing.T) {
	for _, store := range []string{"bbolt", "wal"} {
		t.Run(store, func(t *testing.T) {
			dir, p := t.TempDir(), freePorts(t, 1)
			args := append([]string{"dev", "--data-dir", dir, "--topics", "orders:2", "--raft-log-store", store}, p.args()...)
			inspect := func(more ...string) result {
				return runCommand(t, nil, append([]string{"inspect", "--data-dir", dir}, more...)...)
			}
			d := start(t, args...)
			admin := adminClient(t, d.bootstrap)
			require.NoError(t, commitOffset(t, admin, "g", "orders", 1, 42))

			r := inspect()
			require.Equal(t, exitFailed, r.code, r.stdout)
			require.Contains(t, r.stderr, "in use")
			d.kill()

			r = inspect("--group", "g")
			require.Equal(t, exitOK, r.code, r.stderr)
			require.Contains(t, r.stdout, "group g: Empty")
			require.Regexp(t, `(?m)^orders +1 +42 `, r.stdout)
			r = inspect("--group", "none")
			require.Equal(t, exitFailed, r.code)
			require.Contains(t, r.stderr, "there is no group none")

			d = start(t, args...)
			require.NoError(t, commitOffset(t, adminClient(t, d.bootstrap), "g", "orders", 0, 7))
			require.Equal(t, exitOK, d.terminate())
			r = inspect("--output", "json")
			require.Equal(t, exitOK, r.code, r.stderr)
			var got inspection
			require.NoError(t, json.Unmarshal([]byte(r.stdout), &got))
			require.Equal(t, uint64(1), got.NodeID)
			require.Equal(t, store, got.LogStore)
			require.Len(t, got.Topics, 1)
			require.Len(t, got.Groups, 1)
			require.Len(t, got.Groups[0].Offsets, 2)
			require.Equal(t, int64(7), got.Groups[0].Offsets[0].Offset)
			require.Equal(t, int64(42), got.Groups[0].Offsets[1].Offset)
			require.Equal(t, exitOK, inspect("--entries").code)
		})
	}
	r := runCommand(t, nil, "inspect", "--data-dir", t.TempDir())
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "no data directory")
}
