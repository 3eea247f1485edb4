package abuse

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coordinatord/coordinatord/internal/load"
	"github.com/coordinatord/coordinatord/internal/proc"
	"github.com/coordinatord/coordinatord/internal/realkafka"
)

// scale multiplies the size of the floods: -scale 10 is for a machine that has nothing else to do.
var scale = flag.Int("scale", 1, "multiply the size of the floods")

// bin is the daemon under test.
var bin string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "abuse-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if bin, err = proc.Build(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// target is a daemon under attack, with its log.
type target struct {
	*proc.Daemon
	log  *logBuffer
	dir  string
	http string
	args []string
}

// startDev starts `coordinatord dev` with an empty data directory and a topic, steady:8.
func startDev(t *testing.T, args ...string) *target {
	t.Helper()
	ports, err := realkafka.ReservePorts(3)
	require.NoError(t, err)
	t.Cleanup(ports.Release)
	p := ports.Numbers
	dir := t.TempDir()
	g := &target{dir: dir, http: fmt.Sprintf("127.0.0.1:%d", p[1]), log: &logBuffer{}}
	g.args = append([]string{
		"dev", "--data-dir", dir, "--topics", "steady:8", "--advertise-host", "127.0.0.1",
		"--listen", fmt.Sprintf("127.0.0.1:%d", p[0]), "--http", g.http,
		"--broker-ports", fmt.Sprintf("%d-%d", p[2], p[2]), "--group.initial.rebalance.delay.ms", "0",
	}, args...)
	g.start(t)
	return g
}

func (g *target) start(t *testing.T) {
	t.Helper()
	d, err := proc.Start(context.Background(), bin, g.log, g.args...)
	require.NoError(t, err, "%s", g.log)
	g.Daemon = d
	t.Cleanup(func() {
		d.Kill()
		if t.Failed() {
			t.Logf("the end of the daemon's log:\n%s", g.log.tail(4000))
		}
	})
}

// stop ends the daemon, which must exit with status 0 and in time.
func (g *target) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, g.Stop(20*time.Second))
	require.NotContains(t, g.log.String(), "panic", "in the daemon's log")
}

func (g *target) alive(t *testing.T) {
	t.Helper()
	select {
	case <-g.Done():
		t.Fatalf("the daemon has ended: %v\n%s", g.Err(), g.log.tail(4000))
	default:
	}
}

// logBuffer keeps what a process logs and lets tests wait for a line.
type logBuffer struct {
	mu  sync.Mutex
	b   bytes.Buffer
	new chan struct{} // closed at the next write
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.new != nil {
		close(l.new)
		l.new = nil
	}
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) tail(n int) string {
	s := l.String()
	return s[max(0, len(s)-n):]
}

// await waits until a line from the offset on contains all of the words.
func (l *logBuffer) await(t *testing.T, from int, words ...string) string {
	t.Helper()
	timeout := time.NewTimer(10 * time.Second)
	defer timeout.Stop()
	for {
		l.mu.Lock()
		if l.new == nil {
			l.new = make(chan struct{})
		}
		text, wait := l.b.String()[from:], l.new
		l.mu.Unlock()
		for line := range strings.Lines(text) {
			if containsAll(line, words) {
				return line
			}
		}
		select {
		case <-wait:
		case <-timeout.C:
			require.Failf(t, "no such line in the log", "%q; the log: %s", words, text[max(0, len(text)-3000):])
		}
	}
}

func containsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// steady is the client that must not notice an attack: it commits and sends heartbeats for one group without a pause.
type steady struct {
	addr   string
	stop   chan struct{}
	done   chan struct{}
	err    error
	n      int64 // commits that were acknowledged
	worst  time.Duration
	member load.Member
}

// maxStall is the longest that the steady client may wait for one answer, with a disk that others use as well.
const maxStall = 5 * time.Second

const steadyGroup = "steady"

func startSteady(t *testing.T, addr string) *steady {
	t.Helper()
	s := &steady{addr: addr, stop: make(chan struct{}), done: make(chan struct{}), member: load.Member{Group: steadyGroup}}
	c, err := load.Dial(addr)
	require.NoError(t, err)
	require.NoError(t, s.member.JoinAlone(c))
	first := make(chan struct{})
	go func() {
		defer close(s.done)
		defer c.Close()
		s.err = s.run(c, first)
	}()
	select {
	case <-first:
	case <-s.done:
		require.NoError(t, s.err)
	}
	t.Cleanup(func() { _ = s.end() })
	return s
}

func (s *steady) run(c *load.Conn, first chan struct{}) error {
	pause := time.NewTicker(2 * time.Millisecond) // its own load must not be what the daemon is busy with
	defer pause.Stop()
	for {
		select {
		case <-s.stop:
			return nil
		case <-pause.C:
		}
		req := load.CommitRequest(steadyGroup, "steady", 8, s.n+1)
		req.MemberID, req.Generation = s.member.ID, s.member.Generation
		begin := time.Now()
		resp, err := c.Request(req)
		if err == nil {
			err = load.CheckCommit(resp)
		}
		if err != nil {
			return fmt.Errorf("commit %d: %w", s.n+1, err)
		}
		s.n++
		s.worst = max(s.worst, time.Since(begin))
		if s.n == 1 {
			close(first)
		}
		if s.n%16 == 0 {
			resp, err := c.Request(s.member.HeartbeatRequest())
			if err == nil {
				err = load.CheckHeartbeat(resp)
			}
			if err != nil {
				return fmt.Errorf("heartbeat: %w", err)
			}
		}
	}
}

func (s *steady) end() error {
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
	<-s.done
	return s.err
}

// undisturbed ends the steady client and requires that it has noticed nothing.
func (s *steady) undisturbed(t *testing.T) {
	t.Helper()
	require.NoError(t, s.end(), "the steady client")
	require.Less(t, s.worst, maxStall, "the steady client's longest wait")
	s.kept(t, s.addr)
	t.Logf("steady: %d commits, the longest took %v", s.n, s.worst)
}

// kept requires that the last acknowledged commit is there.
func (s *steady) kept(t *testing.T, addr string) {
	t.Helper()
	require.GreaterOrEqual(t, committed(t, addr, steadyGroup, "steady", 0), s.n)
}

// command runs the daemon to its end and returns its status and what it wrote to standard error.
func command(t *testing.T, env []string, args ...string) (status int, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = t.TempDir()
	var out bytes.Buffer
	cmd.Stderr = &out
	err := cmd.Run()
	require.NoError(t, ctx.Err(), "%v goes on: %s", args, &out)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// copyDir copies a directory of files.
func copyDir(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	return to
}
