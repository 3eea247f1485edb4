//go:build unix

package wire

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// rawReads: descriptors can be read without waiting.
const rawReads = true

// readOnce is one attempt of a read on the non-blocking descriptor: true when the read has ended, false to wait until the
// descriptor is readable.
func (r *Reader) readOnce(fd uintptr) bool {
	r.unstash()
	for {
		n, err := unix.Read(int(fd), r.room())
		switch {
		case n > 0:
			r.w += n
			r.total += uint64(n)
			return true
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			if r.err = r.block(); r.err != nil {
				return true
			}
			r.park()
			r.err = r.arm()
			return r.err != nil
		case err != nil:
			r.park()
			r.err = os.NewSyscallError("read", err)
		default:
			r.park()
			r.err = io.EOF
		}
		return true
	}
}
