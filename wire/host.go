package wire

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// hostOf is a client's address in Kafka's form, which is that of Java's InetAddress.toString for an address without a
// name: "/127.0.0.1", and an IPv6 address in full, "/0:0:0:0:0:0:0:1".
func hostOf(a net.Addr) string {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return "/" + a.String()
	}
	ip, _ := netip.AddrFromSlice(t.IP)
	if ip = ip.Unmap(); !ip.Is6() {
		return "/" + ip.String()
	}
	var b strings.Builder
	bytes := ip.As16()
	for i := 0; i < len(bytes); i += 2 {
		sep := ":"
		if i == 0 {
			sep = "/"
		}
		fmt.Fprintf(&b, "%s%x", sep, uint16(bytes[i])<<8|uint16(bytes[i+1]))
	}
	if t.Zone != "" {
		b.WriteString("%" + t.Zone)
	}
	return b.String()
}
