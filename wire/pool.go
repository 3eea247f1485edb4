package wire

import "sync"

// bufSize is the size of the buffers of both directions: what one read or write system call moves at most. 64 KiB is where
// the measured throughput of a pump stops growing.
const bufSize = 64 << 10

var bufs = sync.Pool{New: func() any { return new([bufSize]byte) }}

func takeBuf() []byte { return bufs.Get().(*[bufSize]byte)[:] }

// giveBuf takes back what takeBuf gave; a buffer that has grown beyond the pool's size is left to the collector.
func giveBuf(b []byte) {
	if cap(b) == bufSize {
		bufs.Put((*[bufSize]byte)(b[:bufSize]))
	}
}
