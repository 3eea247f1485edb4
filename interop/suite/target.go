package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/coordinatord/coordinatord/internal/proc"
	"github.com/coordinatord/coordinatord/internal/realkafka"
)

// A Target is what clients are pointed at.
type Target interface {
	// Bootstrap is the bootstrap.servers string.
	Bootstrap() string
	// Kafka is the bootstrap.servers string of the brokers themselves.
	Kafka() string
	// Crash ends the coordinator with SIGKILL and starts it again. It
	// returns once it is ready.
	Crash(ctx context.Context) error
	// Close ends what the target started.
	Close() error
}

// Direct is an Apache Kafka of its own: the control.
type Direct struct{ cluster *realkafka.Cluster }

// StartDirect starts one broker.
func StartDirect(ctx context.Context, heap string) (*Direct, error) {
	cluster, err := realkafka.Start(ctx, realkafka.Options{Heap: heap})
	if err != nil {
		return nil, err
	}
	return &Direct{cluster}, nil
}

// Bootstrap is the address of the broker.
func (d *Direct) Bootstrap() string { return d.cluster.Bootstrap() }

// Kafka is the address of the broker.
func (d *Direct) Kafka() string { return d.cluster.Bootstrap() }

// Crash kills the broker, which is the coordinator, and starts it again.
func (d *Direct) Crash(ctx context.Context) error {
	b := d.cluster.Brokers()[0]
	b.Kill()
	return b.Start(ctx)
}

// Close ends the broker.
func (d *Direct) Close() error { return d.cluster.Close() }

// Beside is a Kafka that others use too. It does not crash and is not ended.
func Beside(cluster *realkafka.Cluster) Target { return beside{cluster} }

type beside struct{ cluster *realkafka.Cluster }

func (b beside) Bootstrap() string           { return b.cluster.Bootstrap() }
func (b beside) Kafka() string               { return b.cluster.Bootstrap() }
func (b beside) Crash(context.Context) error { return errors.New("others use this Kafka") }
func (b beside) Close() error                { return nil }

// Daemon is a coordinatord of its own beside a Kafka that others use too.
type Daemon struct {
	kafka  string
	dir    string
	log    *os.File
	server *proc.Server
	daemon *proc.Daemon
}

// StartDaemon starts the daemon with a data directory and a log in dir, which
// it empties.
func StartDaemon(ctx context.Context, bin, dir string, cluster *realkafka.Cluster) (*Daemon, error) {
	// What an earlier run left is of another Kafka.
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "coordinatord.log"))
	if err != nil {
		return nil, err
	}
	d := &Daemon{kafka: cluster.Bootstrap(), dir: dir, log: log}
	d.server, err = proc.NewServer(bin, filepath.Join(dir, "data"), d.kafka, cluster.Brokers()[0].ID, log,
		// As the brokers of realkafka have it.
		"--group.initial.rebalance.delay.ms=0")
	if err != nil {
		return nil, err
	}
	if d.daemon, err = d.server.Start(ctx); err != nil {
		return nil, fmt.Errorf("%w; see %s", err, log.Name())
	}
	return d, nil
}

// Bootstrap is the address of the daemon.
func (d *Daemon) Bootstrap() string { return d.server.Bootstrap }

// Kafka is the address of the brokers.
func (d *Daemon) Kafka() string { return d.kafka }

// Crash kills the daemon and starts it again.
func (d *Daemon) Crash(ctx context.Context) error {
	d.daemon.Kill()
	_, _ = io.WriteString(d.log, "---- killed ----\n")
	var err error
	d.daemon, err = d.server.Start(ctx)
	return err
}

// Took is how long the last start took until it was ready.
func (d *Daemon) Took() time.Duration { return d.daemon.Took }

// Close ends the daemon with SIGTERM and says whether it exits 0.
func (d *Daemon) Close() error {
	defer d.server.Close()
	defer func() { _ = d.log.Close() }()
	if d.daemon == nil {
		return nil
	}
	if err := d.daemon.Stop(15 * time.Second); err != nil {
		return fmt.Errorf("the daemon on SIGTERM: %w; see %s", err, d.log.Name())
	}
	return nil
}
