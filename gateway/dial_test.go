package gateway

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

func newDials(t *testing.T) *dials {
	t.Helper()
	dir, err := NewDirectory(DirectoryConfig{
		Seeds: []string{"127.0.0.1:1"}, Ports: Ports{Host: "127.0.0.1", First: 1, Last: 1},
	}, zap.NewNop())
	require.NoError(t, err)
	dir.Start(t.Context())
	t.Cleanup(dir.Close)
	return &dials{dir: dir, timeout: time.Second}
}

func TestFailedAddressIsLeftAloneForAMoment(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := ln.Addr().String()
	require.NoError(t, ln.Close())
	d := newDials(t)
	require.True(t, d.due(addr))
	_, first := d.dial(t.Context(), addr)
	require.Error(t, first)
	require.False(t, d.due(addr))
	_, second := d.dial(t.Context(), addr)
	require.Same(t, first, second, "the second attempt has dialled")
	require.Eventually(t, func() bool { return d.due(addr) }, 10*time.Second, time.Millisecond)

	ln, err = net.Listen("tcp", addr)
	require.NoError(t, err)
	defer ln.Close()
	nc, err := d.dial(t.Context(), addr)
	require.NoError(t, err)
	require.NoError(t, nc.Close())
	require.True(t, d.due(addr), "a success forgets the failures")
	require.Empty(t, d.failed)
}

func TestBackoffGrowsToItsBound(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := ln.Addr().String()
	require.NoError(t, ln.Close())
	d := newDials(t)
	want := minBackoff
	for range 8 {
		_, err := d.dial(t.Context(), addr)
		require.Error(t, err)
		f := d.failed[addr]
		require.GreaterOrEqual(t, f.wait, want)
		want = min(2*want, maxBackoff)
		f.until = time.Time{} // as if it had passed
		d.failed[addr] = f
	}
	require.Equal(t, maxBackoff, want)
}

func TestClientThatGoesIsNoFailureOfTheBroker(t *testing.T) {
	d := newDials(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.dial(ctx, "127.0.0.1:1")
	require.Error(t, err)
	require.True(t, d.due("127.0.0.1:1"))
}
