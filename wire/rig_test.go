package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeUp is an Upstream whose broker is the test: each response waits for one value of release.
type fakeUp struct {
	release chan struct{}
	look    func(Header, []byte) (Verdict, error)
	refuse  func(Header) (Verdict, error)
	down    error

	mu     sync.Mutex
	sent   bytes.Buffer // flushed
	unsent []byte
	closed chan struct{}
	once   sync.Once
}

func newFakeUp() *fakeUp {
	return &fakeUp{release: make(chan struct{}, 1000), closed: make(chan struct{})}
}

func (u *fakeUp) Route(h Header) (Route, error) {
	switch {
	case h.Key == keyAPIVersions:
		return Look, nil
	case ClassOf(h.Key) == Own:
		return Serve, nil
	}
	return Forward, nil
}

func (u *fakeUp) Look(h Header, body []byte) (Verdict, error) {
	if u.look == nil {
		return Verdict{Body: []byte("looked")}, nil
	}
	return u.look(h, body)
}

func (u *fakeUp) Connect(Header, bool) error { return u.down }
func (u *fakeUp) Refusable(Header) bool      { return u.refuse != nil }

func (u *fakeUp) Refuse(h Header, _ []byte) (Verdict, error) { return u.refuse(h) }

func (u *fakeUp) Send(p []byte) error {
	u.unsent = append(u.unsent, p...)
	return nil
}

func (u *fakeUp) SendFrom(r *Reader, n int) error {
	for n > 0 {
		b, err := r.Next(n)
		if err != nil {
			return &errSource{err}
		}
		n -= len(b)
		u.unsent = append(u.unsent, b...)
	}
	return nil
}

func (u *fakeUp) Unsent() int { return len(u.unsent) }

func (u *fakeUp) Flush() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent.Write(u.unsent)
	u.unsent = nil
	return nil
}

func (u *fakeUp) flushed() []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	return bytes.Clone(u.sent.Bytes())
}

func (u *fakeUp) Receive(s Slot, w *Writer) error {
	if err := w.Flush(); err != nil {
		return err
	}
	select {
	case <-u.release:
		return w.WriteResponse(s, []byte("from the broker"))
	case <-u.closed:
		return net.ErrClosed
	}
}

func (u *fakeUp) Review(kmsg.Response) {}
func (u *fakeUp) Close()               { u.once.Do(func() { close(u.closed) }) }

// localChan hands requests to the test.
type localChan chan *Request

func (l localChan) Serve(r *Request) { l <- r }

// tcpPair returns two ends of one TCP connection.
func tcpPair(t testing.TB) (client, server net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	client, err = net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	server, err = ln.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// rig is one running connection.
type rig struct {
	t     testing.TB
	nc    net.Conn // the client's end
	conn  *Conn
	up    *fakeUp
	local localChan
	end   chan error
}

func newRig(t testing.TB, cfg Config) *rig {
	t.Helper()
	return newRigWith(t, cfg, newFakeUp())
}

func newRigWith(t testing.TB, cfg Config, up *fakeUp) *rig {
	t.Helper()
	cfg = cfg.Defaults()
	return newRigAt(t, &cfg, up)
}

func newRigAt(t testing.TB, cfg *Config, up *fakeUp) *rig {
	t.Helper()
	client, server := tcpPair(t)
	return newRigOn(t, cfg, up, client, server)
}

func newRigOn(t testing.TB, cfg *Config, up *fakeUp, client, server net.Conn) *rig {
	t.Helper()
	r := &rig{t: t, nc: client, up: up, local: make(localChan, 1000), end: make(chan error, 1)}
	r.conn = NewConn(cfg, server, 3, r.up, r.local)
	go func() { r.end <- r.conn.Run() }()
	t.Cleanup(func() { r.conn.Close() })
	return r
}

func request(corr int32, req kmsg.Request) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, req, corr)
}

func heartbeat(corr int32) []byte {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID = 4, "g", "m"
	return request(corr, req)
}

func join(corr int32) []byte {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group = 7, "g"
	return request(corr, req)
}

func metadata(corr int32) []byte {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 9
	return request(corr, req)
}

func produce(corr int32, acks int16) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks = 9, acks
	return request(corr, req)
}

func (r *rig) write(frames ...[]byte) {
	r.t.Helper()
	_, err := r.nc.Write(bytes.Join(frames, nil))
	require.NoError(r.t, err)
}

// next reads a response and returns its correlation id and what follows it.
func (r *rig) next() (int32, []byte) {
	r.t.Helper()
	require.NoError(r.t, r.nc.SetReadDeadline(time.Now().Add(10*time.Second)))
	var size [4]byte
	_, err := io.ReadFull(r.nc, size[:])
	require.NoError(r.t, err)
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err = io.ReadFull(r.nc, b)
	require.NoError(r.t, err)
	return int32(binary.BigEndian.Uint32(b)), b[4:]
}

func (r *rig) expect(corrs ...int32) {
	r.t.Helper()
	for _, want := range corrs {
		got, _ := r.next()
		require.Equal(r.t, want, got)
	}
}

// silence checks that nothing arrives for a moment.
func (r *rig) silence() {
	r.t.Helper()
	require.NoError(r.t, r.nc.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	n, err := r.nc.Read(make([]byte, 1))
	require.Zero(r.t, n)
	var ne net.Error
	require.True(r.t, errors.As(err, &ne) && ne.Timeout(), "%v", err)
}

// eof checks that the server closes the connection without another byte.
func (r *rig) eof() {
	r.t.Helper()
	require.NoError(r.t, r.nc.SetReadDeadline(time.Now().Add(10*time.Second)))
	n, err := r.nc.Read(make([]byte, 1))
	require.Zero(r.t, n)
	var ne net.Error
	require.False(r.t, errors.As(err, &ne) && ne.Timeout(), "the connection stays open")
}

func (r *rig) take() *Request {
	r.t.Helper()
	select {
	case req := <-r.local:
		return req
	case <-time.After(10 * time.Second):
		r.t.Fatal("no request reached Local")
		return nil
	}
}

// idle checks that no request reaches Local for a moment.
func (r *rig) idle() {
	r.t.Helper()
	select {
	case req := <-r.local:
		r.t.Fatalf("%s reached Local", kmsg.NameForKey(req.Msg.Key()))
	case <-time.After(50 * time.Millisecond):
	}
}

func (r *rig) ended() error {
	r.t.Helper()
	select {
	case err := <-r.end:
		return err
	case <-time.After(10 * time.Second):
		r.t.Fatal("the connection goes on")
		return nil
	}
}

func answer(req *Request) { req.Reply(req.Msg.ResponseKind()) }
