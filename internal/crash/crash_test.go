package crash

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coordinatord/coordinatord/internal/proc"
	"github.com/coordinatord/coordinatord/internal/realkafka"
)

var (
	kills    = flag.Int("kills", 10, "how often the daemon is killed in TestAcknowledgedCommitsSurviveKill9")
	logStore = flag.String("raft-log-store", "bbolt", "bbolt or wal")
)

// device is a daemon with its own stand-in for Kafka, on reserved ports.
func device(t *testing.T, log io.Writer, bin string) (start func() *proc.Daemon) {
	t.Helper()
	ports, err := realkafka.ReservePorts(6)
	require.NoError(t, err)
	t.Cleanup(ports.Release)
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports.Numbers[i]) }
	args := []string{
		"dev", "--data-dir", filepath.Join(t.TempDir(), "data"), "--listen", at(0), "--http", at(1), "--advertise-host", "127.0.0.1",
		"--broker-ports", fmt.Sprintf("%d-%d", ports.Numbers[2], ports.Numbers[5]), "--topics", fmt.Sprintf("%s:%d", topic, partitions),
		// Small enough that kills fall into snapshots, truncation and the write-behind.
		"--raft-log-store", *logStore, "--raft-snapshot-interval", "30ms", "--raft-snapshot-threshold", "20", "--raft-trailing-logs", "20", "--raft-write-behind", "20ms",
		"--log-level", "debug",
	}
	return func() *proc.Daemon {
		d, err := proc.Start(t.Context(), bin, log, args...)
		require.NoError(t, err)
		return d
	}
}

func TestAcknowledgedCommitsSurviveKill9(t *testing.T) {
	bin, err := proc.Build(t.Context(), t.TempDir())
	require.NoError(t, err)
	var log lines
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(log.tail(60))
		}
	})
	start := device(t, &log, bin)
	groups := make([]*ledger, 40)
	for i := range groups {
		groups[i] = &ledger{group: fmt.Sprintf("crash-%d", i)}
	}
	const clients = 8
	shares := spread(groups, clients)

	d := start()
	var total atomic.Int64
	for kill := range *kills {
		enough := total.Load() + 200 + rand.Int64N(4000)
		var killed sync.WaitGroup
		killed.Go(func() {
			// The kill comes after a random number of acknowledged commits, or after a while on a slow disk.
			for deadline := time.Now().Add(5 * time.Second); total.Load() < enough && time.Now().Before(deadline); {
				time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond) // lands anywhere in what the daemon does
			}
			d.Kill()
		})
		err := all(shares, func(mine []*ledger) error { return commitUntilCut(d.Bootstrap, mine, &total) })
		killed.Wait()
		require.NoError(t, err)
		d = start()
		require.NoError(t, all(shares, func(mine []*ledger) error { return verify(d.Bootstrap, mine) }), "after kill %d", kill+1)
	}
	require.NoError(t, d.Stop(30*time.Second))
	require.Positive(t, total.Load())
	snapshots := log.begun()
	require.Positive(t, snapshots, "no kill can have fallen into one")
	t.Logf("%d kills, %d acknowledged commits, 0 lost; %d snapshots begun in the logs", *kills, total.Load(), snapshots)
}

// lines keeps the end of a log.
type lines struct {
	mu        sync.Mutex
	buf       bytes.Buffer
	snapshots int
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.snapshots += bytes.Count(p, []byte("starting snapshot up to")) // Raft's words; those of a lone voter are for debugging
	if l.buf.Len() > 1<<20 {
		l.buf.Next(l.buf.Len() / 2)
	}
	return l.buf.Write(p)
}

// begun is how many snapshots the daemons have begun.
func (l *lines) begun() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.snapshots
}

func (l *lines) tail(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := strings.Split(strings.TrimSpace(l.buf.String()), "\n")
	return strings.Join(all[max(0, len(all)-n):], "\n")
}
