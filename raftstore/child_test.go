package raftstore

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childEnv carries a childSpec to a process of this test binary.
const childEnv = "RAFTSTORE_TEST_CHILD"

// childSpec is what a child process does: open the directory, propose from several callers at once, and print "ack caller
// n" for each command that was applied. It kills itself when a crash point is reached for the given time.
type childSpec struct {
	Config  Config `json:"-"`
	Plain   plainConfig
	Point   string // empty: none
	Hit     int64
	Callers int
	Size    int // bytes of each value
	Follow  bool
	Limit   uint64 // largest file, in bytes; 0: no limit
}

// plainConfig is the part of Config that a child needs.
type plainConfig struct {
	NodeID                                          uint64
	Dir, LogStore, Listen                           string
	Peers                                           []Peer
	HeartbeatTimeout, SnapshotInterval, WriteBehind time.Duration
	SnapshotThreshold, TrailingLogs                 uint64
}

func plain(c *Config) plainConfig {
	return plainConfig{
		NodeID: c.NodeID, Dir: c.Dir, LogStore: c.LogStore, Listen: c.Listen, Peers: c.Peers, HeartbeatTimeout: c.HeartbeatTimeout,
		SnapshotInterval: c.SnapshotInterval, WriteBehind: c.WriteBehind, SnapshotThreshold: c.SnapshotThreshold, TrailingLogs: c.TrailingLogs,
	}
}

func (p *plainConfig) config() Config {
	return Config{
		NodeID: p.NodeID, Dir: p.Dir, LogStore: p.LogStore, Listen: p.Listen, Peers: p.Peers, HeartbeatTimeout: p.HeartbeatTimeout,
		SnapshotInterval: p.SnapshotInterval, WriteBehind: p.WriteBehind, SnapshotThreshold: p.SnapshotThreshold, TrailingLogs: p.TrailingLogs,
	}
}

// runChild is the main function of a child. Its status is 3 on a fatal error of the store.
func runChild(spec string) int {
	var c childSpec
	if err := json.Unmarshal([]byte(spec), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	c.Config = c.Plain.config()
	hits := atomic.Int64{}
	crashHook = func(point string) {
		if point == c.Point && hits.Add(1) == c.Hit {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	c.Config.Fatal = func(err error) {
		fmt.Fprintln(os.Stderr, "FATAL", err)
		os.Exit(3)
	}
	if c.Limit > 0 {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: c.Limit, Max: c.Limit}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	m := newModel()
	s, err := Open(c.Config, m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	fmt.Println("open")
	if c.Follow {
		select {}
	}
	m.mu.Lock()
	for m.leading == 0 {
		m.changed.Wait()
	}
	m.mu.Unlock()
	var out sync.Mutex
	var wg sync.WaitGroup
	for i := range c.Callers {
		wg.Go(func() {
			key := "caller" + strconv.Itoa(i)
			n := counterOf(m.state()[key])
			for {
				n++
				done := make(chan outcome, 1)
				if err := m.propose(s, fmt.Sprintf("%s=%d %s", key, n, strings.Repeat("x", c.Size)), func(o outcome) { done <- o }); err != nil {
					return
				}
				if o := <-done; o.err != nil {
					return
				}
				out.Lock()
				fmt.Printf("ack %d %d\n", i, n)
				out.Unlock()
			}
		})
	}
	wg.Wait()
	return 0
}

// counterOf reads the number at the beginning of a caller's value.
func counterOf(value []byte) int {
	number, _, _ := strings.Cut(string(value), " ")
	n, _ := strconv.Atoi(number)
	return n
}

// child is a running child process.
type child struct {
	cmd    *exec.Cmd
	out    *bufio.Scanner
	stderr strings.Builder
	acked  map[int]int
	total  int
}

func startChild(t *testing.T, spec childSpec) *child {
	t.Helper()
	if spec.Callers == 0 {
		spec.Callers = 8
	}
	spec.Plain = plain(&spec.Config)
	b, err := json.Marshal(spec)
	require.NoError(t, err)
	c := &child{cmd: exec.Command(os.Args[0]), acked: map[int]int{}}
	c.cmd.Env = append(os.Environ(), childEnv+"="+string(b))
	c.cmd.Stderr = &c.stderr
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.out = bufio.NewScanner(out)
	require.NoError(t, c.cmd.Start())
	late := time.AfterFunc(2*patience, func() { _ = c.cmd.Process.Kill() })
	t.Cleanup(func() {
		late.Stop()
		_ = c.cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = c.cmd.Wait()
	})
	return c
}

// read reads acknowledgements until the child is dead or enough came.
func (c *child) read(enough int) {
	for c.total < enough && c.out.Scan() {
		var i, n int
		if _, err := fmt.Sscanf(c.out.Text(), "ack %d %d", &i, &n); err == nil {
			c.acked[i] = n
			c.total++
		}
	}
}

// kill kills the child with SIGKILL and reads what it acknowledged until then.
func (c *child) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, c.cmd.Process.Kill())
	c.read(1 << 30)
}

const unlimited = 1 << 30

// checkAcked opens the directory in this process and compares it with what was acknowledged.
func checkAcked(t *testing.T, cfg Config, acked map[int]int) {
	t.Helper()
	s, m := open(t, cfg)
	state := m.state()
	for i, n := range acked {
		require.GreaterOrEqual(t, counterOf(state["caller"+strconv.Itoa(i)]), n, "caller %d", i)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, s.Close(ctx))
}
