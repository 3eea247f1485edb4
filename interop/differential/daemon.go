package differential

import (
	"bufio"
	"context"
	"fmt"
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
	d := &daemonProcess{ports: ports}
	if d.dir, err = os.MkdirTemp("", "differential-data-"); err != nil {
		return nil, err
	}
	name := filepath.Join(d.dir, "daemon.log")
	if logPrefix != "" {
		name = fmt.Sprintf("%s.%s.log", logPrefix, p)
	}
	if d.log, err = os.Create(name); err != nil {
		return nil, err
	}
	local := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports.Numbers[i]) }
	args := []string{
		"serve", "--kafka-brokers", kafka.Broker, "--data-dir", filepath.Join(d.dir, "data"),
		"--listen", local(0), "--advertise-host", "127.0.0.1",
		"--broker-ports", fmt.Sprintf("%d-%d", ports.Numbers[1], ports.Numbers[1]), "--first-broker-id", "1",
		"--http", local(2),
	}
	settings := p.Settings()
	var names []string
	for n := range settings {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		args = append(args, "--"+n+"="+settings[n])
	}
	cmd := exec.Command(binary, args...)
	cmd.Stderr = d.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if d.proc, err = realkafka.StartProcess(cmd); err != nil {
		return nil, err
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
	var addr string
	select {
	case addr = <-boot:
	case <-time.After(30 * time.Second):
	case <-ctx.Done():
	}
	if addr == "" {
		text, _ := os.ReadFile(name)
		_ = d.Close()
		return nil, fmt.Errorf("the daemon did not become ready:\n%s", text[max(0, len(text)-4000):])
	}
	d.target = &Target{Name: "coordinatord", Daemon: true, Bootstrap: addr, Broker: kafka.Broker, Topics: kafka.Topics, ClusterID: kafka.ClusterID}
	if err := d.target.findCoordinator(); err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("through the daemon: %w", err)
	}
	return d, nil
}

// Close ends the daemon and removes its data.
func (d *daemonProcess) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := d.proc.Stop(ctx)
	d.ports.Release()
	_ = d.log.Close()
	if e := os.RemoveAll(d.dir); err == nil {
		err = e
	}
	return err
}
