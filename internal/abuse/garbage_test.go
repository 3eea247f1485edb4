package abuse

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStrangersOnThePort: what is no Kafka request ends the connection at once, with a line that says what it was and who
// sent it.
func TestStrangersOnThePort(t *testing.T) {
	d := startDev(t)
	s := startSteady(t, d.Bootstrap)
	size := func(n int32) []byte {
		return binary.BigEndian.AppendUint32(nil, uint32(n))
	}
	for _, c := range []struct {
		name string
		send []byte
		log  string
	}{
		{"negative length", size(-1), "-1"},
		{"least length", size(-1 << 31), "-2147483648"},
		{"length zero", size(0), "0"},
		{"shorter than a header", append(size(7), 0, 18, 0, 0, 0, 0, 0), "7"},
		{"one more than allowed", size(100<<20 + 1), "104857601"},
		{"greatest length", size(1<<31 - 1), "2147483647"},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP"},
		{"HTTP POST", []byte("POST / HTTP/1.1\r\n\r\n"), "HTTP"},
		{"HTTP HEAD", []byte("HEAD / HTTP/1.1\r\n\r\n"), "HTTP"},
		{"HTTP OPTIONS", []byte("OPTIONS * HTTP/1.1\r\n\r\n"), "HTTP"},
		{"HTTP 2", []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "HTTP"},
		{"SSH", []byte("SSH-2.0-OpenSSH_9.6\r\n"), "1397966893"},
		{"a line of text", []byte("hello, is this Kafka?\n"), "1751477356"},
		{"all ones", bytes.Repeat([]byte{0xff}, 100), "-1"},
		{"all zeros", make([]byte, 100), "0"},
		{"unknown api", frame(999, 0, false, nil), "999"},
		{"negative api", frame(-1, 0, false, nil), "-1"},
		{"client id longer than the request", append(size(10), 0, 16, 0, 0, 0, 0, 0, 1, 0x7f, 0xff), ""},
		{"tags longer than the request", append(size(15), 0, 16, 0, 5, 0, 0, 0, 1, 0, 1, 'a', 0xff, 0xff, 0xff, 0xff), ""},
	} {
		from := len(d.log.String())
		conn, err := net.DialTimeout("tcp", d.Bootstrap, 5*time.Second)
		require.NoError(t, err)
		got := exchangeOn(t, conn, c.send)
		require.True(t, got.closed, "%s was answered: % x", c.name, got.answer)
		d.log.await(t, from, conn.LocalAddr().String(), c.log)
		_ = conn.Close()
	}
	t.Run("TLS", func(t *testing.T) {
		from := len(d.log.String())
		_, err := tls.Dial("tcp", d.Bootstrap, &tls.Config{InsecureSkipVerify: true})
		require.Error(t, err)
		d.log.await(t, from, "TLS ClientHello")
	})
	t.Run("HTTP client", func(t *testing.T) {
		_, err := http.Get("http://" + d.Bootstrap + "/metrics")
		require.Error(t, err)
	})
	s.undisturbed(t)
	d.stop(t)
}

// TestRandomBytes: connections that say random things, of which most begin like a request, and then end.
func TestRandomBytes(t *testing.T) {
	d := startDev(t)
	s := startSteady(t, d.Bootstrap)
	rng := rand.New(rand.NewChaCha8([32]byte{1}))
	before, _, err := d.Resident()
	require.NoError(t, err)
	keys := []int16{0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 22, 42, 47, 60, 75}
	for i := range 1000 * *scale {
		b := make([]byte, 12+rng.IntN(300))
		for j := range b {
			b[j] = byte(rng.Uint32())
		}
		if i%4 != 0 {
			binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		}
		if i%4 > 1 {
			binary.BigEndian.PutUint16(b[4:], uint16(keys[rng.IntN(len(keys))]))
			binary.BigEndian.PutUint16(b[6:], uint16(rng.IntN(11)))
		}
		c, err := net.DialTimeout("tcp", d.Bootstrap, 5*time.Second)
		require.NoError(t, err, "connection %d", i)
		_, _ = c.Write(b)
		if i%2 == 0 { // the others are gone at once
			_ = c.(*net.TCPConn).CloseWrite()
			require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
			_, err = io.Copy(io.Discard, c)
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "connection %d hangs: % x", i, b)
		}
		_ = c.Close()
	}
	after, _, err := d.Resident()
	require.NoError(t, err)
	require.Less(t, after-before, int64(64<<20), "bytes of memory")
	s.undisturbed(t)
	d.stop(t)
}
