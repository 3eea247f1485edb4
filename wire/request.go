package wire

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// readRequests takes requests until the client or an error ends them.
func (c *Conn) readRequests() error {
	for {
		h, err := c.next()
		if err != nil {
			return err
		}
		c.cfg.Metrics.Request(h.Key, h.Version)
		err = c.take(h)
		c.giveUnfinished()
		if err != nil {
			return err
		}
	}
}

// next waits for a request and returns its fixed header, whose bytes are buffered but not consumed.
func (c *Conn) next() (Header, error) {
	for {
		c.rd.SetTimeout(c.cfg.IdleTimeout)
		_, err := c.rd.Peek(1)
		if err == nil {
			break
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if c.waiting() {
				continue // a join may be parked for longer than a connection may be idle
			}
			return Header{}, fmt.Errorf("nothing was heard for %v: %w", c.cfg.IdleTimeout, io.EOF)
		}
		return Header{}, err
	}
	c.rd.SetProgress(c.cfg.ProgressTimeout)
	b, err := c.rd.Peek(sizeLen)
	if err != nil {
		return Header{}, unfinished(err)
	}
	// The length is judged as soon as it is there: four bytes of something else may be all that comes.
	size := int32(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]))
	if err := CheckRequestSize(size, c.cfg.MaxRequestBytes); err != nil {
		return Header{}, err
	}
	if b, err = c.rd.Peek(sizeLen + fixedHeader); err != nil {
		return Header{}, unfinished(err)
	}
	return parseHeader(b), nil
}

func unfinished(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("the client stopped in the middle of a request")
	}
	return err
}

func (c *Conn) waiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue.n > 0 && !c.closed
}

// take decides on one request and sees it through, to its end in the byte stream.
func (c *Conn) take(h Header) error {
	if h.Key == keySASLHandshake && h.Version == 0 {
		return c.refuseRawSASL(h)
	}
	if err := c.permitted(h); err != nil {
		return err
	}
	route, err := c.up.Route(h)
	if err != nil {
		return err
	}
	switch route {
	case Serve:
		return c.serve(h)
	case Look:
		return c.look(h)
	case Forward:
	}
	return c.forward(h)
}

// refuseRawSASL says no to the handshake after which tokens follow without frames (KIP-43), which could not be told from
// requests.
func (c *Conn) refuseRawSASL(h Header) error {
	if _, err := c.frame(h); err != nil {
		return err
	}
	resp := &kmsg.SASLHandshakeResponse{ErrorCode: codeUnsupportedVersion}
	if err := c.answer(h, Verdict{Resp: resp}); err != nil {
		return err
	}
	return errors.New("SaslHandshake version 0, after which raw SASL tokens follow, is not supported; the client must use version 1")
}

// permitted refuses what Kafka answers by closing the connection. ApiVersions is passed in every version: it has an
// answer of its own to those that nobody knows (KIP-511).
func (c *Conn) permitted(h Header) error {
	if h.Key == keyAPIVersions {
		return nil
	}
	lo, hi := int16(0), passedMax(h.Key, c.cfg.LeaderHints)
	switch ClassOf(h.Key) {
	case Hidden:
		return fmt.Errorf("api key %d is not served", h.Key)
	case Own:
		r, _ := OwnVersions(h.Key)
		lo, hi = r.Min, r.Max
	case Passed:
	}
	if h.Version < lo || h.Version > hi {
		return fmt.Errorf("api key %d is not served in version %d", h.Key, h.Version)
	}
	return nil
}

// serve hands a request to Local.
func (c *Conn) serve(h Header) error {
	frame, err := c.frame(h)
	if err != nil {
		return err
	}
	clientID, body, err := SplitRequest(h, frame)
	if err != nil {
		return fmt.Errorf("api key %d: %w", h.Key, err)
	}
	// A parked join keeps its place for minutes and may wait for other large joins to come, so it takes no room.
	large := len(body) > bufSize && h.Key != keyJoinGroup && h.Key != keySyncGroup
	if large {
		if err := c.takeLarge(h); err != nil {
			return err
		}
	}
	msg, err := Decode(h.Key, h.Version, body)
	if err != nil {
		c.giveLarge(large, h.Size)
		return err
	}
	if string(clientID) != c.client {
		c.client = string(clientID)
	}
	s := &served{Request: Request{Msg: msg, ClientID: c.client, Host: c.host, Broker: c.broker}}
	s.slot.conn = c
	s.Request.slot = &s.slot
	e := entry{Slot: Slot{Key: h.Key, Version: h.Version, Corr: h.Corr}, req: &s.Request, held: h.Size, large: large}
	if err := c.enqueue(e); err != nil {
		c.giveLarge(large, h.Size)
		return err
	}
	if c.up.Unsent() > 0 {
		// Serve may wait for the coordinator; the broker's requests do not have to.
		if err := c.up.Flush(); err != nil {
			return err
		}
	}
	c.local.Serve(&s.Request)
	return nil
}

// served is a request and its slot in one allocation.
type served struct {
	Request
	slot slot
}

// look reads a whole request and lets the upstream decide on it.
func (c *Conn) look(h Header) error {
	frame, err := c.frame(h)
	if err != nil {
		return err
	}
	_, body, err := SplitRequest(h, frame)
	if err != nil {
		return fmt.Errorf("api key %d: %w", h.Key, err)
	}
	v, err := c.up.Look(h, body)
	if err != nil {
		return err
	}
	if !v.Pass {
		return c.answer(h, v)
	}
	if err := c.up.Connect(h, true); err != nil {
		return c.refuse(h, body, err)
	}
	if err := c.enqueue(entry{Slot: Slot{Key: h.Key, Version: h.Version, Corr: h.Corr, Note: v.Note}}); err != nil {
		return err
	}
	var size [sizeLen]byte
	size[0], size[1], size[2], size[3] = byte(h.Size>>24), byte(h.Size>>16), byte(h.Size>>8), byte(h.Size)
	if err := c.up.Send(size[:]); err != nil {
		return err
	}
	return c.up.Send(frame)
}

// answer queues an answer that does not come from Local.
func (c *Conn) answer(h Header, v Verdict) error {
	e := entry{Slot: Slot{Key: h.Key, Version: h.Version, Corr: h.Corr}, body: v.Body, held: int32(len(v.Body))}
	if v.Resp != nil {
		e.req = &Request{slot: &slot{conn: c, resp: v.Resp, done: v.After <= 0}}
		e.held = h.Size
	}
	if e.req == nil && e.body == nil {
		return nil
	}
	if err := c.enqueue(e); err != nil {
		return err
	}
	if v.After > 0 {
		time.AfterFunc(v.After, func() { c.reply(e.req.slot, v.Resp) })
	}
	return nil
}

// refuse answers a request that could not be passed.
func (c *Conn) refuse(h Header, body []byte, cause error) error {
	if !c.up.Refusable(h) {
		return cause
	}
	v, err := c.up.Refuse(h, body)
	if err != nil {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	return c.answer(h, v)
}

// forward streams a request to the broker.
func (c *Conn) forward(h Header) error {
	answered := true
	if h.Key == keyProduce {
		a, err := c.peekAcks(h)
		if err != nil {
			return err
		}
		answered = a != 0
	}
	if err := c.up.Connect(h, answered); err != nil {
		if !c.up.Refusable(h) {
			return err
		}
		frame, ferr := c.frame(h)
		if ferr != nil {
			return ferr
		}
		_, body, serr := SplitRequest(h, frame)
		if serr != nil {
			return serr
		}
		return c.refuse(h, body, err)
	}
	if answered {
		// The slot is taken before the broker can answer.
		if err := c.enqueue(entry{Slot: Slot{Key: h.Key, Version: h.Version, Corr: h.Corr}}); err != nil {
			return err
		}
	}
	if err := c.up.SendFrom(c.rd, int(h.Size)+sizeLen); err != nil {
		if source, ok := errors.AsType[*errSource](err); ok {
			err = unfinished(source.err)
		}
		return c.cut(err)
	}
	return nil
}

// cut ends the connection at once if the request of which only a part could be passed is all that is waited for: its
// answer will not come.
func (c *Conn) cut(err error) error {
	c.mu.Lock()
	only := c.queue.n <= 1
	c.mu.Unlock()
	if only {
		c.close(err)
	}
	return err
}

// peekAcks reads the acks of the Produce request that is next, without consuming it.
func (c *Conn) peekAcks(h Header) (int16, error) {
	for want := min(64, int(h.Size)); ; want = min(2*want, int(h.Size), bufSize-sizeLen) {
		b, err := c.rd.Peek(sizeLen + want)
		if err != nil {
			return 0, unfinished(err)
		}
		b = b[sizeLen:]
		if len(b) > int(h.Size) {
			b = b[:h.Size]
		}
		a, err := acks(h.Version, b)
		if err == nil {
			return a, nil
		}
		if want == int(h.Size) || want == bufSize-sizeLen {
			return 0, fmt.Errorf("api key %d: %w", h.Key, err)
		}
		if len(b) > want {
			want = len(b)
		}
	}
}

// frame consumes the request that is next and returns it whole, without its length prefix, in memory of its own.
func (c *Conn) frame(h Header) ([]byte, error) {
	if h.Size > c.cfg.MaxHeldBytes {
		return nil, fmt.Errorf("api key %d: a request of %d bytes, and at most %d are held in memory", h.Key, h.Size, c.cfg.MaxHeldBytes)
	}
	if _, err := c.rd.Peek(sizeLen + fixedHeader); err != nil {
		return nil, unfinished(err)
	}
	c.rd.Discard(sizeLen)
	var b []byte
	for left := int(h.Size); left > 0; {
		n := min(left, bufSize)
		if h.Size > bufSize {
			if err := c.takeUnfinished(h, n); err != nil {
				return nil, err
			}
		}
		var err error
		if b, err = c.rd.ReadFull(b, n); err != nil {
			return nil, unfinished(err)
		}
		left -= n
	}
	return b, nil
}
