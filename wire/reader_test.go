package wire

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pairs are the two kinds of connection: one whose descriptor can be read without waiting, and one that only has Read.
var pairs = map[string]func(testing.TB) (client, server net.Conn){
	"tcp": tcpPair,
	"pipe": func(t testing.TB) (client, server net.Conn) {
		client, server = net.Pipe()
		t.Cleanup(func() { client.Close(); server.Close() })
		return client, server
	},
}

func random(n int) []byte {
	rnd := rand.New(rand.NewPCG(uint64(n), 7))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}

func TestReaderReadsWhatWasSent(t *testing.T) {
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			client, server := pair(t)
			all := random(300_000)
			go func() {
				for b := all; len(b) > 0; {
					n := min(1+len(b)%7001, len(b))
					if _, err := client.Write(b[:n]); err != nil {
						return
					}
					b = b[n:]
				}
				client.Close()
			}()
			r := NewReader(server, nil)
			var got []byte
			for i := 0; ; i++ {
				switch i % 3 {
				case 0:
					b, err := r.Next(1 + i%5000)
					if errors.Is(err, io.EOF) {
						require.True(t, bytes.Equal(all, got))
						require.Equal(t, uint64(len(all)), r.Total())
						return
					}
					require.NoError(t, err)
					got = append(got, b...)
				case 1:
					n := min(1+i%3000, len(all)-len(got))
					b, err := r.Peek(n)
					if n > 0 {
						require.NoError(t, err)
						got = append(got, b[:n]...)
						r.Discard(n)
					}
				case 2:
					n := min(1+i%90_000, len(all)-len(got))
					var err error
					got, err = r.ReadFull(got, n)
					require.NoError(t, err)
				}
			}
		})
	}
}

func TestReaderEndsInTheMiddle(t *testing.T) {
	client, server := tcpPair(t)
	_, err := client.Write([]byte("abc"))
	require.NoError(t, err)
	client.Close()
	r := NewReader(server, nil)
	_, err = r.Peek(4)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	b, err := r.ReadFull(nil, 10)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "abc", string(b))
	_, err = r.Peek(1)
	require.ErrorIs(t, err, io.EOF)
	_, err = r.Peek(bufSize + 1)
	require.Error(t, err)
}

// TestReaderHoldsNoBufferWhileItWaits: neither with nothing nor with the beginning of a frame.
func TestReaderHoldsNoBufferWhileItWaits(t *testing.T) {
	for _, have := range []int{0, 1, stashMax} {
		client, server := tcpPair(t)
		_, err := client.Write(random(have))
		require.NoError(t, err)
		var r *Reader
		waits := make(chan struct{}, 1)
		r = NewReader(server, func() error {
			waits <- struct{}{}
			return nil
		})
		r.SetTimeout(50 * time.Millisecond)
		_, err = r.Peek(have + 1)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		<-waits
		require.Nil(t, r.buf)
		require.Equal(t, have, r.Buffered())
		_, err = client.Write([]byte{42})
		require.NoError(t, err)
		b, err := r.Peek(have + 1)
		require.NoError(t, err)
		require.Equal(t, append(random(have), 42), b)
	}
}

func TestReaderTimeouts(t *testing.T) {
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			client, server := pair(t)
			r := NewReader(server, nil)
			r.SetTimeout(30 * time.Millisecond)
			start := time.Now()
			_, err := r.Peek(1)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.GreaterOrEqual(t, time.Since(start), 30*time.Millisecond)

			// An old deadline does not end a wait that may last.
			r.SetTimeout(0)
			time.AfterFunc(50*time.Millisecond, func() { _, _ = client.Write([]byte{1}) })
			_, err = r.Peek(1)
			require.NoError(t, err)
			r.SetTimeout(time.Hour)
			r.Discard(1)
			time.AfterFunc(50*time.Millisecond, func() { _, _ = client.Write([]byte{2}) })
			_, err = r.Peek(1)
			require.NoError(t, err)

			// Nor does a byte now and then satisfy one that asks for progress.
			r.SetProgress(100 * time.Millisecond)
			stop := make(chan struct{})
			defer close(stop)
			go func() {
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for {
					select {
					case <-tick.C:
						if _, err := client.Write([]byte{3}); err != nil {
							return
						}
					case <-stop:
						return
					}
				}
			}()
			_, err = r.Peek(1000)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		})
	}
}

func TestReaderInterrupt(t *testing.T) {
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			_, server := pair(t)
			var r *Reader
			r = NewReader(server, func() error {
				time.AfterFunc(10*time.Millisecond, r.Interrupt)
				return nil
			})
			r.SetTimeout(time.Hour)
			_, err := r.Peek(1)
			require.ErrorIs(t, err, errInterrupted)
			_, err = r.Peek(1)
			require.ErrorIs(t, err, errInterrupted)
		})
	}
}

func TestReaderPassesTheErrorOfItsHookOn(t *testing.T) {
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			_, server := pair(t)
			r := NewReader(server, func() error { return io.ErrClosedPipe })
			_, err := r.Peek(1)
			require.ErrorIs(t, err, io.ErrClosedPipe)
		})
	}
}

func TestWriterKeepsTheOrderOfAllSizes(t *testing.T) {
	for name, pair := range pairs {
		t.Run(name, func(t *testing.T) {
			client, server := pair(t)
			got := make(chan []byte, 1)
			go func() {
				b, _ := io.ReadAll(client)
				got <- b
			}()
			w := NewWriter(server, 10*time.Second)
			var want []byte
			for i, n := range []int{1, 5000, 8 << 10, 100, 70_000, 3, 600_000, 8191, 8191, 8191, 8191, 8191, 8191, 8191, 8191, 8191, 20} {
				p := random(n)
				want = append(want, p...)
				if i%4 == 3 {
					require.NoError(t, w.Append(func(dst []byte) []byte { return append(dst, p...) }))
				} else {
					require.NoError(t, w.Write(p))
				}
			}
			require.NotZero(t, w.Buffered())
			require.NoError(t, w.Flush())
			require.Zero(t, w.Buffered())
			require.Nil(t, w.buf)
			require.Equal(t, uint64(len(want)), w.Total())
			server.Close()
			require.True(t, bytes.Equal(want, <-got))
			require.Error(t, w.Write(random(100_000)))
			require.Error(t, w.Write([]byte{1}), "an error stays")
			require.Error(t, w.Flush())
		})
	}
}

func TestWriterGivesUpAPeerThatTakesNothing(t *testing.T) {
	_, server := tcpPair(t)
	w := NewWriter(server, 100*time.Millisecond)
	start := time.Now()
	require.ErrorIs(t, w.Write(make([]byte, 64<<20)), os.ErrDeadlineExceeded)
	require.Less(t, time.Since(start), 10*time.Second)
}

func TestStreamOverConnectionsThatCannotSplice(t *testing.T) {
	a, b := net.Pipe()
	c, d := net.Pipe()
	all := random(500_000)
	go func() { _, _ = a.Write(all); a.Close() }()
	got := make(chan []byte, 1)
	go func() {
		p, _ := io.ReadAll(d)
		got <- p
	}()
	w, r := NewWriter(c, time.Second), NewReader(b, nil)
	require.NoError(t, w.Stream(r, len(all)))
	require.NoError(t, w.Flush())
	require.ErrorIs(t, w.Stream(r, 1), io.ErrUnexpectedEOF)
	c.Close()
	require.True(t, bytes.Equal(all, <-got))
}
