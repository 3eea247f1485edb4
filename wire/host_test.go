package wire

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHostOf(t *testing.T) {
	for in, want := range map[string]string{
		"127.0.0.1": "/127.0.0.1", "::ffff:10.1.2.3": "/10.1.2.3", "::1": "/0:0:0:0:0:0:0:1",
		"2001:db8::ff00:42:8329": "/2001:db8:0:0:0:ff00:42:8329",
	} {
		require.Equal(t, want, hostOf(&net.TCPAddr{IP: net.ParseIP(in), Port: 1}))
	}
	require.Equal(t, "/fe80:0:0:0:0:0:0:1%eth0", hostOf(&net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0"}))
	require.Equal(t, "/x", hostOf(&net.UnixAddr{Name: "x"}))
}
