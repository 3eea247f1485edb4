package gateway_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/wire"
)

// frame is a request as a fake broker sees it.
type frame struct {
	h    wire.Header
	body []byte
}

// fakeBroker is a broker of a cluster of its own that does what a test says, also what no real broker would.
type fakeBroker struct {
	t  testing.TB
	ln net.Listener
	// handle answers every request but ApiVersions and Metadata; nil or false: no answer.
	handle func(nc net.Conn, f frame) bool

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	wg    sync.WaitGroup
	dials int // connections accepted so far
}

func newFakeBroker(t testing.TB, handle func(net.Conn, frame) bool) *fakeBroker {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &fakeBroker{t: t, ln: ln, handle: handle, conns: map[net.Conn]struct{}{}}
	b.wg.Go(b.accept)
	t.Cleanup(b.close)
	return b
}

func (b *fakeBroker) addr() string { return b.ln.Addr().String() }

func (b *fakeBroker) accept() {
	for {
		nc, err := b.ln.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		b.conns[nc] = struct{}{}
		b.dials++
		b.mu.Unlock()
		b.wg.Go(func() { b.serve(nc) })
	}
}

// cut closes all connections.
func (b *fakeBroker) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for nc := range b.conns {
		_ = nc.Close()
	}
	clear(b.conns)
}

func (b *fakeBroker) accepted() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dials
}

// stop closes the port and all connections, as a broker that dies.
func (b *fakeBroker) close() {
	_ = b.ln.Close()
	b.cut()
	b.wg.Wait()
}

func (b *fakeBroker) serve(nc net.Conn) {
	defer nc.Close()
	r := bufio.NewReader(nc)
	for {
		var size [4]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return
		}
		raw := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(r, raw); err != nil {
			return
		}
		f := frame{h: wire.Header{
			Key: int16(binary.BigEndian.Uint16(raw)), Version: int16(binary.BigEndian.Uint16(raw[2:])),
			Corr: int32(binary.BigEndian.Uint32(raw[4:])), Size: int32(len(raw)),
		}}
		var err error
		if _, f.body, err = wire.SplitRequest(f.h, raw); err != nil {
			b.t.Errorf("the fake broker got %v", err)
			return
		}
		switch f.h.Key {
		case int16(kmsg.ApiVersions):
			b.apiVersions(nc, f)
		case int16(kmsg.Metadata):
			b.metadata(nc, f)
		default:
			if b.handle == nil || !b.handle(nc, f) {
				continue
			}
		}
	}
}

// respond writes a response to f.
func respond(nc net.Conn, f frame, resp kmsg.Response) {
	resp.SetVersion(f.h.Version)
	respondBytes(nc, f, resp.AppendTo(nil))
}

func respondBytes(nc net.Conn, f frame, body []byte) {
	out := binary.BigEndian.AppendUint32(nil, 0)
	out = binary.BigEndian.AppendUint32(out, uint32(f.h.Corr))
	if wire.ResponseHeaderTags(f.h.Key, f.h.Version) {
		out = append(out, 0)
	}
	out = append(out, body...)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	_, _ = nc.Write(out) // the other side may be gone
}

func (b *fakeBroker) apiVersions(nc net.Conn, f frame) {
	resp := kmsg.NewPtrApiVersionsResponse()
	if f.h.Version > 4 {
		f.h.Version, resp.ErrorCode = 0, 35
	}
	for k := int16(0); k <= kmsg.MaxKey; k++ {
		if r := kmsg.RequestForKey(k); r != nil {
			key := kmsg.NewApiVersionsResponseApiKey()
			key.ApiKey, key.MaxVersion = k, r.MaxVersion()
			if k == 18 {
				key.MaxVersion = 4
			}
			resp.ApiKeys = append(resp.ApiKeys, key)
		}
	}
	respond(nc, f, resp)
}

func (b *fakeBroker) metadata(nc net.Conn, f frame) {
	a := b.ln.Addr().(*net.TCPAddr)
	resp := kmsg.NewPtrMetadataResponse()
	id := "fake"
	resp.ClusterID, resp.ControllerID = &id, 0
	broker := kmsg.NewMetadataResponseBroker()
	broker.NodeID, broker.Host, broker.Port = 0, a.IP.String(), int32(a.Port)
	resp.Brokers = append(resp.Brokers, broker)
	respond(nc, f, resp)
}
