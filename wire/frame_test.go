package wire

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

func sizeOf(b string) int32 { return int32(binary.BigEndian.Uint32([]byte(b))) }

func TestCheckRequestSize(t *testing.T) {
	for _, tc := range []struct {
		name string
		size int32
		want string // part of the error; empty: none
	}{
		{"smallest", minFrameSize, ""},
		{"largest", 1000, ""},
		{"one more", 1001, "larger than the limit of 1000 bytes"},
		{"largest int", 1<<31 - 1, "larger than the limit"},
		{"zero", 0, "too short"},
		{"header without client id", 9, "too short"},
		{"negative", -1, "negative"},
		{"most negative", -1 << 31, "negative"},
		{"TLS ClientHello", sizeOf("\x16\x03\x01\x02"), "TLS ClientHello"},
		{"TLS 1.2 record", sizeOf("\x16\x03\x03\x01"), "security.protocol"},
		{"TLS alert", sizeOf("\x15\x03\x03\x00"), "TLS alert"},
		{"GET", sizeOf("GET "), "HTTP"},
		{"POST", sizeOf("POST"), "HTTP"},
		{"HTTP/2 preface", sizeOf("PRI "), "HTTP"},
		{"SSH", sizeOf("SSH-"), "SSH"},
		{"PROXY", sizeOf("PROX"), "PROXY protocol"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := CheckRequestSize(tc.size, 1000)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "\n")
			var fe *FrameError
			require.ErrorAs(t, err, &fe)
			require.Equal(t, tc.size, fe.Size)
		})
	}
}

func TestCheckResponseSize(t *testing.T) {
	require.NoError(t, CheckResponseSize(4))
	require.NoError(t, CheckResponseSize(300<<20), "a fetch response may be of any size")
	require.ErrorContains(t, CheckResponseSize(sizeOf("\x15\x03\x03\x00")), "TLS alert")
	require.ErrorContains(t, CheckResponseSize(sizeOf("HTTP")), "HTTP")
	require.ErrorContains(t, CheckResponseSize(3), "too short")
	require.ErrorContains(t, CheckResponseSize(-5), "negative")
}
