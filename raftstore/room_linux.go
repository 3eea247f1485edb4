package raftstore

import (
	"os"

	"golang.org/x/sys/unix"
)

// reserve has the file system set n bytes aside for the file, which costs no writing.
func reserve(f *os.File, n int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, n)
		if err != unix.EINTR {
			return err
		}
	}
}
