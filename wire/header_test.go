package wire

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// everyRequest calls f with an empty request of each key and version.
func everyRequest(f func(req kmsg.Request)) {
	for k := int16(0); k <= maxKey; k++ {
		for v := int16(0); ; v++ {
			req := kmsg.RequestForKey(k)
			if req == nil || v > req.MaxVersion() {
				break
			}
			req.SetVersion(v)
			f(req)
		}
	}
}

func TestSplitRequestOfEveryKeyAndVersion(t *testing.T) {
	n := 0
	everyRequest(func(req kmsg.Request) {
		key, version := req.Key(), req.GetVersion()
		if key == 7 && version == 0 {
			return // its header has no client id; the key is hidden
		}
		frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("a client")).AppendRequest(nil, req, 77)
		h := parseHeader(frame)
		require.Equal(t, Header{Key: key, Version: version, Corr: 77, Size: int32(len(frame) - 4)}, h)
		id, body, err := SplitRequest(h, frame[4:])
		require.NoError(t, err)
		require.Equal(t, "a client", string(id))
		require.Equal(t, req.AppendTo(nil), append([]byte(nil), body...), "key %d version %d", key, version)
		n++
	})
	require.Greater(t, n, 300)
}

func TestSplitRequestWithTagsAndWithoutClientID(t *testing.T) {
	frame := []byte{0, 12, 0, 4, 0, 0, 0, 1, 0xff, 0xff, 2, 5, 3, 'a', 'b', 'c', 0x90, 0x4e, 1, 'x', 'B'}
	id, body, err := SplitRequest(Header{Key: 12, Version: 4}, frame)
	require.NoError(t, err)
	require.Empty(t, id)
	require.Equal(t, "B", string(body))
	for i := range len(frame) - 1 {
		_, _, err := SplitRequest(Header{Key: 12, Version: 4}, frame[:i])
		require.ErrorIs(t, err, errShort, "cut at %d", i)
	}
}

func TestResponseHeaderOfEveryKeyAndVersion(t *testing.T) {
	everyRequest(func(req kmsg.Request) {
		resp := req.ResponseKind()
		got := appendResponseHeader(nil, req.Key(), req.GetVersion(), 9)
		want := []byte{0, 0, 0, 9}
		if resp.IsFlexible() && req.Key() != 18 {
			want = append(want, 0)
		}
		require.Equal(t, want, got, "key %d version %d", req.Key(), req.GetVersion())
	})
	require.Len(t, appendResponseHeader(nil, 18, 4, 9), 4, "the header of an ApiVersions response has no tags")
}

func TestAcksOfEveryProduceVersion(t *testing.T) {
	txn := strings.Repeat("t", 300)
	for version := int16(0); version <= kmsg.NewPtrProduceRequest().MaxVersion(); version++ {
		for _, want := range []int16{-1, 0, 1} {
			for _, id := range []*string{nil, &txn} {
				for _, client := range []string{"", strings.Repeat("c", 500)} {
					req := kmsg.NewPtrProduceRequest()
					req.Version, req.Acks, req.TransactionID = version, want, id
					f := kmsg.NewRequestFormatter()
					if client != "" {
						f = kmsg.NewRequestFormatter(kmsg.FormatterClientID(client))
					}
					frame := f.AppendRequest(nil, req, 1)[4:]
					got, err := acks(version, frame)
					require.NoError(t, err)
					require.Equal(t, want, got, "version %d", version)
				}
			}
		}
	}
}

func TestAcksOfAPieceAsksForMore(t *testing.T) {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks = 9, 1
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("c")).AppendRequest(nil, req, 1)[4:]
	end := 8 + 3 + 1 + 1 + 2 // fixed part, client id, tags, transactional id, acks
	for i := fixedHeader; i < end; i++ {
		_, err := acks(9, frame[:i])
		require.ErrorIs(t, err, errShort, "cut at %d", i)
	}
	got, err := acks(9, frame[:end])
	require.NoError(t, err)
	require.Equal(t, int16(1), got)
}

func FuzzHeader(f *testing.F) {
	everyRequest(func(req kmsg.Request) {
		if v := req.GetVersion(); v == 0 || v == req.MaxVersion() {
			f.Add(kmsg.NewRequestFormatter(kmsg.FormatterClientID("c")).AppendRequest(nil, req, 1)[4:])
		}
	})
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) < fixedHeader {
			return
		}
		h := parseHeader(append([]byte{0, 0, 0, 0}, frame...))
		_, body, err := SplitRequest(h, frame)
		if err == nil && len(body) > len(frame)-fixedHeader-2 {
			t.Fatal("the body reaches into the header")
		}
		if _, err := acks(h.Version, frame); err == nil && len(frame) < fixedHeader+4 {
			t.Fatal("acks out of nothing")
		}
		if body, err := SplitResponse(Slot{Key: h.Key, Version: h.Version}, frame); err == nil && len(body) > len(frame)-4 {
			t.Fatal("the body reaches into the response header")
		}
		_ = ClassOf(h.Key)
	})
}

// FuzzFrame feeds a connection bytes as they come: it must end or wait, never panic, and never hold more than was sent.
func FuzzFrame(f *testing.F) {
	hb := kmsg.NewPtrHeartbeatRequest()
	hb.Version = 4
	f.Add(kmsg.NewRequestFormatter().AppendRequest(nil, hb, 1), uint8(3))
	f.Add([]byte{0x16, 3, 1, 2, 0, 1}, uint8(1))
	f.Add(binary.BigEndian.AppendUint32(nil, 1<<31-1), uint8(4))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), uint8(5))
	f.Fuzz(func(t *testing.T, input []byte, cut uint8) {
		feed(t, input, int(cut))
	})
}
