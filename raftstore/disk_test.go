package raftstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestDiskFull: the process says why it ends, and everything it had acknowledged is there once there is room again.
func TestDiskFull(t *testing.T) {
	fill := func(t *testing.T, cfg Config, limit uint64) map[int]int {
		c := startChild(t, childSpec{Config: cfg, Size: 20_000, Limit: limit})
		c.read(unlimited)
		_ = c.cmd.Wait()
		require.Equal(t, 3, c.cmd.ProcessState.ExitCode(), "the fatal hook ended the process: %s", c.stderr.String())
		require.Contains(t, c.stderr.String(), "FATAL raftstore: ")
		require.NotZero(t, c.total)
		t.Logf("%d acknowledged, then: %s", c.total, c.stderr.String())
		return c.acked
	}
	logStores(t, func(t *testing.T, kind string) {
		t.Run("file system", func(t *testing.T) {
			cfg := testConfig(t, t.TempDir())
			cfg.LogStore, cfg.WriteBehind = kind, 20*time.Millisecond
			err := unix.Mount("tmpfs", cfg.Dir, "tmpfs", 0, "size=24m")
			if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
				t.Skip("only root can mount a small file system; the limit below takes its place")
			}
			require.NoError(t, err)
			t.Cleanup(func() { _ = unix.Unmount(cfg.Dir, unix.MNT_DETACH) })
			if kind == LogStoreWAL {
				// A segment of 64 MiB is allocated at once.
				require.NoError(t, unix.Mount("tmpfs", cfg.Dir, "tmpfs", unix.MS_REMOUNT, "size=100m"))
			}
			acked := fill(t, cfg, 0)
			if kind == LogStoreBBolt {
				_, err = Open(cfg, newModel())
				require.ErrorIs(t, err, ErrNoRoom, "a start on the full disk says so and changes nothing")
				require.ErrorContains(t, err, "a start needs 16 MiB, and ")
				require.NoFileExists(t, filepath.Join(cfg.Dir, "room"))
			}
			require.NoError(t, unix.Mount("tmpfs", cfg.Dir, "tmpfs", unix.MS_REMOUNT, "size=400m"))
			checkAcked(t, cfg, acked)
		})
	})
	t.Run("limit", func(t *testing.T) {
		cfg := testConfig(t, t.TempDir())
		acked := fill(t, cfg, 20<<20)
		checkAcked(t, cfg, acked)
	})
}

// TestRoomWithoutPromise: where the file system cannot set room aside, it is written.
func TestRoomWithoutPromise(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "room"))
	require.NoError(t, err)
	require.NoError(t, writeZeros(f, 3<<20+5))
	info, err := f.Stat()
	require.NoError(t, err)
	require.Equal(t, int64(3<<20+5), info.Size())
	require.NoError(t, f.Close())

	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	require.ErrorIs(t, writeZeros(full, 1), unix.ENOSPC)
	require.NoError(t, full.Close())
}
