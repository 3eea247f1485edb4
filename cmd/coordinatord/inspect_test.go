package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// inspect reads the state as the next start finds it: after a stop from the copy, after a kill with the log's tail too.
func TestInspect(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"bbolt", "wal"} {
		t.Run(store, func(t *testing.T) {
			dir, p := t.TempDir(), freePorts(t, 1)
			args := append([]string{"dev", "--data-dir", dir, "--topics", "orders:2", "--raft-log-store", store}, p.args()...)
			inspect := func(more ...string) result {
				return runCommand(t, nil, append([]string{"inspect", "--data-dir", dir}, more...)...)
			}
			d := start(t, args...)
			admin := adminClient(t, d.bootstrap)
			require.NoError(t, commitOffset(t, admin, "g", "orders", 1, 42))

			r := inspect()
			require.Equal(t, exitFailed, r.code, r.stdout)
			require.Contains(t, r.stderr, "in use")
			d.kill()

			r = inspect("--group", "g")
			require.Equal(t, exitOK, r.code, r.stderr)
			require.Contains(t, r.stdout, "group g: Empty")
			require.Regexp(t, `(?m)^orders +1 +42 `, r.stdout)
			r = inspect("--group", "none")
			require.Equal(t, exitFailed, r.code)
			require.Contains(t, r.stderr, "there is no group none")

			d = start(t, args...)
			require.NoError(t, commitOffset(t, adminClient(t, d.bootstrap), "g", "orders", 0, 7))
			require.Equal(t, exitOK, d.terminate())
			r = inspect("--output", "json")
			require.Equal(t, exitOK, r.code, r.stderr)
			var got inspection
			require.NoError(t, json.Unmarshal([]byte(r.stdout), &got))
			require.Equal(t, uint64(1), got.NodeID)
			require.Equal(t, store, got.LogStore)
			require.Len(t, got.Topics, 1)
			require.Len(t, got.Groups, 1)
			require.Len(t, got.Groups[0].Offsets, 2)
			require.Equal(t, int64(7), got.Groups[0].Offsets[0].Offset)
			require.Equal(t, int64(42), got.Groups[0].Offsets[1].Offset)
			require.Equal(t, exitOK, inspect("--entries").code)
		})
	}
	r := runCommand(t, nil, "inspect", "--data-dir", t.TempDir())
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.stderr, "no data directory")
}
