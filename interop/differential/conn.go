package differential

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxAnswer bounds one answer, in bytes; no answer of the suite comes near it.
const maxAnswer = 16 << 20

// A Conn is one TCP connection of a sequence to its target. It frames requests itself, at exactly the version asked
// for, and reads answers in the background, so that a sequence can leave requests parked and pipeline others.
type Conn struct {
	script   *Script
	name     string
	clientID *string
	tcp      net.Conn

	mu      sync.Mutex
	corr    int32
	sent    int
	waiting []*Call
	gone    bool
}

// A Call is one request in flight. Its outcome is recorded when the sequence asks for it (Answer, Silent, …), so the
// recorded order is that of the script and not that of arrival.
type Call struct {
	conn    *Conn
	label   string
	corr    int32
	request kmsg.Request // nil for raw bytes
	key     int16
	version int16
	sentAt  time.Time

	done     chan struct{} // closed when body, or closed, is set
	body     []byte        // after the correlation id
	closed   bool          // the target closed the connection instead of answering
	disorder string        // not empty: the correlation id was not the next one expected
	at       time.Time

	member *Member // whose JoinGroup this is
}

func dial(s *Script, addr, name string, clientID *string) (*Conn, error) {
	tcp, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	c := &Conn{script: s, name: name, clientID: clientID, tcp: tcp}
	go c.read()
	return c, nil
}

// read delivers answers to the waiting calls, in order, until the connection ends.
func (c *Conn) read() {
	r := bufio.NewReader(c.tcp)
	for {
		body, corr, err := readAnswer(r)
		c.mu.Lock()
		if err != nil || len(c.waiting) == 0 {
			c.gone = true
			for _, w := range c.waiting {
				w.closed, w.at = true, time.Now()
				close(w.done)
			}
			c.waiting = nil
			c.mu.Unlock()
			_ = c.tcp.Close()
			return
		}
		w := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.mu.Unlock()
		if corr != w.corr {
			w.disorder = fmt.Sprintf("correlation id %d answered where %d was next", corr, w.corr)
		}
		w.body, w.at = body, time.Now()
		close(w.done)
	}
}

func readAnswer(r io.Reader) (body []byte, corr int32, err error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:4]); err != nil {
		return nil, 0, err
	}
	size := int32(binary.BigEndian.Uint32(head[:4]))
	if size < 4 || size > maxAnswer {
		return nil, 0, fmt.Errorf("answer of %d bytes", size)
	}
	if _, err := io.ReadFull(r, head[4:]); err != nil {
		return nil, 0, err
	}
	body = make([]byte, size-4)
	_, err = io.ReadFull(r, body)
	return body, int32(binary.BigEndian.Uint32(head[4:])), err
}

// Send sends a request at the version set in it and does not wait.
func (c *Conn) Send(req kmsg.Request) *Call {
	return c.send(req, req.Key(), req.GetVersion(), req.IsFlexible(), req.AppendTo(nil))
}

// SendRaw sends a body as it is, for requests that the library cannot or will not encode.
func (c *Conn) SendRaw(key, version int16, flexible bool, body []byte) *Call {
	return c.send(nil, key, version, flexible, body)
}

func (c *Conn) send(req kmsg.Request, key, version int16, flexible bool, body []byte) *Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.corr++
	c.sent++
	call := &Call{
		conn: c, corr: c.corr, request: req, key: key, version: version,
		label: fmt.Sprintf("%s#%d %s v%d", c.name, c.sent, apiName(key), version),
		done:  make(chan struct{}), sentAt: time.Now(),
	}
	if c.gone {
		call.closed, call.at = true, call.sentAt
		close(call.done)
		return call
	}
	c.waiting = append(c.waiting, call)
	c.script.sent(key, version)
	if _, err := c.tcp.Write(frame(key, version, call.corr, c.clientID, flexible, body)); err != nil && !errors.Is(err, net.ErrClosed) {
		// The reader sees the same end of the connection and settles the call.
		_ = c.tcp.Close()
	}
	return call
}

// frame builds size, request header v1 or v2 and body.
func frame(key, version int16, corr int32, clientID *string, flexible bool, body []byte) []byte {
	b := make([]byte, 4, 64+len(body))
	b = binary.BigEndian.AppendUint16(b, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(corr))
	if clientID == nil {
		b = binary.BigEndian.AppendUint16(b, 0xffff)
	} else {
		b = binary.BigEndian.AppendUint16(b, uint16(len(*clientID)))
		b = append(b, *clientID...)
	}
	if flexible {
		b = append(b, 0)
	}
	b = append(b, body...)
	binary.BigEndian.PutUint32(b[:4], uint32(len(b)-4))
	return b
}

// Do sends a request and records its answer.
func (c *Conn) Do(req kmsg.Request) kmsg.Response { return c.Send(req).Answer() }

// Close ends the connection from the client's side.
func (c *Conn) Close() { _ = c.tcp.Close() }

// response decodes the answer. exact is false when encoding it again does not give the same bytes: bytes left over,
// a tag that is not known, or a length written in an unusual way.
func (c *Call) response() (resp kmsg.Response, exact bool, err error) {
	req := c.request
	if req == nil {
		req = kmsg.RequestForKey(c.key)
		if req == nil {
			return nil, false, fmt.Errorf("answer of %d bytes to an unknown api key", len(c.body))
		}
		req.SetVersion(c.version)
	}
	resp = req.ResponseKind()
	body := c.body
	if av, ok := resp.(*kmsg.ApiVersionsResponse); ok {
		// The header is v0 in every version; an unsupported version is answered in the layout of v0.
		if len(body) >= 2 && binary.BigEndian.Uint16(body) == 35 {
			av.SetVersion(0)
		}
	} else if resp.IsFlexible() {
		if len(body) == 0 || body[0] != 0 {
			return nil, false, errors.New("response header carries tags or is missing")
		}
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, false, fmt.Errorf("decode: %w", err)
	}
	return resp, string(resp.AppendTo(nil)) == string(body), nil
}
