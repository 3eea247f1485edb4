package gateway_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/gateway"
)

// TestLargeFramesPassUnchanged sends requests of every size, whose answers are the requests themselves, with own requests
// in between: small frames are collected, larger ones written at once, the largest spliced.
func TestLargeFramesPassUnchanged(t *testing.T) {
	broker := newFakeBroker(t, func(nc net.Conn, f frame) bool {
		respondBytes(nc, f, f.body)
		return true
	})
	s := newStandAt(t, []string{broker.addr()}, 1, localFunc(echo), nil)
	c := dialRaw(t, s.port(0))
	rnd := rand.New(rand.NewPCG(1, 2))
	var sizes []int
	for _, n := range []int{0, 1, 1000, 8 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20} {
		for d := -20; d <= 20; d += 4 {
			sizes = append(sizes, max(0, n+d))
		}
	}
	sizes = append(sizes, 5<<20, 100, 5<<20, 5<<20)
	rnd.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	bodies := make([][]byte, len(sizes))
	for i, n := range sizes {
		bodies[i] = make([]byte, n)
		for j := 0; j+8 <= n; j += 8 {
			binary.LittleEndian.PutUint64(bodies[i][j:], rnd.Uint64())
		}
	}
	go func() {
		for i, body := range bodies {
			out := rawFetch(int32(2*i), 10+len(body))
			copy(out[14:], body)
			out = append(out, kmsg.NewRequestFormatter().AppendRequest(nil, newHeartbeat(), int32(2*i+1))...)
			if _, err := c.nc.Write(out); err != nil {
				t.Errorf("send %d: %v", i, err)
				return
			}
		}
	}()
	for i, body := range bodies {
		b, err := c.read()
		require.NoError(t, err)
		require.Equal(t, int32(2*i), int32(binary.BigEndian.Uint32(b)))
		require.True(t, bytes.Equal(body, b[4:]), "the answer of %d bytes has changed", len(body))
		c.receive(int32(2*i+1), newHeartbeat())
	}
}

// TestClientThatDoesNotReadLargeAnswers is cut off, and the broker's connection with it.
func TestClientThatDoesNotReadLargeAnswers(t *testing.T) {
	gone := make(chan error, 1)
	broker := newFakeBroker(t, func(nc net.Conn, f frame) bool {
		out := binary.BigEndian.AppendUint32(nil, 64<<20)
		_, err := nc.Write(append(binary.BigEndian.AppendUint32(out, uint32(f.h.Corr)), make([]byte, 64<<20-4)...))
		gone <- err
		return true
	})
	s := newStandAt(t, []string{broker.addr()}, 1, localFunc(echo), func(c *gateway.Config) { c.Wire.ProgressTimeout = 200 * time.Millisecond })
	c := dialRaw(t, s.port(0))
	_, err := c.nc.Write(rawFetch(1, 100))
	require.NoError(t, err)
	select {
	case err := <-gone:
		require.Error(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("the broker still sends")
	}
}

// TestBrokerThatStopsInALargeAnswer ends the client, whose answer cannot be completed.
func TestBrokerThatStopsInALargeAnswer(t *testing.T) {
	broker := newFakeBroker(t, func(nc net.Conn, f frame) bool {
		out := binary.BigEndian.AppendUint32(nil, 4<<20)
		_, _ = nc.Write(append(binary.BigEndian.AppendUint32(out, uint32(f.h.Corr)), make([]byte, 1<<20)...))
		return true
	})
	s := newStandAt(t, []string{broker.addr()}, 1, localFunc(echo), func(c *gateway.Config) { c.Wire.ProgressTimeout = 100 * time.Millisecond })
	c := dialRaw(t, s.port(0))
	_, err := c.nc.Write(rawFetch(1, 100))
	require.NoError(t, err)
	_, err = c.read()
	require.Error(t, err)
	c.closed()
}
