package abuse

import (
	"encoding/binary"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/internal/load"
	"github.com/coordinatord/coordinatord/internal/proc"
)

// fault changes what a broker sends: it returns what goes out in place of a response, and whether the connection ends.
type fault func(response []byte) (out []byte, end bool)

// sickKafka is a stand-in for Kafka whose every response passes a fault.
type sickKafka struct {
	addr  string
	fault atomic.Pointer[fault]
	hit   atomic.Int64 // responses that a fault has changed
}

func (k *sickKafka) set(f fault) {
	k.hit.Store(0)
	if f == nil {
		k.fault.Store(nil)
		return
	}
	k.fault.Store(&f)
}

type sickListener struct {
	net.Listener
	k *sickKafka
}

func (l sickListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return sickConn{c, l.k}, nil
}

type sickConn struct {
	net.Conn
	k *sickKafka
}

// Write takes one whole response, as the stand-in writes them.
func (c sickConn) Write(p []byte) (int, error) {
	f := c.k.fault.Load()
	if f == nil {
		return c.Conn.Write(p)
	}
	c.k.hit.Add(1)
	out, end := (*f)(append([]byte(nil), p...))
	if _, err := c.Conn.Write(out); err != nil {
		return 0, err
	}
	if end {
		_ = c.Close()
	}
	return len(p), nil
}

func startSick(t *testing.T) *sickKafka {
	t.Helper()
	k := &sickKafka{}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(8, "steady"),
		kfake.ListenFn(func(network, addr string) (net.Listener, error) {
			l, err := net.Listen(network, addr)
			return sickListener{l, k}, err
		}))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	k.addr = cluster.ListenAddrs()[0]
	return k
}

// startServe starts `coordinatord serve` beside a Kafka.
func startServe(t *testing.T, kafka string, args ...string) *target {
	t.Helper()
	log := &logBuffer{}
	s, err := proc.NewServer(bin, t.TempDir(), kafka, 0, log, append(args, "--group.initial.rebalance.delay.ms", "0")...)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	g := &target{log: log, http: s.HTTP, args: s.Args}
	g.start(t)
	return g
}

// TestSickKafka: a Kafka that hangs, dies or talks nonsense ends the connections of those who asked it something. Groups go
// on, and when it is well again so is everything.
func TestSickKafka(t *testing.T) {
	const silent = "silent"
	k := startSick(t)
	d := startServe(t, k.addr)
	metadata := load.Frame(kmsg.NewPtrMetadataRequest(), 7)
	fetch := kmsg.NewPtrFetchRequest()
	fetch.SetVersion(4)
	opaque := load.Frame(fetch, 7)
	s := startSteady(t, d.Bootstrap)
	before, _, err := d.Resident()
	require.NoError(t, err)
	for _, c := range []struct {
		name  string
		fault fault
	}{
		{"closes", func([]byte) ([]byte, bool) { return nil, true }},
		{"ends in the length", func(r []byte) ([]byte, bool) { return r[:2], true }},
		{"ends in the header", func(r []byte) ([]byte, bool) { return r[:6], true }},
		{"ends in the body", func(r []byte) ([]byte, bool) { return r[:len(r)-1], true }},
		{"answers another request", func(r []byte) ([]byte, bool) { r[7] ^= 0x55; return r, false }},
		{"negative length", func(r []byte) ([]byte, bool) { r[0] |= 0x80; return r, false }},
		{"length of two bytes", func(r []byte) ([]byte, bool) { copy(r, "\x00\x00\x00\x02"); return r, false }},
		{"length of 2 GiB", func(r []byte) ([]byte, bool) { copy(r, "\x7f\xff\xff\xff"); return r, true }},
		{"speaks HTTP", func([]byte) ([]byte, bool) { return []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), true }},
		{"a body of ones", func(r []byte) ([]byte, bool) {
			for i := range r[8:] {
				r[8+i] = 0xff
			}
			return r, false
		}},
		{"a body of 16 MiB", func(r []byte) ([]byte, bool) {
			r = append(r, make([]byte, 16<<20)...)
			binary.BigEndian.PutUint32(r, uint32(len(r)-4))
			return r, false
		}},
		{silent, func([]byte) ([]byte, bool) { return nil, false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			k.set(c.fault)
			if c.name == silent {
				conn := dial(t, d.Bootstrap)
				_, err := conn.Write(metadata)
				require.NoError(t, err)
			} else {
				exchange(t, d.Bootstrap, metadata) // ends, whichever way
				if c.name != "a body of 16 MiB" && c.name != "a body of ones" {
					got := exchange(t, d.Bootstrap, opaque)
					require.True(t, got.closed, "answered % x", got.answer)
				}
			}
			require.Eventually(t, func() bool { return k.hit.Load() > 0 }, 10*time.Second, time.Millisecond)
			k.set(nil)
			require.Eventually(t, func() bool { return !exchange(t, d.Bootstrap, metadata).closed }, 20*time.Second, 20*time.Millisecond,
				"metadata after Kafka is well again")
			d.alive(t)
		})
	}
	after, _, err := d.Resident()
	require.NoError(t, err)
	require.Less(t, after-before, int64(256<<20), "bytes of memory")
	require.Contains(t, d.log.String(), k.addr+" answered request", "a line that names the broker")
	s.undisturbed(t)
	d.stop(t)
}
