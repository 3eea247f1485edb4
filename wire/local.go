package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// Request is a request that is answered locally, decoded and inside the version table.
type Request struct {
	Msg      kmsg.Request // its version is set; it may alias the frame, which lives until Reply has been called
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

type slot struct{}

// Reply sends resp, which belongs to the connection from now on. A nil resp closes the connection, as Kafka does with a
// request that it cannot answer.
func (r *Request) Reply(resp kmsg.Response) { panic("to be written") }
