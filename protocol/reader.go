package protocol

import (
	"encoding/binary"
	"errors"
	"math"
)

var (
	errShort    = errors.New("the bytes end too early")
	errRange    = errors.New("a number is out of range")
	errTrailing = errors.New("bytes are left over")
)

// reader takes a record apart. The first error stays and every later read gives zero, so that only the end has to be
// looked at. It never trusts a length: what it allocates is bounded by the bytes that are really there.
type reader struct {
	src   []byte
	err   error
	names *interner
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.src = nil
}

func (r *reader) byte() byte {
	if len(r.src) == 0 {
		r.fail(errShort)
		return 0
	}
	b := r.src[0]
	r.src = r.src[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	if len(r.src) > 0 && r.src[0] < 0x80 {
		v := uint64(r.src[0])
		r.src = r.src[1:]
		return v
	}
	v, n := binary.Uvarint(r.src)
	if n <= 0 {
		r.fail(errShort)
		return 0
	}
	r.src = r.src[n:]
	return v
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *reader) int32() int32 {
	v := r.varint()
	if v < math.MinInt32 || v > math.MaxInt32 {
		r.fail(errRange)
		return 0
	}
	return int32(v)
}

// count reads the number of things that take at least size bytes each.
func (r *reader) count(size int) int {
	n := r.uvarint()
	if n > uint64(len(r.src)/size) {
		r.fail(errShort)
		return 0
	}
	return int(n)
}

// raw returns a length-prefixed piece of the source itself.
func (r *reader) raw() []byte {
	n := r.count(1)
	b := r.src[:n]
	r.src = r.src[n:]
	return b
}

// bytes returns a copy; nil when there are none.
func (r *reader) bytes() []byte {
	b := r.raw()
	if len(b) == 0 {
		return nil
	}
	return append([]byte(nil), b...)
}

// name is a string that occurs again and again.
func (r *reader) name() string { return r.names.intern(r.raw()) }

// namePtr is a nullable string: a length that is one too high, zero being null.
func (r *reader) namePtr() *string {
	n := r.uvarint()
	if n == 0 {
		return nil
	}
	if n-1 > uint64(len(r.src)) {
		r.fail(errShort)
		return nil
	}
	s := r.names.intern(r.src[:n-1])
	r.src = r.src[n-1:]
	return &s
}

func (r *reader) id() (id [16]byte) {
	if len(r.src) < len(id) {
		r.fail(errShort)
		return id
	}
	copy(id[:], r.src)
	r.src = r.src[len(id):]
	return id
}

func appendVarint(dst []byte, v int64) []byte { return binary.AppendVarint(dst, v) }

func appendString(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendBytes(dst, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

func appendStringPtr(dst []byte, s *string) []byte {
	if s == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(*s))+1)
	return append(dst, *s...)
}
