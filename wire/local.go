package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// Request is a request that is answered locally, decoded and inside the version table.
type Request struct {
	// Msg has its version set. Its strings and byte slices alias the request's frame, which belongs to this request alone
	// and is never used again: they stay valid for as long as anyone holds them. What outlives the request (the state of a
	// group) should be a copy nevertheless, or a few bytes keep the whole frame in memory.
	Msg      kmsg.Request
	ClientID string
	Host     string // the client's address in Kafka's form: "/127.0.0.1"
	Broker   int32  // the id of the broker whose port this is; -1 on the bootstrap port
	slot     *slot
}

// Local answers requests of our own keys.
type Local interface {
	// Serve takes the requests of one connection in their order, on the connection's reading goroutine. It calls
	// req.Reply exactly once, now or later, from any goroutine. OffsetCommit and Heartbeat are handed over without waiting
	// for the answers of earlier ones; before any other request all earlier ones have been answered.
	Serve(req *Request)
}

// slot is the place of a request's answer in its connection's order. Its fields are guarded by the connection's lock.
type slot struct {
	conn  *Conn
	reply func(kmsg.Response) // of a request that no connection stands behind
	resp  kmsg.Response
	done  bool
}

// NewRequest returns a request that no connection stands behind; reply takes its answer.
func NewRequest(msg kmsg.Request, clientID, host string, broker int32, reply func(kmsg.Response)) *Request {
	return &Request{Msg: msg, ClientID: clientID, Host: host, Broker: broker, slot: &slot{reply: reply}}
}

// Reply sends resp, which belongs to the connection from now on. A nil resp closes the connection, as Kafka does with a
// request that it cannot answer; what was asked before is answered first. A second call panics: the caller has lost track
// of who answers, and the answers of everyone behind it would be in doubt.
func (r *Request) Reply(resp kmsg.Response) {
	if c := r.slot.conn; c != nil {
		c.reply(r.slot, resp)
		return
	}
	if r.slot.done {
		panic("wire: a request was answered twice")
	}
	r.slot.done = true
	r.slot.reply(resp)
}
