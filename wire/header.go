package wire

import (
	"encoding/binary"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// errShort asks for more bytes of the frame than are buffered.
var errShort = errors.New("the request ends inside its header")

// Header is the part of a request that every request has.
type Header struct {
	Key, Version int16
	Corr         int32 // correlation id, repeated in the response
	Size         int32 // of the frame, without the length prefix itself
}

// parseHeader reads the length prefix and the fixed part of the header; b holds at least 12 bytes.
func parseHeader(b []byte) Header {
	return Header{
		Size:    int32(binary.BigEndian.Uint32(b)),
		Key:     int16(binary.BigEndian.Uint16(b[4:])),
		Version: int16(binary.BigEndian.Uint16(b[6:])),
		Corr:    int32(binary.BigEndian.Uint32(b[8:])),
	}
}

// SplitRequest cuts a request frame (without its length prefix) into the client id and the body: request header v1, or v2
// with its tags for flexible versions. The client id is never compact, in no version (KIP-482). Both results alias frame.
func SplitRequest(h Header, frame []byte) (clientID, body []byte, err error) {
	if len(frame) < fixedHeader {
		return nil, nil, errShort
	}
	c := cursor{b: frame[fixedHeader:]}
	clientID = c.nullableString()
	if flexibleRequest(h.Key, h.Version) {
		c.skipTags()
	}
	if c.short {
		return nil, nil, errShort
	}
	return clientID, c.b, nil
}

// acks reads the acks of a Produce request from the beginning of its frame: the one field that decides whether an answer
// comes. It returns errShort when b does not reach that far.
func acks(version int16, b []byte) (int16, error) {
	c := cursor{b: b[fixedHeader:]}
	c.nullableString() // client id
	if version >= 9 {
		c.skipTags()
		c.compactString() // transactional id
	} else if version >= 3 {
		c.nullableString()
	}
	a := int16(c.uint16())
	if c.short {
		return 0, errShort
	}
	return a, nil
}

// ResponseHeaderTags says whether the response header is v1, which ends in tags (we send none: a zero byte). The header of
// an ApiVersions response is v0 in every version, so that a client of any age can read it (KIP-511).
func ResponseHeaderTags(key, version int16) bool {
	return key != int16(kmsg.ApiVersions) && flexibleRequest(key, version)
}

// appendResponseHeader appends the header that belongs to an answer to h.
func appendResponseHeader(dst []byte, key, version int16, corr int32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(corr))
	if ResponseHeaderTags(key, version) {
		dst = append(dst, 0)
	}
	return dst
}

// cursor reads the few primitive fields that headers are made of. After short is set every read yields nothing.
type cursor struct {
	b     []byte
	short bool
}

func (c *cursor) span(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.b, c.short = nil, true
		return nil
	}
	s := c.b[:n]
	c.b = c.b[n:]
	return s
}

func (c *cursor) uint16() uint16 {
	if s := c.span(2); s != nil {
		return binary.BigEndian.Uint16(s)
	}
	return 0
}

func (c *cursor) uvarint() uint32 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 || v > 1<<32-1 {
		c.b, c.short = nil, true
		return 0
	}
	c.b = c.b[n:]
	return uint32(v)
}

func (c *cursor) nullableString() []byte {
	if n := int16(c.uint16()); n > 0 {
		return c.span(int(n))
	}
	return nil
}

func (c *cursor) compactString() {
	if n := c.uvarint(); n > 1 {
		c.span(int(n - 1))
	}
}

func (c *cursor) skipTags() {
	for n := c.uvarint(); n > 0 && !c.short; n-- {
		c.uvarint()
		c.span(int(c.uvarint()))
	}
}

// SplitResponse cuts the header off a response frame (without its length prefix) that answers s; the body aliases frame.
func SplitResponse(s Slot, frame []byte) (body []byte, err error) {
	c := cursor{b: frame}
	c.span(4)
	if ResponseHeaderTags(s.Key, s.Version) {
		c.skipTags()
	}
	if c.short {
		return nil, errors.New("a response that ends inside its header")
	}
	return c.b, nil
}
