package wire

import (
	"encoding/binary"
	"fmt"
)

const (
	// DefaultMaxRequestBytes is Kafka's socket.request.max.bytes.
	DefaultMaxRequestBytes = 100 << 20

	sizeLen      = 4
	fixedHeader  = 8  // key, version, correlation id
	minFrameSize = 10 // and the length of the client id
)

// FrameError says why a peer's bytes cannot be a frame. It is one line, for the log.
type FrameError struct {
	Size   int32  // what the length prefix said
	Reason string // what is wrong and, where the bytes give it away, what the peer really speaks
}

func (e *FrameError) Error() string { return fmt.Sprintf("frame of %d bytes: %s", e.Size, e.Reason) }

// CheckRequestSize judges the length prefix of a request. A wrong one is named for what it usually is: most reports of
// "invalid frame size" are TLS or HTTP on a plaintext port.
func CheckRequestSize(size, limit int32) error {
	if size >= minFrameSize && size <= limit {
		return nil
	}
	if speaks := foreign(size); speaks != "" {
		return &FrameError{Size: size, Reason: speaks}
	}
	switch {
	case size < 0:
		return &FrameError{Size: size, Reason: "the length is negative"}
	case size < minFrameSize:
		return &FrameError{Size: size, Reason: "too short for a request header"}
	}
	return &FrameError{Size: size, Reason: fmt.Sprintf("larger than the limit of %d bytes", limit)}
}

// CheckResponseSize judges the length prefix of a broker's response. A Fetch response may be of any size, so there is no
// upper limit here; whoever buffers one sets it.
func CheckResponseSize(size int32) error {
	if speaks := foreign(size); speaks != "" && size > DefaultMaxRequestBytes {
		return &FrameError{Size: size, Reason: speaks}
	}
	switch {
	case size < 0:
		return &FrameError{Size: size, Reason: "the length is negative"}
	case size < 4:
		return &FrameError{Size: size, Reason: "too short for a response header"}
	}
	return nil
}

// foreign recognises the first four bytes of other protocols.
func foreign(size int32) string {
	var b [sizeLen]byte
	binary.BigEndian.PutUint32(b[:], uint32(size))
	switch {
	case b[0] == 0x16 && b[1] == 3:
		return "this is a TLS ClientHello; the port speaks plaintext, so set the client's security.protocol to PLAINTEXT or SASL_PLAINTEXT"
	case b[0] == 0x15 && b[1] == 3:
		return "this is a TLS alert; the other side speaks TLS and this side plaintext"
	}
	switch string(b[:]) {
	case "GET ", "POST", "HEAD", "PUT ", "OPTI", "CONN", "PRI ", "HTTP":
		return "this is HTTP; the port speaks the Kafka protocol"
	case "SSH-":
		return "this is SSH; the port speaks the Kafka protocol"
	case "PROX":
		return "this is a PROXY protocol header, which is not supported"
	}
	return ""
}
