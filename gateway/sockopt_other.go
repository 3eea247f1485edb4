//go:build !linux

package gateway

import "net"

// setUserTimeout leaves the finding of dead peers to keep-alive where there is no TCP_USER_TIMEOUT.
func setUserTimeout(net.Conn) {}
