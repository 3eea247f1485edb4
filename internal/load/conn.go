package load

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// dialTimeout bounds connecting; answerTimeout bounds one answer of [Conn.Request].
const (
	dialTimeout   = 5 * time.Second
	answerTimeout = 30 * time.Second
)

// Conn is one connection to a Kafka listener, for one request at a time.
type Conn struct {
	net.Conn
	r    *bufio.Reader
	corr int32
}

// Dial connects to a listener.
func Dial(addr string) (*Conn, error) {
	c, err := net.DialTimeout("tcp", addr, dialTimeout)
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: c, r: bufio.NewReaderSize(c, 64<<10)}, nil
}

// Frame encodes req with its length and header.
func Frame(req kmsg.Request, corr int32) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("load")).AppendRequest(nil, req, corr)
}

// Request sends req and reads its answer.
func (c *Conn) Request(req kmsg.Request) (kmsg.Response, error) {
	if err := c.Send(req); err != nil {
		return nil, err
	}
	return c.Receive(req)
}

// Send sends req without waiting for the answer.
func (c *Conn) Send(req kmsg.Request) error {
	c.corr++
	_, err := c.Write(Frame(req, c.corr))
	return err
}

// Receive reads the answer to req, which was the oldest one without an answer.
func (c *Conn) Receive(req kmsg.Request) (kmsg.Response, error) {
	if err := c.SetReadDeadline(time.Now().Add(answerTimeout)); err != nil {
		return nil, err
	}
	frame, err := c.frame(nil)
	if err != nil {
		return nil, err
	}
	return decode(req, frame)
}

func decode(req kmsg.Request, frame []byte) (kmsg.Response, error) {
	r := kbin.Reader{Src: frame}
	r.Int32()
	resp := req.ResponseKind()
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		kmsg.SkipTags(&r)
	}
	if err := r.Complete(); err != nil && !r.Ok() {
		return nil, fmt.Errorf("answer header: %w", err)
	}
	return resp, resp.ReadFrom(r.Src)
}

// frame reads one answer without its length into buf, which grows as needed.
func (c *Conn) frame(buf []byte) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c.r, size[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(size[:]))
	if n < 4 || n > 100<<20 {
		return nil, fmt.Errorf("answer of %d bytes", n)
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	_, err := io.ReadFull(c.r, buf)
	return buf, err
}
