package realkafka

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kafka skips nothing silently: without the programs the test says what is
// missing. COORDINATORD_KAFKA=1 (the interop run) makes that a failure.
func kafka(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts Apache Kafka: not in -short")
	}
	if os.Getenv("COORDINATORD_KAFKA") == "" {
		t.Skip("starts Apache Kafka, fetched from Maven Central: set COORDINATORD_KAFKA=1, as make interop does")
	}
}

func TestThreeBrokersSurviveTheLossOfOne(t *testing.T) {
	kafka(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	c, err := Start(ctx, Options{Brokers: 3, Heap: "512m", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })

	tool := func(name string, args ...string) string {
		t.Helper()
		out, err := Tool(ctx, name, append([]string{"--bootstrap-server", c.Bootstrap()}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	tool("kafka-topics", "--create", "--topic", "t", "--partitions", "6")
	if out := tool("kafka-topics", "--describe", "--topic", "t"); !strings.Contains(out, "ReplicationFactor: 3") {
		t.Errorf("topic is not replicated: %s", out)
	}

	b := c.Broker(2)
	addr := b.Addr
	b.Kill()
	if b.Running() || Ready(ctx, addr) == nil {
		t.Error("a killed broker still answers")
	}
	if err := poll(ctx, nil, func(ctx context.Context) error {
		n, err := brokerCount(ctx, c.Broker(1).inner)
		if err == nil && n != 2 {
			err = errors.New("the killed broker is still listed")
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if b.Addr != addr {
		t.Errorf("the broker moved from %s to %s", addr, b.Addr)
	}
	if out := tool("kafka-topics", "--list"); !strings.Contains(out, "t\n") {
		t.Errorf("the topic is gone: %q", out)
	}

	if err := b.Pause(); err != nil {
		t.Fatal(err)
	}
	paused, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	if err := Ready(paused, addr); err == nil {
		t.Error("a paused broker answers")
	}
	stop()
	if err := b.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := Ready(ctx, addr); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, b := range c.Brokers() {
		if b.Running() {
			t.Errorf("broker %d outlives Close", b.ID)
		}
	}
}

func TestSASLRefusesWhoDoesNotAuthenticate(t *testing.T) {
	kafka(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	c, err := Start(ctx, Options{Heap: "512m", SASL: &SASL{Users: map[string]string{"alice": "wonder land"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := brokerCount(ctx, c.Brokers()[0].Addr); err == nil {
		t.Error("Metadata was answered before authentication")
	}
	for _, m := range []struct{ mechanism, module string }{
		{"PLAIN", "org.apache.kafka.common.security.plain.PlainLoginModule"},
		{"SCRAM-SHA-256", "org.apache.kafka.common.security.scram.ScramLoginModule"},
		{"SCRAM-SHA-512", "org.apache.kafka.common.security.scram.ScramLoginModule"},
	} {
		config := filepath.Join(t.TempDir(), "client.properties")
		text := "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=" + m.mechanism +
			"\nsasl.jaas.config=" + m.module + ` required username="alice" password="wonder land";` + "\n"
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Tool(ctx, "kafka-topics", "--bootstrap-server", c.Bootstrap(), "--command-config", config, "--list"); err != nil {
			t.Errorf("%s: %v", m.mechanism, err)
		}
	}
	dir := c.Dir()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary directory is left behind: %v", err)
	}
}

func TestAFailedStartLeavesNothing(t *testing.T) {
	kafka(t)
	dir := t.TempDir()
	_, err := Start(t.Context(), Options{Dir: dir, Properties: map[string]string{"num.io.threads": "none"}})
	if err == nil || !strings.Contains(err.Error(), "num.io.threads") {
		t.Fatalf("a wrong property must be named: %v", err)
	}
}

func TestReservedPortsAreTakenOnce(t *testing.T) {
	seen := map[int]bool{}
	for range 20 {
		p, err := ReservePorts(10)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Release)
		for i, n := range p.Numbers {
			if seen[n] || n != p.Numbers[0]+i {
				t.Fatalf("ports %v: taken twice or not contiguous", p.Numbers)
			}
			seen[n] = true
		}
	}
}

func TestOnceFillsOnceAndAgainAfterFailure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	calls := 0
	fill := func() error {
		calls++
		if calls == 1 {
			return errors.New("cut off")
		}
		return nil
	}
	if err := Once(t.Context(), dir, "a", fill); err == nil {
		t.Fatal("the failure is lost")
	}
	for _, stamp := range []string{"a", "a", "b"} {
		if err := Once(t.Context(), dir, stamp, fill); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 3 { // Failed, a, b.
		t.Errorf("filled %d times", calls)
	}
}

func TestStopKillsWhatIgnoresSIGTERM(t *testing.T) {
	cmd := exec.Command("sh", "-c", `trap "" TERM; echo; while :; do sleep 0.05; done`)
	trapped, w := io.Pipe()
	cmd.Stdout = w
	p, err := StartProcess(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trapped.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the kill is not told: %v", err)
	}
	select {
	case <-p.Done():
	default:
		t.Error("the process is still there")
	}
}
