package raftstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// roomBytes is what has to be free for a start. With less the process would serve, and end as soon as it has written the
// little that is left, again and again under a supervisor.
const roomBytes = 16 << 20

// ErrNoRoom is the error of Open on a file system that is full, or a quota that is used up.
var ErrNoRoom = errors.New("raftstore: the disk is full")

// checkRoom takes the room that a start needs and gives it back. What the file system says of its free space is not enough:
// there are quotas.
func checkRoom(dir string) (err error) {
	path := filepath.Join(dir, "room")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err == nil {
		if err = reserve(f, roomBytes); errors.Is(err, errors.ErrUnsupported) {
			err = writeZeros(f, roomBytes)
		}
		err = errors.Join(err, f.Close(), os.Remove(path))
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%w: a start needs %d MiB, and %s", ErrNoRoom, roomBytes>>20, freeSpace(dir))
	}
	return fmt.Errorf("raftstore: %s cannot be written: %w", path, err)
}

// writeZeros is for file systems that cannot promise room without writing.
func writeZeros(f *os.File, n int) error {
	zeros := make([]byte, 1<<20)
	for ; n > 0; n -= len(zeros) {
		if _, err := f.Write(zeros[:min(n, len(zeros))]); err != nil {
			return err
		}
	}
	return f.Sync()
}
