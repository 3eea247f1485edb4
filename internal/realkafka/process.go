package realkafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Process is a child process that does not outlive this one: the kernel kills
// it when this process ends, however it ends.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // Closed once the process was waited for.
	err  error         // What Wait said; valid after done.
}

// StartProcess starts cmd. Nothing but the methods of the result may be used
// on cmd afterwards.
func StartProcess(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	// Ctrl-C at a terminal is for this process, which ends its children.
	cmd.SysProcAttr.Setpgid = true
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The death signal is sent when the thread that forked ends, not the
		// process (golang.org/issue/27505): keep that thread until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("realkafka: start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the process ended, as exec.Cmd.Wait says it; nil while it runs.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Signal sends a signal; a process that has ended already is not an error.
func (p *Process) Signal(sig syscall.Signal) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("realkafka: signal %d: %w", p.Pid(), err)
	}
	return nil
}

// Kill ends the process with SIGKILL and waits for its end.
func (p *Process) Kill() {
	_ = p.Signal(syscall.SIGKILL)
	<-p.done
}

// Stop sends SIGTERM and waits for the end, with SIGKILL once ctx is done. The
// error says that it came to that.
func (p *Process) Stop(ctx context.Context) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	// A paused process would not see the signal.
	_ = p.Signal(syscall.SIGCONT)
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("realkafka: process %d did not end on SIGTERM: %w", p.Pid(), ctx.Err())
	}
}

// discardIfNil is w, or a writer that drops everything.
func discardIfNil(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}
