package abuse

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/coordinatord/coordinatord/internal/load"
	"github.com/coordinatord/coordinatord/internal/proc"
)

// TestDamagedDataDirectory: whatever happens to a file, the daemon either refuses to start, with one sentence that names
// the file, or has everything that was acknowledged.
func TestDamagedDataDirectory(t *testing.T) {
	const groups = 300
	d := startDev(t)
	c, err := load.Dial(d.Bootstrap)
	require.NoError(t, err)
	defer c.Close()
	for i := range groups {
		resp, err := c.Request(load.CommitRequest(fmt.Sprint("kept-", i), "steady", 8, int64(1000+i)))
		require.NoError(t, err)
		require.NoError(t, load.CheckCommit(resp))
	}
	d.Kill()
	damages := []struct {
		name string
		do   func(b []byte) []byte
	}{
		{"empty", func([]byte) []byte { return nil }},
		{"cut", func(b []byte) []byte { return b[:len(b)/200] }},
		{"zeros", func(b []byte) []byte { return make([]byte, len(b)) }},
		{"flipped", func(b []byte) []byte {
			for i := 0; i < len(b); i += 509 {
				b[i] ^= 0x55
			}
			return b
		}},
	}
	whole := d.dir
	for _, file := range []string{"meta", "brokers.json", "raft/0/log.db", "raft/0/stable.db", "raft/0/state.db"} {
		for _, damage := range damages {
			t.Run(file+"/"+damage.name, func(t *testing.T) {
				dir := copyDir(t, whole)
				path := filepath.Join(dir, filepath.FromSlash(file))
				b, err := os.ReadFile(path)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(path, damage.do(b), 0o600))

				args := append([]string(nil), d.args...)
				for i := range args {
					if args[i] == whole {
						args[i] = dir
					}
				}
				log := &logBuffer{}
				p, err := proc.Start(t.Context(), bin, log, args...)
				if err != nil {
					lines := strings.Split(strings.TrimSpace(log.String()), "\n")
					last := lines[len(lines)-1]
					require.True(t, strings.HasPrefix(last, "coordinatord: "), "%s", log)
					require.Contains(t, last, file)
					require.NotContains(t, log.String(), "goroutine ")
					return
				}
				defer p.Kill()
				for _, i := range []int{0, 1, groups / 2, groups - 1} {
					require.Equal(t, int64(1000+i), committed(t, p.Bootstrap, fmt.Sprint("kept-", i), "steady", 7))
				}
			})
		}
	}
}

// TestDataDirectoryRemoved: a daemon whose directory is removed ends at once and says why, for what it would go on to
// acknowledge could not be kept.
func TestDataDirectoryRemoved(t *testing.T) {
	d := startDev(t)
	c, err := load.Dial(d.Bootstrap)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, os.RemoveAll(filepath.Join(d.dir, "raft")))
	_, _ = c.Request(load.CommitRequest("homeless", "steady", 1, 1)) // something to be written down; it may be too late already
	select {
	case <-d.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the daemon goes on")
	}
	require.Error(t, d.Err())
	require.Contains(t, d.log.String(), "state.db")
}
