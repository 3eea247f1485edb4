package gateway

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// FreePorts finds n consecutive ports of the loopback address that are free at the moment. They lie below the range that
// the system gives to outgoing connections, or one of those could take a port before its listener is there.
func FreePorts(t testing.TB, n int) int32 {
	t.Helper()
	for range 200 {
		base := 10_000 + rand.IntN(5_000-n)
		var taken []net.Listener
		for port := base; port < base+n; port++ {
			ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if err != nil {
				break
			}
			taken = append(taken, ln)
		}
		for _, ln := range taken {
			require.NoError(t, ln.Close())
		}
		if len(taken) == n {
			return int32(base)
		}
	}
	t.Fatal("no free ports")
	return 0
}
