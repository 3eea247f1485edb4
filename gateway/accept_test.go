package gateway

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/coordinatord/coordinatord/wire"
)

// poorListener is out of descriptors for its first calls of Accept.
type poorListener struct {
	net.Listener
	mu    sync.Mutex
	fails int
}

func (l *poorListener) Accept() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fails > 0 {
		l.fails--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

type deaf struct{}

func (deaf) Serve(*wire.Request) {}

// TestClientsCannotFillTheLog: whoever can connect can be thrown out, a thousand times over.
func TestClientsCannotFillTheLog(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	dir, err := NewDirectory(DirectoryConfig{Seeds: []string{"127.0.0.1:1"}, Ports: testPorts}, zap.NewNop())
	require.NoError(t, err)
	defer dir.Close()
	s, err := NewServer(Config{Listen: "127.0.0.1:0", Ports: testPorts}, dir, deaf{}, zap.New(core))
	require.NoError(t, err)
	for range 1000 {
		client, server := net.Pipe()
		go func() { _, _ = client.Write([]byte("GET / HTTP/1.1\r\n")) }()
		s.serve(server, -1)
		require.NoError(t, client.Close())
	}
	n := logs.FilterMessageSnippet("closed a client's connection").Len()
	require.GreaterOrEqual(t, n, linesInFull)
	require.Less(t, n, 3*linesInFull, "a loaded machine may need more than one period")
}

// TestCloseWhileAnAnswerIsRead is about the race detector: either side of a connection may end it.
func TestCloseWhileAnAnswerIsRead(t *testing.T) {
	for range 100 {
		l := &link{srv: &Server{}, broker: 1}
		nc, other := net.Pipe()
		require.NoError(t, l.adopt(nc, true))
		require.Equal(t, 1, l.srv.StandIns())
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			l.Close()
		}()
		require.Equal(t, int32(-1), l.answering())
		<-closed
		require.Equal(t, int32(-1), l.answering())
		require.Zero(t, l.srv.StandIns())
		require.NoError(t, other.Close())
	}
}

func TestAcceptGoesOnAfterErrors(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	ports := Ports{Host: "127.0.0.1", First: 1, Last: 1}
	dir, err := NewDirectory(DirectoryConfig{Seeds: []string{"127.0.0.1:1"}, Ports: ports}, zap.NewNop())
	require.NoError(t, err)
	dir.Start(t.Context())
	defer dir.Close()
	s, err := NewServer(Config{Listen: "127.0.0.1:0", Ports: ports}, dir, deaf{}, zap.New(core))
	require.NoError(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &listener{srv: s, ln: &poorListener{Listener: ln, fails: 4}, broker: -1}
	l.stop, l.cancel = context.WithCancel(s.ctx)
	s.listeners = append(s.listeners, l)
	s.done.Go(l.accept)
	start := time.Now()
	nc, err := net.Dial("tcp", ln.Addr().String())
	require.NoError(t, err)
	defer nc.Close()
	_, err = nc.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	require.NoError(t, err)
	require.NoError(t, nc.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err = nc.Read(make([]byte, 1))
	var ne net.Error
	require.False(t, errors.As(err, &ne) && ne.Timeout(), "the client was never accepted")
	require.GreaterOrEqual(t, time.Since(start), 75*time.Millisecond, "5, 10, 20 and 40 ms of waiting")
	require.NoError(t, s.Shutdown(t.Context()))
	require.Equal(t, 4, logs.FilterMessageSnippet("cannot accept").Len())
	require.Equal(t, 1, logs.FilterMessageSnippet("closed a client's connection").Len())
	line := logs.FilterMessageSnippet("closed a client's connection").All()[0].ContextMap()
	require.Contains(t, line["error"], "HTTP")
	require.Equal(t, nc.LocalAddr().String(), line["peer"])
}
