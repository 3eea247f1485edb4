package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
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

func TestAnswersLeaveInRequestOrder(t *testing.T) {
	r := newRig(t, Config{})
	r.write(metadata(1), heartbeat(2), metadata(3), heartbeat(4), metadata(5))
	h2, h4 := r.take(), r.take()
	answer(h4)
	r.up.release <- struct{}{}
	r.expect(1)
	r.up.release <- struct{}{} // the broker has answered 3, whose turn it is not
	r.silence()
	answer(h2)
	r.expect(2, 3, 4)
	r.up.release <- struct{}{}
	r.expect(5)
	require.Equal(t, "test", h2.ClientID)
	require.Equal(t, "/127.0.0.1", h2.Host)
	require.Equal(t, int32(3), h2.Broker)
	require.Equal(t, bytes.Join([][]byte{metadata(1), metadata(3), metadata(5)}, nil), r.up.flushed())
}

func TestCommitsAndHeartbeatsDoNotWaitForOneAnother(t *testing.T) {
	r := newRig(t, Config{})
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group = 8, "g"
	for i := range int32(20) {
		r.write(request(2*i, commit), heartbeat(2*i+1))
	}
	var reqs []*Request
	for range 40 {
		reqs = append(reqs, r.take())
	}
	for i := range reqs { // last first
		if i%2 == 0 {
			require.Equal(t, int16(8), reqs[i].Msg.Key(), "the order of the requests")
		}
		answer(reqs[len(reqs)-1-i])
	}
	for i := range int32(40) {
		r.expect(i)
	}
}

func TestOtherOwnRequestsMuteTheConnection(t *testing.T) {
	r := newRig(t, Config{})
	r.write(heartbeat(1), join(2), heartbeat(3), join(4))
	h1 := r.take()
	require.Equal(t, int16(12), h1.Msg.Key())
	r.idle() // the join waits for the heartbeat before it
	answer(h1)
	j2 := r.take()
	require.Equal(t, int16(11), j2.Msg.Key())
	r.idle() // and holds back the heartbeat behind it
	answer(j2)
	answer(r.take())
	answer(r.take())
	r.expect(1, 2, 3, 4)
}

// TestPassedRequestsGoOnBehindAParkedJoin: they are sent to the broker, and their answers wait for the join's.
func TestPassedRequestsGoOnBehindAParkedJoin(t *testing.T) {
	r := newRig(t, Config{})
	r.write(join(1), metadata(2))
	j := r.take()
	require.Eventually(t, func() bool { return bytes.Equal(r.up.flushed(), metadata(2)) }, 10*time.Second, time.Millisecond)
	r.up.release <- struct{}{}
	r.silence()
	answer(j)
	r.expect(1, 2)
}

// TestMutedConnectionHasSentWhatCameBefore: bytes for the broker never wait behind a request that must wait.
func TestMutedConnectionHasSentWhatCameBefore(t *testing.T) {
	r := newRig(t, Config{})
	r.write(join(1), metadata(2), join(3), metadata(4))
	j := r.take()
	require.Eventually(t, func() bool { return bytes.Equal(r.up.flushed(), metadata(2)) }, 10*time.Second, time.Millisecond)
	answer(j)
	r.up.release <- struct{}{}
	answer(r.take())
	r.up.release <- struct{}{}
	r.expect(1, 2, 3, 4)
}

func TestProduceWithoutAcksHasNoSlot(t *testing.T) {
	r := newRig(t, Config{})
	r.write(produce(1, 0), metadata(2), produce(3, 0), produce(4, 1), heartbeat(5))
	answer(r.take())
	r.up.release <- struct{}{}
	r.up.release <- struct{}{}
	r.expect(2, 4, 5)
	require.Equal(t, bytes.Join([][]byte{produce(1, 0), metadata(2), produce(3, 0), produce(4, 1)}, nil), r.up.flushed())
	r.silence()
}

func TestApiVersionsOfAnyVersionIsLookedAt(t *testing.T) {
	got := make(chan int16, 3)
	up := newFakeUp()
	up.look = func(h Header, _ []byte) (Verdict, error) {
		got <- h.Version
		return Verdict{Body: []byte{0, 35}}, nil
	}
	r := newRigWith(t, Config{}, up)
	for i, v := range []int16{0, 99, 32767} {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version = v
		r.write(request(int32(i), req))
		corr, rest := r.next()
		require.Equal(t, int32(i), corr)
		require.Equal(t, []byte{0, 35}, rest, "the header has no tags in any version")
		require.Equal(t, v, <-got)
	}
}

// TestRefusedRequests: Kafka closes the connection, after the answers to what was asked before.
func TestRefusedRequests(t *testing.T) {
	hidden := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version = 16
	tooNew := heartbeat(2)
	tooNew[7] = 5
	tooOld := request(2, kmsg.NewPtrOffsetCommitRequest()) // version 0
	unknown := heartbeat(2)
	unknown[4], unknown[5] = 0x27, 0x10
	cut := heartbeat(2)
	cut = cut[:len(cut)-4]
	binary.BigEndian.PutUint32(cut, uint32(len(cut)-4))
	million := binary.BigEndian.AppendUint32(heartbeat(2)[:4+8+2+4+1], 1_000_000)
	binary.BigEndian.PutUint32(million, uint32(len(million)-4))
	for name, tc := range map[string]struct {
		frame []byte
		want  string
	}{
		"hidden key":                   {request(2, hidden), "api key 68 is not served"},
		"fetch with addresses":         {request(2, fetch), "api key 1 is not served in version 16"},
		"version too new":              {tooNew, "api key 12 is not served in version 5"},
		"version too old":              {tooOld, "api key 8 is not served in version 0"},
		"unknown key":                  {unknown, "api key 10000 is not served"},
		"truncated body":               {cut, "Heartbeat request, version 4"},
		"more elements than bytes":     {million, "Heartbeat request, version 4"},
		"negative size":                {[]byte{0xff, 0xff, 0xff, 0xf0}, "negative"},
		"huge size":                    {[]byte{0x7f, 0xff, 0xff, 0xff}, "larger than the limit of 104857600 bytes"},
		"TLS":                          {[]byte{0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00}, "TLS ClientHello"},
		"HTTP":                         {[]byte("GET /metrics HTTP/1.1\r\n\r\n"), "HTTP"},
		"size smaller than any header": {[]byte{0, 0, 0, 3, 1, 2, 3}, "too short"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.write(heartbeat(1), tc.frame)
			h := r.take()
			r.silence()
			answer(h)
			r.expect(1)
			r.eof()
			require.ErrorContains(t, r.ended(), tc.want)
		})
	}
}

func TestRawSASLIsRefusedWithAnAnswer(t *testing.T) {
	r := newRig(t, Config{})
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Mechanism = "PLAIN"
	r.write(request(1, req))
	corr, rest := r.next()
	require.Equal(t, int32(1), corr)
	require.Equal(t, []byte{0, 35, 0, 0, 0, 0}, rest)
	r.eof()
	require.ErrorContains(t, r.ended(), "raw SASL tokens")
}

func TestNilAnswerClosesTheConnectionInItsTurn(t *testing.T) {
	r := newRig(t, Config{})
	r.write(heartbeat(1), heartbeat(2), heartbeat(3))
	h1, h2, h3 := r.take(), r.take(), r.take()
	h2.Reply(nil)
	answer(h3)
	r.silence()
	answer(h1)
	r.expect(1)
	r.eof()
	require.ErrorIs(t, r.ended(), errNoAnswer)
}

func TestSecondAnswerPanics(t *testing.T) {
	r := newRig(t, Config{})
	r.write(heartbeat(1))
	h := r.take()
	answer(h)
	require.Panics(t, func() { answer(h) })
	n := 0
	own := NewRequest(h.Msg, "", "", -1, func(kmsg.Response) { n++ })
	answer(own)
	require.Equal(t, 1, n)
	require.Panics(t, func() { answer(own) })
}

func TestAnswerAfterTheConnectionHasEnded(t *testing.T) {
	r := newRig(t, Config{DrainTimeout: time.Millisecond})
	r.write(heartbeat(1))
	h := r.take()
	r.nc.Close()
	require.ErrorIs(t, r.ended(), errDrain)
	answer(h) // goes nowhere and harms nobody
}

// TestAnswersWhileTheConnectionEnds: the coordinator does not know that a client has gone, and answers what it still has
// while the connection clears its queue.
func TestAnswersWhileTheConnectionEnds(t *testing.T) {
	r := newRig(t, Config{DrainTimeout: time.Millisecond})
	const n = 100 // more than a ring keeps once it is empty
	var reqs []*Request
	for i := range int32(n) {
		r.write(heartbeat(i))
		reqs = append(reqs, r.take())
	}
	var answers sync.WaitGroup
	answers.Go(func() {
		<-r.up.closed
		for _, req := range reqs {
			answer(req)
		}
	})
	require.NoError(t, r.nc.Close())
	require.ErrorIs(t, r.ended(), errDrain)
	answers.Wait()
}

func TestHalfClosedClientGetsItsAnswers(t *testing.T) {
	r := newRig(t, Config{})
	r.write(heartbeat(1), metadata(2))
	h := r.take()
	require.NoError(t, r.nc.(*net.TCPConn).CloseWrite())
	answer(h)
	r.expect(1)
	r.up.release <- struct{}{}
	r.expect(2)
	r.eof()
	require.NoError(t, r.ended())
}

// TestEndRightBehindRequests: what a client sends with its last words reaches the broker, an answer or none.
func TestEndRightBehindRequests(t *testing.T) {
	client, server := tcpPair(t)
	last := append(metadata(1), produce(2, 0)...)
	_, err := client.Write(last)
	require.NoError(t, err)
	require.NoError(t, client.(*net.TCPConn).CloseWrite())
	cfg := Config{}.Defaults()
	r := newRigOn(t, &cfg, newFakeUp(), client, server) // all of it is there when the reader begins
	r.up.release <- struct{}{}
	r.expect(1)
	r.eof()
	require.NoError(t, r.ended())
	require.Equal(t, last, r.up.flushed())
}

func TestDrainAnswersWhatWasAsked(t *testing.T) {
	r := newRig(t, Config{})
	r.write(heartbeat(1))
	h := r.take()
	r.conn.Drain()
	answer(h)
	r.expect(1)
	r.eof()
	require.NoError(t, r.ended())
}

func TestDrainOfAnIdleConnection(t *testing.T) {
	r := newRig(t, Config{})
	r.conn.Drain()
	r.eof()
	require.NoError(t, r.ended())
}

func TestIdleConnectionIsClosed(t *testing.T) {
	r := newRig(t, Config{IdleTimeout: 30 * time.Millisecond})
	r.eof()
	require.NoError(t, r.ended())
}

// TestParkedConnectionIsNotIdle: a join may wait for longer than a connection may be idle.
func TestParkedConnectionIsNotIdle(t *testing.T) {
	r := newRig(t, Config{IdleTimeout: 20 * time.Millisecond})
	r.write(join(1))
	j := r.take()
	r.silence() // more than two idle times
	answer(j)
	r.expect(1)
}

func TestSlowLoris(t *testing.T) {
	for name, piece := range map[string][]byte{
		"in the length": heartbeat(1)[:3],
		"in the header": heartbeat(1)[:11],
		"in the body":   heartbeat(1)[:20],
		"passed":        metadata(1)[:20],
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{ProgressTimeout: 50 * time.Millisecond})
			r.write(piece)
			r.eof()
			require.Error(t, r.ended())
		})
	}
	t.Run("a byte now and then", func(t *testing.T) {
		r := newRig(t, Config{ProgressTimeout: 100 * time.Millisecond})
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		frame := make([]byte, 4+50_000) // of key 0, version 0: Produce
		binary.BigEndian.PutUint32(frame, 50_000)
		start := time.Now()
		for i := range frame {
			if _, err := r.nc.Write(frame[i : i+1]); err != nil {
				break
			}
			select {
			case err := <-r.end:
				require.ErrorContains(t, err, "stopped in the middle")
				require.Less(t, time.Since(start), 5*time.Second)
				return
			case <-tick.C:
			}
		}
		require.ErrorContains(t, r.ended(), "stopped in the middle")
	})
}

// TestClientThatNeverReads: it is cut off, and until then bounded memory waits for it.
func TestClientThatNeverReads(t *testing.T) {
	r := newRig(t, Config{ProgressTimeout: 200 * time.Millisecond, MaxInFlight: 16})
	require.NoError(t, r.nc.(*net.TCPConn).SetReadBuffer(4<<10))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := r.nc.Write(heartbeat(1)); err != nil {
				return
			}
		}
	}()
	text := string(make([]byte, 30_000))
	most := 0
	for {
		select {
		case req := <-r.local:
			resp := kmsg.NewPtrJoinGroupResponse()
			resp.LeaderID = text
			most = max(most, len(r.local))
			req.Reply(resp)
			continue
		case err := <-r.end:
			require.Error(t, err)
		case <-time.After(20 * time.Second):
			t.Fatal("the connection goes on")
		}
		break
	}
	require.LessOrEqual(t, most, 16)
	<-done
}

func TestHeldBytesAreBounded(t *testing.T) {
	r := newRig(t, Config{MaxHeldBytes: 4096})
	big := kmsg.NewPtrOffsetCommitRequest()
	big.Version, big.Group = 8, string(bytes.Repeat([]byte{'g'}, 3000))
	r.write(request(1, big), request(2, big))
	first := r.take()
	r.idle()
	answer(first)
	answer(r.take())
	r.expect(1, 2)
	big.Group = string(bytes.Repeat([]byte{'g'}, 5000))
	r.write(request(3, big))
	r.eof()
	require.ErrorContains(t, r.ended(), "at most 4096 are held")
}

// TestPipelinedBytesAreBounded: a client that sends many large commits at once does not put all of them before the others'.
func TestPipelinedBytesAreBounded(t *testing.T) {
	r := newRig(t, Config{})
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group = 8, string(bytes.Repeat([]byte{'g'}, 30_000))
	r.write(request(1, commit), request(2, commit), request(3, commit), heartbeat(4))
	first, second := r.take(), r.take()
	r.idle()
	answer(first)
	answer(r.take())
	answer(second)
	answer(r.take())
	r.expect(1, 2, 3, 4)
}

// TestLargeRequestsShareTheirRoom: what many small elements may take when decoded is bounded for all connections together.
func TestLargeRequestsShareTheirRoom(t *testing.T) {
	cfg := Config{MaxHeldBytes: 150_000, MaxLargeBytes: 150_000, ProgressTimeout: 10 * time.Second}.Defaults()
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group = 8, "g"
	for range 33_000 { // the shortest topics there are: three bytes each, and many times that when decoded
		commit.Topics = append(commit.Topics, kmsg.NewOffsetCommitRequestTopic())
	}
	frame := request(1, commit)
	require.Greater(t, len(frame), 75_000)
	a, b := newRigAt(t, &cfg, newFakeUp()), newRigAt(t, &cfg, newFakeUp())
	a.write(frame)
	first := a.take()
	b.write(frame)
	b.idle()
	answer(first)
	a.expect(1)
	second := b.take()
	b.conn.Close()
	b.ended()
	a.write(frame) // what a lost connection held is free again
	answer(a.take())
	a.expect(1)
	answer(second)
}

// TestUnfinishedRequestsShareTheirRoom: clients that send large requests and not their ends do not fill the memory.
func TestUnfinishedRequestsShareTheirRoom(t *testing.T) {
	cfg := Config{MaxHeldBytes: 200_000, MaxUnfinishedBytes: 200_000, ProgressTimeout: 10 * time.Second}.Defaults()
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group = 8, "g"
	for range 6 {
		topic := kmsg.NewOffsetCommitRequestTopic()
		topic.Topic = string(bytes.Repeat([]byte{'t'}, 25_000))
		topic.Partitions = append(topic.Partitions, kmsg.NewOffsetCommitRequestTopicPartition())
		commit.Topics = append(commit.Topics, topic)
	}
	frame := request(1, commit)
	a, b := newRigAt(t, &cfg, newFakeUp()), newRigAt(t, &cfg, newFakeUp())
	a.write(frame[:len(frame)-1])
	require.Eventually(t, func() bool { // until a holds its part
		free := cfg.unfinished.TryAcquire(100_000)
		if free {
			cfg.unfinished.Release(100_000)
		}
		return !free
	}, 10*time.Second, time.Millisecond)
	b.write(frame)
	b.idle()
	a.write(frame[len(frame)-1:])
	answer(a.take())
	a.expect(1)
	answer(b.take())
	b.expect(1)
	require.Eventually(t, func() bool { return cfg.unfinished.TryAcquire(200_000) }, 10*time.Second, time.Millisecond, "room is not given back")
}

func TestWaitForRoomEnds(t *testing.T) {
	cfg := Config{MaxHeldBytes: 150_000, MaxLargeBytes: 150_000, ProgressTimeout: 50 * time.Millisecond}.Defaults()
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group = 8, string(make([]byte, 90_000))
	a, b := newRigAt(t, &cfg, newFakeUp()), newRigAt(t, &cfg, newFakeUp())
	a.write(request(1, commit))
	a.take()
	b.write(request(1, commit))
	b.eof()
	require.ErrorContains(t, b.ended(), "no room")
}

func TestRequestsThatCannotBePassed(t *testing.T) {
	up := newFakeUp()
	up.down = errors.New("no broker")
	up.refuse = func(h Header) (Verdict, error) {
		if h.Key != 3 {
			return Verdict{}, errors.New("no answer")
		}
		resp := kmsg.NewPtrMetadataResponse()
		resp.Version = h.Version
		return Verdict{Resp: resp}, nil
	}
	r := newRigWith(t, Config{}, up)
	r.write(metadata(1), heartbeat(2), metadata(3))
	answer(r.take())
	r.expect(1, 2, 3)
	r.write(produce(4, 1))
	r.eof()
	err := r.ended()
	require.ErrorContains(t, err, "no broker")
	require.ErrorContains(t, err, "no answer")
}

func TestHeldBackAnswerKeepsItsPlace(t *testing.T) {
	up := newFakeUp()
	up.down = errors.New("no broker")
	up.refuse = func(h Header) (Verdict, error) {
		resp := kmsg.NewPtrMetadataResponse()
		resp.Version = h.Version
		return Verdict{Resp: resp, After: 100 * time.Millisecond}, nil
	}
	r := newRigWith(t, Config{}, up)
	start := time.Now()
	r.write(metadata(1), heartbeat(2))
	answer(r.take())
	r.expect(1)
	require.GreaterOrEqual(t, time.Since(start), 100*time.Millisecond)
	r.expect(2)
}

// TestFramesInEveryCut sends the same requests in pieces of every size.
func TestFramesInEveryCut(t *testing.T) {
	all := bytes.Join([][]byte{metadata(1), heartbeat(2), produce(3, 0), produce(4, 1), heartbeat(5)}, nil)
	for size := 1; size <= len(all); size += 1 + size/8 {
		r := newRig(t, Config{})
		go func() {
			for b := all; len(b) > 0; {
				n := min(size, len(b))
				if _, err := r.nc.Write(b[:n]); err != nil {
					return
				}
				b = b[n:]
			}
		}()
		r.up.release <- struct{}{}
		r.up.release <- struct{}{}
		answer(r.take())
		answer(r.take())
		r.expect(1, 2, 4, 5)
		r.nc.Close()
		r.ended()
	}
}

// feed is the body of FuzzFrame.
func feed(t *testing.T, input []byte, cut int) {
	r := newRig(t, Config{ProgressTimeout: 10 * time.Second, MaxRequestBytes: 1 << 20, DrainTimeout: 10 * time.Second})
	go func() {
		for req := range r.local {
			answer(req)
		}
	}()
	go func() { _, _ = io.Copy(io.Discard, r.nc) }()
	close(r.up.release)
	for len(input) > 0 {
		n := min(max(cut, 1), len(input))
		if _, err := r.nc.Write(input[:n]); err != nil {
			break
		}
		input = input[n:]
	}
	_ = r.nc.(*net.TCPConn).CloseWrite()
	_ = r.ended()
	close(r.local)
}

// BenchmarkOwn sends heartbeats and commits to a Local that answers at once: the cost of a request that the broker never
// sees, without the coordinator.
func BenchmarkOwn(b *testing.B) {
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group, commit.MemberID = 8, "group", "member"
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "topic"
	for i := range int32(10) {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition = i
		topic.Partitions = append(topic.Partitions, p)
	}
	commit.Topics = append(commit.Topics, topic)
	for name, frame := range map[string][]byte{"heartbeat": heartbeat(1), "commit": request(1, commit)} {
		for _, inFlight := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%d", name, inFlight), func(b *testing.B) {
				client, server := tcpPair(b)
				cfg := Config{}.Defaults()
				c := NewConn(&cfg, server, 0, newFakeUp(), answerer{})
				end := make(chan error, 1)
				go func() { end <- c.Run() }()
				burst := bytes.Repeat(frame, inFlight)
				buf := make([]byte, 64<<10)
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					if n%inFlight != 0 {
						continue
					}
					if _, err := client.Write(burst); err != nil {
						b.Fatal(err)
					}
					for range inFlight {
						if _, err := io.ReadFull(client, buf[:4]); err != nil {
							b.Fatal(err)
						}
						if _, err := io.ReadFull(client, buf[:binary.BigEndian.Uint32(buf)]); err != nil {
							b.Fatal(err)
						}
					}
				}
				client.Close()
				<-end
			})
		}
	}
}

type answerer struct{}

func (answerer) Serve(r *Request) { answer(r) }
