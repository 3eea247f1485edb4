package realkafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Broker is one broker process. Its methods may be called by one goroutine at
// a time.
type Broker struct {
	// ID is the node.id.
	ID int
	// Addr is the host:port of the listener of the clients. It stays the
	// same over restarts.
	Addr string

	inner       string // The listener between brokers, never authenticated.
	of          int    // How many brokers the cluster has.
	libs, dir   string
	heap, level string
	log         io.Writer
	proc        *Process
	console     *os.File
}

// Kill ends the broker with SIGKILL and waits until it is gone. A broker that
// does not run is left alone.
func (b *Broker) Kill() {
	if b.proc == nil {
		return
	}
	b.proc.Kill()
	b.gone()
}

// Stop shuts the broker down in order (SIGTERM: leadership moves first). Once
// ctx is done it kills it and returns an error.
func (b *Broker) Stop(ctx context.Context) error {
	if b.proc == nil {
		return nil
	}
	err := b.proc.Stop(ctx)
	b.gone()
	return err
}

// Start starts a broker that was killed or stopped, on its old ports and data,
// and returns once it answers and is part of the cluster again.
func (b *Broker) Start(ctx context.Context) error {
	if b.Running() {
		return fmt.Errorf("realkafka: broker %d runs already", b.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if b.proc != nil {
		b.gone()
	}
	if err := b.launch(); err != nil {
		return err
	}
	return b.await(ctx, 1)
}

// Pause stops the process with SIGSTOP: connections stay open, nothing answers.
func (b *Broker) Pause() error { return b.signal(syscall.SIGSTOP) }

// Resume undoes Pause.
func (b *Broker) Resume() error { return b.signal(syscall.SIGCONT) }

// Running says whether the process is there (paused counts).
func (b *Broker) Running() bool {
	if b.proc == nil {
		return false
	}
	select {
	case <-b.proc.Done():
		return false
	default:
		return true
	}
}

// Pid is the process id, 0 if the broker does not run.
func (b *Broker) Pid() int {
	if !b.Running() {
		return 0
	}
	return b.proc.Pid()
}

// Console is what the broker printed last, 4 KiB at most: for failures.
func (b *Broker) Console() string {
	out, err := os.ReadFile(filepath.Join(b.dir, "console.log"))
	if err != nil {
		return err.Error()
	}
	return tail(out, 4096)
}

func (b *Broker) signal(sig syscall.Signal) error {
	if !b.Running() {
		return fmt.Errorf("realkafka: broker %d does not run", b.ID)
	}
	return b.proc.Signal(sig)
}

func (b *Broker) gone() {
	b.proc = nil
	_ = b.console.Close()
}

func (b *Broker) configure(properties map[string]string) error {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return fmt.Errorf("realkafka: %w", err)
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		// A backslash is an escape in a properties file.
		fmt.Fprintf(&text, "%s=%s\n", name, strings.ReplaceAll(properties[name], `\`, `\\`))
	}
	err := os.WriteFile(b.file("server.properties"), []byte(text.String()), 0o644)
	return errors.Join(err, os.WriteFile(b.file("log4j2.properties"), log4j, 0o644))
}

func (b *Broker) file(name string) string { return filepath.Join(b.dir, name) }

// format writes what a KRaft node needs on its disk before its first start.
func (b *Broker) format(ctx context.Context, cluster string, sasl *SASL) error {
	args := []string{"format", "-t", cluster, "-c", b.file("server.properties"), "--ignore-formatted"}
	if sasl != nil {
		for _, user := range slices.Sorted(maps.Keys(sasl.Users)) {
			for _, m := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
				args = append(args, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", m, user, sasl.Users[user]))
			}
		}
	}
	out, err := toolCommand(ctx, b.libs, "kafka.tools.StorageTool", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("realkafka: format broker %d: %w: %s", b.ID, err, tail(out, 2000))
	}
	return nil
}

func (b *Broker) launch() error {
	console, err := os.OpenFile(b.file("console.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("realkafka: %w", err)
	}
	// The garbage collector's flags are those of Kafka's own start script.
	cmd := exec.Command("java", "-Xmx"+b.heap, "-server",
		"-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
		"-Djava.awt.headless=true", "-Dkafka.log.level="+b.level,
		"-Dlog4j2.configurationFile="+b.file("log4j2.properties"), "-Dlog4j.shutdownHookEnabled=false",
		"-cp", b.libs+"/*", "kafka.Kafka", b.file("server.properties"))
	cmd.Dir = b.dir
	out := io.Writer(console)
	if b.log != io.Discard {
		out = io.MultiWriter(console, b.log)
	}
	cmd.Stdout, cmd.Stderr = out, out
	proc, err := StartProcess(cmd)
	if err != nil {
		return errors.Join(err, console.Close())
	}
	b.proc, b.console = proc, console
	return nil
}

// await returns once the broker answers its clients and knows at least n
// brokers of the cluster, itself among them.
func (b *Broker) await(ctx context.Context, n int) error {
	err := poll(ctx, b.proc.Done(), func(ctx context.Context) error {
		if err := Ready(ctx, b.Addr); err != nil {
			return err
		}
		have, err := brokerCount(ctx, b.inner)
		if err == nil && have < n {
			err = fmt.Errorf("%d of %d brokers are registered", have, n)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("realkafka: broker %d: %w; it printed: %s", b.ID, err, b.Console())
	}
	return nil
}
