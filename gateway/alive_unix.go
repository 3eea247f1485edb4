//go:build unix

package gateway

import "golang.org/x/sys/unix"

// silent says whether a socket is open and has nothing to read.
func silent(fd uintptr) bool {
	var b [1]byte
	_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return err == unix.EAGAIN || err == unix.EINTR
}
