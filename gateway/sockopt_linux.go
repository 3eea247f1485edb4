package gateway

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// userTimeout is how long sent bytes may stay unacknowledged before the kernel gives the connection up: a host that has
// vanished is found out also while something is on its way, when keep-alive does not look.
const userTimeout = 60 * time.Second

// setUserTimeout sets TCP_USER_TIMEOUT (RFC 5482). Without it a dead peer is found later, so a failure is no error.
func setUserTimeout(nc net.Conn) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(userTimeout.Milliseconds())) // see above
	})
}
