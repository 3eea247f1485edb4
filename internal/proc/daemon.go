// Package proc builds and runs the daemon as a process of its own, for tests and benchmarks that kill it, restart it and
// measure what it costs.
package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coordinatord/coordinatord/internal/realkafka"
)

// readyTimeout bounds how long a daemon may take to print its BOOTSTRAP line.
const readyTimeout = 60 * time.Second

// Build builds the daemon with the given build tags into dir and returns the path of the binary.
func Build(ctx context.Context, dir string, tags ...string) (string, error) {
	bin := filepath.Join(dir, strings.Join(append([]string{"coordinatord"}, tags...), "-"))
	root, err := realkafka.RepoDir()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", strings.Join(tags, ","), "-o", bin, "./cmd/coordinatord")
	cmd.Dir = root // The caller may be in another module of the repository.
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the daemon: %w\n%s", err, out)
	}
	return bin, nil
}

// Daemon is a running daemon; it does not outlive the calling process.
type Daemon struct {
	*realkafka.Process
	Bootstrap string        // what it printed
	Took      time.Duration // from the start of the process to the BOOTSTRAP line
}

// Start starts the binary with args and waits for its BOOTSTRAP line. Its log goes to log.
func Start(ctx context.Context, bin string, log io.Writer, args ...string) (*Daemon, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(bin, args...)
	cmd.Stderr, cmd.Stdout = log, in
	begin := time.Now()
	p, err := realkafka.StartProcess(cmd)
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	lines := make(chan string, 1)
	go func() {
		defer out.Close()
		r := bufio.NewReader(out)
		line, _ := r.ReadString('\n')
		lines <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, r)
	}()
	select {
	case line := <-lines:
		addr, ok := strings.CutPrefix(line, "BOOTSTRAP=")
		if !ok {
			p.Kill()
			return nil, fmt.Errorf("the daemon printed %q instead of its BOOTSTRAP line", line)
		}
		return &Daemon{Process: p, Bootstrap: addr, Took: time.Since(begin)}, nil
	case <-ctx.Done():
		p.Kill()
		return nil, fmt.Errorf("the daemon was not ready: %w", ctx.Err())
	}
}

// Stop ends the daemon with SIGTERM; the error is that of an exit status other than 0, or that it took too long.
func (d *Daemon) Stop(timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return errors.Join(d.Process.Stop(ctx), d.Err())
}

// Hang stops the process as SIGSTOP does; Wake lets it go on.
func (d *Daemon) Hang() error { return d.Signal(syscall.SIGSTOP) }

// Wake ends what Hang began.
func (d *Daemon) Wake() error { return d.Signal(syscall.SIGCONT) }

// CPU returns the processor time used so far, in user and system mode together.
func (d *Daemon) CPU() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.Pid()))
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

// Resident returns the resident memory in bytes: all of it, and the part of it that is the process's own. The rest is page
// cache, seen through the mappings of the log and of the materialised copy.
func (d *Daemon) Resident() (all, own int64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.Pid()))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		for field, to := range map[string]*int64{"VmRSS:": &all, "RssAnon:": &own} {
			if rest, ok := strings.CutPrefix(line, field); ok {
				kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				if err != nil {
					return 0, 0, err
				}
				*to = kb << 10
			}
		}
	}
	if all == 0 || own == 0 {
		return 0, 0, errors.New("no resident memory in the process status")
	}
	return all, own, nil
}
