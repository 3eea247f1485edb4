// Package proc builds and runs the daemon as a process of its own, for tests and benchmarks that kill it, restart it and
// measure what it costs.
package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// readyTimeout bounds how long a daemon may take to print its BOOTSTRAP line.
const readyTimeout = 60 * time.Second

// Build builds the daemon with the given build tags into dir and returns the path of the binary.
func Build(ctx context.Context, dir string, tags ...string) (string, error) {
	bin := filepath.Join(dir, strings.Join(append([]string{"coordinatord"}, tags...), "-"))
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", strings.Join(tags, ","), "-o", bin, "github.com/coordinatord/coordinatord/cmd/coordinatord")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the daemon: %w\n%s", err, out)
	}
	return bin, nil
}

// Daemon is a running daemon.
type Daemon struct {
	Bootstrap string // what it printed
	Took      time.Duration
	cmd       *exec.Cmd
	done      chan error
}

// Start starts the binary with args and waits for its BOOTSTRAP line. Its log goes to log. The process dies with the
// calling one.
func Start(ctx context.Context, bin string, log io.Writer, args ...string) (*Daemon, error) {
	cmd := exec.Command(bin, args...)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d := &Daemon{cmd: cmd, done: make(chan error, 1)}
	begin := time.Now()
	lines := make(chan string, 1)
	started := make(chan error, 1)
	go func() {
		// The kernel sends Pdeathsig when the *thread* that started the process ends: this one stays until the process has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		r := bufio.NewReader(out)
		line, _ := r.ReadString('\n')
		lines <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, r)
		d.done <- cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	select {
	case line := <-lines:
		d.Took = time.Since(begin)
		addr, ok := strings.CutPrefix(line, "BOOTSTRAP=")
		if !ok {
			d.Kill()
			return nil, fmt.Errorf("the daemon printed %q instead of its BOOTSTRAP line", line)
		}
		d.Bootstrap = addr
		return d, nil
	case <-timeout.C:
		d.Kill()
		return nil, fmt.Errorf("the daemon was not ready after %v", readyTimeout)
	case <-ctx.Done():
		d.Kill()
		return nil, ctx.Err()
	}
}

// Kill ends the daemon with SIGKILL and waits for its end.
func (d *Daemon) Kill() {
	_ = d.cmd.Process.Kill()
	d.done <- <-d.done
}

// Stop ends the daemon with SIGTERM and waits; the error is that of an exit status other than 0.
func (d *Daemon) Stop(timeout time.Duration) error {
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	t := time.NewTimer(timeout)
	defer t.Stop()
	select {
	case err := <-d.done:
		d.done <- err
		return err
	case <-t.C:
		d.Kill()
		return fmt.Errorf("the daemon did not end within %v of SIGTERM", timeout)
	}
}

// Signal sends a signal.
func (d *Daemon) Signal(s os.Signal) error { return d.cmd.Process.Signal(s) }

// PID returns the process id.
func (d *Daemon) PID() int { return d.cmd.Process.Pid }

// CPU returns the processor time used so far, in user and system mode together.
func (d *Daemon) CPU() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.PID()))
	if err != nil {
		return 0, err
	}
	// The second field is the name in parentheses, which may hold spaces; utime and stime are the 14th and 15th.
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	utime, err1 := strconv.ParseInt(f[11], 10, 64)
	stime, err2 := strconv.ParseInt(f[12], 10, 64)
	const ticksPerSecond = 100 // USER_HZ is 100 on every Linux that Go runs on
	return time.Duration(utime+stime) * time.Second / ticksPerSecond, errors.Join(err1, err2)
}

// Resident returns the resident memory in bytes.
func (d *Daemon) Resident() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.PID()))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10, err
		}
	}
	return 0, errors.New("no VmRSS in the process status")
}

// FreePorts returns n consecutive free TCP ports on the loopback interface.
func FreePorts(n int) (int, error) {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		first := l.Addr().(*net.TCPAddr).Port
		free := first+n < 65536
		held := []net.Listener{l}
		for p := first + 1; free && p < first+n; p++ {
			next, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p)))
			if err != nil {
				free = false
				break
			}
			held = append(held, next)
		}
		for _, h := range held {
			_ = h.Close()
		}
		if free {
			return first, nil
		}
	}
	return 0, fmt.Errorf("no %d consecutive free ports", n)
}
