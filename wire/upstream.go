package wire

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Route says how a request is taken.
type Route uint8

const (
	// Forward streams the request to the broker without looking into it.
	Forward Route = iota
	// Serve hands the request to Local.
	Serve
	// Look reads the whole request and asks Upstream.Look what to do with it.
	Look
)

// Slot is the place of a request in the order of its connection, as Upstream.Receive gets it back.
type Slot struct {
	Key, Version int16
	Corr         int32
	Note         any // what Look left
}

// Verdict is what becomes of a request that was looked at: at most one of Resp, Body and Pass is set. None of them: no
// answer is due.
type Verdict struct {
	Resp kmsg.Response // the answer
	Body []byte        // the answer already encoded, what comes after its header; nobody changes it
	Pass bool          // the request goes on to the broker
	Note any           // goes into the Slot of a request that is passed

	// After holds Resp back for a time, as a broker does with a fetch that finds nothing.
	After time.Duration
}

// Upstream is the broker behind one connection. Route, Look, Connect, Refusable, Refuse, Send, SendFrom and Flush are called by the
// goroutine that reads from the client, Receive and Review by the one that writes to it, Close by either.
//
// Every error closes the client's connection, after the answers to what was asked before, except one of Connect for a
// request that is Refusable.
type Upstream interface {
	// Route decides on a request by its header.
	Route(h Header) (Route, error)
	// Look decides on a request by its body, which it may keep.
	Look(h Header, body []byte) (Verdict, error)
	// Connect sees to it that there is a connection to the broker; the bytes of the request follow through Send. answered
	// is false if the broker will not respond (acks=0).
	Connect(h Header, answered bool) error
	// Refusable says whether Refuse may have an answer to a request that could not be passed.
	Refusable(h Header) bool
	// Refuse answers a request that could not be passed, as far as Kafka has a retriable error for it.
	Refuse(h Header, body []byte) (Verdict, error)
	// Send takes bytes of requests in order; it does not keep p.
	Send(p []byte) error
	// SendFrom takes the n bytes of one request that are next in r, as [Writer.Stream] does.
	SendFrom(r *Reader, n int) error
	// Unsent is the number of bytes that Send has taken and that wait for Flush.
	Unsent() int
	// Flush sends what Send has collected.
	Flush() error
	// Receive writes the broker's next response, which must be the one to s, to w.
	Receive(s Slot, w *Writer) error
	// Review sees an answer of Local before it is sent and may change it.
	Review(resp kmsg.Response)
	// Close ends a Receive or Send that waits and closes the connection to the broker, if there is one.
	Close()
}
