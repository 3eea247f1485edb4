package differential

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/coordinatord/coordinatord/internal/realkafka"
)

// root is the top of the repository that this file belongs to.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// buildDaemon builds the daemon with build tags into a temporary directory.
func buildDaemon(ctx context.Context, tags string) (binary string, remove func() error, err error) {
	dir, err := os.MkdirTemp("", "differential-")
	if err != nil {
		return "", nil, err
	}
	binary = filepath.Join(dir, "coordinatord")
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", tags, "-o", binary, "./cmd/coordinatord")
	cmd.Dir = root()
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, fmt.Errorf("build the daemon: %w\n%s", err, out)
	}
	return binary, func() error { return os.RemoveAll(dir) }, nil
}

// A daemonProcess is a running daemon in front of one broker.
type daemonProcess struct {
	target *Target
	proc   *realkafka.Process
	binary string
	args   []string
	dir    string
	log    *os.File
	ports  *realkafka.Ports
}

// startDaemon starts a daemon with a profile's settings and waits until it is ready.
func startDaemon(ctx context.Context, binary string, p Profile, kafka *Target, logPrefix string) (*daemonProcess, error) {
	ports, err := realkafka.ReservePorts(3)
	if err != nil {
		return nil, err
	}
	d := &daemonProcess{ports: ports, binary: binary}
	if d.dir, err = os.MkdirTemp("", "differential-data-"); err != nil {
		ports.Release()
		return nil, err
	}
	name := filepath.Join(d.dir, "daemon.log")
	if logPrefix != "" {
		name = fmt.Sprintf("%s.%s.log", logPrefix, p)
	}
	if d.log, err = os.Create(name); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	local := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports.Numbers[i]) }
	d.args = []string{
		"serve", "--kafka-brokers", kafka.Broker, "--data-dir", filepath.Join(d.dir, "data"),
		"--listen", local(0), "--advertise-host", "127.0.0.1",
		"--broker-ports", fmt.Sprintf("%d-%d", ports.Numbers[1], ports.Numbers[1]), "--first-broker-id", "1",
		"--http", local(2),
	}
	settings := p.Settings()
	for _, n := range slices.Sorted(maps.Keys(settings)) {
		d.args = append(d.args, "--"+n+"="+settings[n])
	}
	d.target = &Target{Name: "coordinatord", Daemon: true, Broker: kafka.Broker, Topics: kafka.Topics, ClusterID: kafka.ClusterID}
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// start runs the daemon until it says where it listens and answers for groups.
func (d *daemonProcess) start(ctx context.Context) error {
	cmd := exec.Command(d.binary, d.args...)
	cmd.Stderr = d.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if d.proc, err = realkafka.StartProcess(cmd); err != nil {
		return err
	}
	boot := make(chan string, 1)
	go func() {
		sc := bufio.NewScanner(out)
		for sc.Scan() {
			if addr, ok := strings.CutPrefix(sc.Text(), "BOOTSTRAP="); ok {
				boot <- addr
			}
		}
		close(boot)
	}()
	select {
	case d.target.Bootstrap = <-boot:
	case <-time.After(time.Minute):
	case <-ctx.Done():
	}
	if d.target.Bootstrap == "" {
		text, _ := os.ReadFile(d.log.Name())
		return fmt.Errorf("the daemon did not become ready:\n%s", text[max(0, len(text)-4000):])
	}
	if err := d.target.findCoordinator(); err != nil {
		return fmt.Errorf("through the daemon: %w", err)
	}
	return nil
}

// restart stops the daemon with SIGTERM and starts it again on the same data and ports.
func (d *daemonProcess) restart(ctx context.Context) error {
	if err := d.proc.Stop(ctx); err != nil {
		return err
	}
	if err := d.proc.Err(); err != nil {
		return fmt.Errorf("the daemon, stopped in order: %w", err)
	}
	d.target.Bootstrap = ""
	return d.start(ctx)
}

// Close ends the daemon and removes its data.
func (d *daemonProcess) Close() error {
	var errs []error
	if d.proc != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		errs = append(errs, d.proc.Stop(ctx))
	}
	d.ports.Release()
	if d.log != nil {
		_ = d.log.Close()
	}
	return errors.Join(append(errs, os.RemoveAll(d.dir))...)
}
