package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/coordinatord/coordinatord/internal/realkafka"
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

// ports are those of one daemon: a bootstrap port, an HTTP port and n broker ports.
type ports struct{ listen, http, first, last int }

// freePorts reserves ports until the test ends: a daemon can be killed and started again on them.
func freePorts(t *testing.T, n int) ports {
	t.Helper()
	p, err := realkafka.ReservePorts(n + 2)
	require.NoError(t, err)
	t.Cleanup(p.Release)
	return ports{p.Numbers[0], p.Numbers[1], p.Numbers[2], p.Numbers[len(p.Numbers)-1]}
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

// freePort reserves one port until the test ends.
func freePort(t *testing.T) int { return freePorts(t, 1).listen }

// runKafka runs a stand-in for Kafka in this process, with one broker on the port, until it is closed or the test ends.
func runKafka(t *testing.T, port int, clusterID string) *kfake.Cluster {
	t.Helper()
	ctx := testContext(t)
	for {
		cluster, err := kfake.NewCluster(kfake.Ports(port), kfake.ClusterID(clusterID), kfake.AllowAutoTopicCreation(), kfake.DefaultNumPartitions(3))
		if err == nil {
			t.Cleanup(cluster.Close)
			return cluster
		}
		// A process that another test is just starting holds a copy of a closed listener until it runs its own program.
		require.ErrorIs(t, err, syscall.EADDRINUSE)
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("port %d does not get free: %v", port, err)
		}
	}
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
