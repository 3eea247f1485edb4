package gateway

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

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
	standIn bool      // nc leads to another broker than the port's
	checked time.Time // when nc was last known to stand
	unacked bool      // requests without an answer have been sent since the last answered one

	pending atomic.Int32 // answers that the broker owes
	client  *wire.Writer // the client's side of Receive

	mu     sync.Mutex
	cancel context.CancelFunc // of a dial that goes on
	closed bool
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
	if resp := l.misdirected(msg.(*kmsg.ApiVersionsRequest)); resp != nil {
		return wire.Verdict{Resp: resp}, nil
	}
	answer, err := l.srv.dir.APIVersions(h.Version, l.broker)
	if errors.Is(err, ErrNoVersions) {
		return wire.Verdict{Pass: true}, nil
	}
	return wire.Verdict{Body: answer}, err
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

// Connect implements wire.Upstream.
func (l *link) Connect(h wire.Header, answered bool) error {
	if l.nc != nil && l.pending.Load() == 0 {
		if err := l.check(h); err != nil {
			return err
		}
	}
	if l.nc == nil {
		if err := l.dial(h); err != nil {
			return err
		}
	}
	if l.standIn && ofBroker(h.Key) {
		return errStandIn
	}
	if answered {
		l.unacked = false
		l.pending.Add(1)
	} else {
		l.unacked = true
	}
	return nil
}

// check lets go of a connection that the broker has closed, or that leads to a stand-in when it is time to look for the
// port's own broker. Nothing is pending on it.
func (l *link) check(h wire.Header) error {
	now := time.Now()
	if now.Sub(l.checked) < lookAgain {
		return nil
	}
	l.checked = now
	if !l.stands() {
		if l.login != nil && l.login.begun() {
			return errLostLogin
		}
		if l.unacked {
			return errLostProduce
		}
		l.drop()
		return nil
	}
	if l.standIn && l.srv.dials.due(l.ownAddr()) {
		if nc, err := l.dialTo(l.ownAddr()); err == nil {
			l.drop()
			return l.adopt(nc, false)
		}
	}
	return nil
}

func (l *link) ownAddr() string {
	addr, _ := l.srv.dir.Table().Upstream(l.broker)
	return addr
}

// stands asks the socket whether the broker has closed it. Bytes that wait there would be an answer that nobody asked for.
func (l *link) stands() bool {
	if l.raw == nil {
		return true
	}
	open := false
	// Control and not Read, which would fail on a deadline that an earlier response has left behind.
	err := l.raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		open = err == unix.EAGAIN || err == unix.EINTR
	})
	return err == nil && open
}

func (l *link) drop() {
	_ = l.nc.Close() // the broker has closed it, or nothing is pending on it
	l.rd.Release()
	l.wr.Release()
	l.mu.Lock()
	l.nc = nil
	l.setStandIn(false)
	l.mu.Unlock()
	l.raw, l.rd, l.wr, l.unacked = nil, nil, nil, false
}

// setStandIn notes what kind of broker serves; l.mu is held.
func (l *link) setStandIn(is bool) {
	if l.standIn != is {
		l.standIn = is
		if is {
			l.srv.standIns.Add(1)
		} else {
			l.srv.standIns.Add(-1)
		}
	}
}

// dial connects to the port's broker or, on the bootstrap port, to any. While the port's broker cannot be reached another
// one stands in: it has the same Metadata, and what only a leader may do it refuses with Kafka's own errors, in the right
// form. Not so where the client must log in, which it could not repeat on the way back.
func (l *link) dial(h wire.Header) error {
	ctx, done := l.dialling()
	defer done()
	if l.broker < 0 {
		addr, err := l.srv.dir.Bootstrap(ctx)
		if err != nil {
			return err
		}
		return l.open(ctx, addr, false)
	}
	addr, err := l.srv.dir.Wait(ctx, l.broker)
	if err != nil {
		return err
	}
	if err = l.open(ctx, addr, false); err == nil || l.login != nil || ofBroker(h.Key) {
		return err
	}
	other, berr := l.srv.dir.Bootstrap(ctx)
	if berr != nil || other == "" || other == addr || l.open(ctx, other, true) != nil {
		return err
	}
	return nil
}

// ofBroker says whether a request concerns the very broker that it is sent to, so that no other may answer it.
func ofBroker(key int16) bool {
	switch kmsg.Key(key) {
	case kmsg.AlterReplicaLogDirs, kmsg.DescribeLogDirs, kmsg.DescribeConfigs, kmsg.AlterConfigs, kmsg.IncrementalAlterConfigs:
		return true
	}
	return false
}

// dialling returns a context that ends with the link.
func (l *link) dialling() (context.Context, func()) {
	ctx, cancel := context.WithTimeout(l.srv.ctx, l.srv.cfg.DialTimeout+defaultHold)
	l.mu.Lock()
	l.cancel = cancel
	if l.closed {
		cancel()
	}
	l.mu.Unlock()
	return ctx, cancel
}

func (l *link) open(ctx context.Context, addr string, standIn bool) error {
	nc, err := l.srv.dials.dial(ctx, addr)
	if err != nil {
		return err
	}
	return l.adopt(nc, standIn)
}

func (l *link) dialTo(addr string) (net.Conn, error) {
	ctx, done := l.dialling()
	defer done()
	return l.srv.dials.dial(ctx, addr)
}

func (l *link) adopt(nc net.Conn, standIn bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = nc.Close() // never used
		return net.ErrClosed
	}
	l.nc, l.checked = nc, time.Now()
	l.setStandIn(standIn)
	l.raw = nil
	if sc, ok := nc.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			l.raw = raw
		}
	}
	l.rd = wire.NewReader(nc, l.flushClient)
	l.wr = wire.NewWriter(nc, l.srv.cfg.UpstreamWriteTimeout)
	return nil
}

func (l *link) flushClient() error { return l.client.Flush() }

// Send implements wire.Upstream.
func (l *link) Send(p []byte) error { return l.wr.Write(p) }

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

// Receive implements wire.Upstream. The wait for a response to begin has no bound, as a fetch or a transaction may take
// its time; its rest must keep coming.
func (l *link) Receive(s wire.Slot, w *wire.Writer) error {
	l.client = w
	l.rd.SetTimeout(0)
	b, err := l.rd.Peek(8)
	if err != nil {
		return fmt.Errorf("the broker did not answer: %w", err)
	}
	size := int32(binary.BigEndian.Uint32(b))
	if err := wire.CheckResponseSize(size); err != nil {
		return fmt.Errorf("the broker's response: %w", err)
	}
	if corr := int32(binary.BigEndian.Uint32(b[4:])); corr != s.Corr {
		return fmt.Errorf("the broker answered request %d where %d was next", corr, s.Corr)
	}
	l.rd.SetTimeout(l.srv.wire.ProgressTimeout)
	if l.edits(s) {
		err = l.edit(s, int(size), w)
	} else {
		err = l.stream(int(size)+4, w)
	}
	l.pending.Add(-1)
	return err
}

// stream passes n bytes through.
func (l *link) stream(n int, w *wire.Writer) error {
	for n > 0 {
		b, err := l.rd.Next(n)
		if err != nil {
			return fmt.Errorf("the broker's response broke off: %w", err)
		}
		n -= len(b)
		if err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// edits says whether a response is read whole, to be changed or learned from.
func (l *link) edits(s wire.Slot) bool {
	switch s.Key {
	case keyAPIVersions:
		return true
	case keySASLHandshake, keySASLAuthenticate:
		return l.login != nil
	}
	return NeedsRewrite(s.Key, s.Version)
}

// edit reads a response of size bytes whole and passes on what becomes of it.
func (l *link) edit(s wire.Slot, size int, w *wire.Writer) error {
	if size > int(l.srv.cfg.MaxEditedBytes) {
		return fmt.Errorf("the broker's %s response of %d bytes is larger than %d, and addresses in it must be changed",
			kmsg.NameForKey(s.Key), size, l.srv.cfg.MaxEditedBytes)
	}
	l.rd.Discard(4)
	frame, err := l.rd.ReadFull(nil, size)
	if err != nil {
		return fmt.Errorf("the broker's response broke off: %w", err)
	}
	body, err := wire.SplitResponse(s, frame)
	if err != nil {
		return err
	}
	switch s.Key {
	case keyAPIVersions:
		body, err = l.srv.dir.EditAPIVersions(s.Version, body, l.answering())
	case keySASLHandshake, keySASLAuthenticate:
		body, err = l.login.learn(s, body)
	default:
		body, err = l.srv.dir.Rewrite(s.Key, s.Version, body)
	}
	if err != nil {
		return err
	}
	return w.WriteResponse(s, body)
}

// answering is the id of the broker at the other end, -1 if it is not known.
func (l *link) answering() int32 {
	if l.standIn {
		return -1
	}
	return l.broker
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
	l.setStandIn(false)
	if l.cancel != nil {
		l.cancel()
	}
	if l.nc != nil {
		_ = l.nc.Close() // there is nobody to tell
	}
}
