package gateway

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/wire"
)

const (
	keySASLHandshake    = int16(kmsg.SASLHandshake)
	keySASLAuthenticate = int16(kmsg.SASLAuthenticate)

	// lookAgain is how long a silent connection to a broker is trusted before it is asked whether it still stands, and how
	// long a stand-in serves at least before the port's own broker is tried again.
	lookAgain = 100 * time.Millisecond
)

// errLostLogin: the connection to the broker has gone and with it the client's login, which cannot be repeated for it.
var errLostLogin = errors.New("the broker closed the connection on which the client had logged in")

// errStandIn: what concerns one broker alone no other may answer.
var errStandIn = errors.New("the port's broker cannot be reached, and the request concerns it alone")

// errLostProduce: records may have been lost with the connection, which a client that waits for no answer learns only from
// the end of its own.
var errLostProduce = errors.New("the broker closed the connection after requests without an answer (acks=0)")

// link joins one client connection to its broker: the wire.Upstream of that connection. The connection to the broker is
// dialled when the first request needs it and again when a later one finds it gone.
type link struct {
	srv    *Server
	broker int32
	login  *login // nil if the brokers ask for none

	nc      net.Conn // to the broker; nil: none. Replaced only while nothing is pending.
	raw     syscall.RawConn
	rd      *wire.Reader
	wr      *wire.Writer
	standIn bool      // nc leads to another broker than the port's; changes only while nothing is pending
	checked time.Time // when nc was last known to stand
	unacked bool      // requests without an answer have been sent since the last answered one

	pending atomic.Int32 // answers that the broker owes
	client  *wire.Writer // the client's side of Receive

	mu      sync.Mutex
	cancel  context.CancelFunc // of a dial that goes on
	closed  bool
	counted bool // as a stand-in, in srv.standIns
}

func newLink(srv *Server, broker int32) *link {
	l := &link{srv: srv, broker: broker}
	if srv.cfg.SASL {
		l.login = &login{}
	}
	return l
}

// Route implements wire.Upstream.
func (l *link) Route(h wire.Header) (wire.Route, error) {
	if l.login != nil {
		if err := l.login.permits(h); err != nil {
			return 0, err
		}
	}
	switch h.Key {
	case keyAPIVersions, keyFindCoordinator:
		return wire.Look, nil
	case keySASLHandshake, keySASLAuthenticate:
		if l.login != nil {
			return wire.Look, nil
		}
	}
	if wire.ClassOf(h.Key) == wire.Own {
		return wire.Serve, nil
	}
	return wire.Forward, nil
}

// Look implements wire.Upstream.
func (l *link) Look(h wire.Header, body []byte) (wire.Verdict, error) {
	switch h.Key {
	case keyAPIVersions:
		return l.apiVersions(h, body)
	case keyFindCoordinator:
		msg, err := wire.Decode(h.Key, h.Version, body)
		if err != nil {
			return wire.Verdict{}, err
		}
		resp, local := l.srv.dir.FindCoordinator(msg.(*kmsg.FindCoordinatorRequest))
		if local {
			return wire.Verdict{Resp: resp}, nil
		}
		return wire.Verdict{Pass: true}, nil
	case keySASLHandshake, keySASLAuthenticate:
		return l.login.look(h, body)
	}
	return wire.Verdict{Pass: true}, nil
}

// apiVersions answers out of what is known of the port's broker. Only when nothing is known yet a broker is asked, on this
// connection.
func (l *link) apiVersions(h wire.Header, body []byte) (wire.Verdict, error) {
	if h.Version < 0 || h.Version > wire.APIVersionsMax {
		return wire.Verdict{Body: l.srv.dir.UnsupportedAPIVersions(l.broker)}, nil
	}
	msg, err := wire.Decode(h.Key, h.Version, body)
	if err != nil {
		return wire.Verdict{}, err
	}
	req := msg.(*kmsg.ApiVersionsRequest)
	if req.Version >= 3 && (!saneName(req.ClientSoftwareName) || !saneName(req.ClientSoftwareVersion)) {
		resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
		resp.ErrorCode = codeInvalidRequest
		return wire.Verdict{Resp: resp}, nil
	}
	if resp := l.misdirected(req); resp != nil {
		return wire.Verdict{Resp: resp}, nil
	}
	answer, err := l.srv.dir.APIVersions(h.Version, l.broker)
	if errors.Is(err, ErrNoVersions) {
		return wire.Verdict{Pass: true}, nil
	}
	return wire.Verdict{Body: answer}, err
}

// saneName says whether a client may call its software or version that: letters, digits, '-' and '.', of which the
// last two stand neither first nor last (KIP-511).
func saneName(s string) bool {
	plain := func(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
	if s == "" || !plain(s[0]) || !plain(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !plain(s[i]) && s[i] != '-' && s[i] != '.' {
			return false
		}
	}
	return true
}

// misdirected answers a client that thinks it talks to another cluster or broker (KIP-1242); nil if it does not.
func (l *link) misdirected(req *kmsg.ApiVersionsRequest) kmsg.Response {
	if req.Version < 5 || req.ClusterID == nil && req.NodeID == -1 {
		return nil
	}
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	known := l.srv.dir.Table().ClusterID()
	switch {
	case req.ClusterID == nil || req.NodeID == -1:
		resp.ErrorCode = codeInvalidRequest
	case known != "" && *req.ClusterID != known, l.broker >= 0 && req.NodeID != l.broker:
		resp.ErrorCode = codeRebootstrapRequired
	default:
		return nil
	}
	return resp
}

const codeRebootstrapRequired = int16(129)

// Send implements wire.Upstream.
func (l *link) Send(p []byte) error { return l.wr.Write(p) }

// SendFrom implements wire.Upstream.
func (l *link) SendFrom(r *wire.Reader, n int) error { return l.wr.Stream(r, n) }

// Unsent implements wire.Upstream.
func (l *link) Unsent() int {
	if l.wr == nil {
		return 0
	}
	return l.wr.Buffered()
}

// Flush implements wire.Upstream.
func (l *link) Flush() error {
	if l.wr == nil {
		return nil
	}
	return l.wr.Flush()
}

// Review implements wire.Upstream.
func (l *link) Review(resp kmsg.Response) {
	if list, ok := resp.(*kmsg.ListGroupsResponse); ok {
		l.review(list)
	}
}

// Close implements wire.Upstream.
func (l *link) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.count(false)
	if l.cancel != nil {
		l.cancel()
	}
	if l.nc != nil {
		_ = l.nc.Close() // there is nobody to tell
	}
}
