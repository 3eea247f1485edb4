//go:build durability

package crash

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coordinatord/coordinatord/internal/load"
	"github.com/coordinatord/coordinatord/internal/proc"
)

// These tests count syncs from outside, with strace: make durability.

// serialCommits is how many commits the serial client makes.
const serialCommits = 500

func TestEachSerialCommitIsSynced(t *testing.T) {
	require.GreaterOrEqual(t, syncsOf(t, nil), serialCommits)
}

func TestMissingSyncsAreSeen(t *testing.T) {
	require.Less(t, syncsOf(t, []string{"plant_nosync"}), serialCommits)
}

var syncCall = regexp.MustCompile(`\b(fsync|fdatasync|msync|sync_file_range)\(\d+<([^>]*)>`)

// syncsOf returns how many syncs of files of the Raft log the daemon makes while a serial client makes serialCommits commits.
func syncsOf(t *testing.T, tags []string) int {
	t.Helper()
	_, err := exec.LookPath("strace")
	require.NoError(t, err, "strace is needed (apt-get install strace)")
	bin, err := proc.Build(t.Context(), t.TempDir(), tags...)
	require.NoError(t, err)
	start := device(t, os.Stderr, bin)
	d := start()
	defer d.Kill()
	c, err := load.Dial(d.Bootstrap)
	require.NoError(t, err)
	defer c.Close()
	commit := func(offset int64) {
		resp, err := c.Request(load.CommitRequest("serial", topic, partitions, offset))
		require.NoError(t, err)
		require.NoError(t, load.CheckCommit(resp))
	}
	commit(0)

	out := filepath.Join(t.TempDir(), "trace")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	trace := exec.CommandContext(ctx, "strace", "-f", "-y", "-e", "trace=fsync,fdatasync,msync,sync_file_range", "-o", out, "-p", strconv.Itoa(d.Pid()))
	messages, err := trace.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, trace.Start())
	attached := bufio.NewScanner(messages)
	require.True(t, attached.Scan(), "strace did not attach")
	for i := range serialCommits {
		commit(int64(i) + 1)
	}
	d.Kill()
	for attached.Scan() {
	}
	_ = trace.Wait()
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	n := 0
	for _, m := range syncCall.FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(m[2], "/raft/0/") && filepath.Base(m[2]) != "state.db" {
			n++
		}
	}
	fmt.Printf("%d serial commits, %d syncs of the log (tags %v)\n", serialCommits, n, tags)
	return n
}
