package wire

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDecodeChecksTheVersionFirst(t *testing.T) {
	for _, r := range OwnKeys() {
		for _, v := range []int16{r.Min - 1, r.Max + 1, -1, 1<<15 - 1, -1 << 15} {
			if v >= r.Min && v <= r.Max {
				continue
			}
			_, err := Decode(r.Key, v, make([]byte, 1000))
			require.Error(t, err, "key %d version %d", r.Key, v)
		}
	}
}

func TestDecodeOfEveryOwnVersion(t *testing.T) {
	for _, r := range OwnKeys() {
		for v := r.Min; v <= r.Max; v++ {
			req := kmsg.RequestForKey(r.Key)
			req.SetVersion(v)
			body := req.AppendTo(nil)
			msg, err := Decode(r.Key, v, body)
			require.NoError(t, err)
			require.Equal(t, v, msg.GetVersion())
			require.Equal(t, body, msg.AppendTo(nil))
			for i := range len(body) {
				if _, err := Decode(r.Key, v, body[:i]); err == nil {
					// A shorter body may be whole only where nothing but empty tags is missing, which kmsg does not accept.
					t.Fatalf("%s version %d was read from %d of %d bytes", kmsg.NameForKey(r.Key), v, i, len(body))
				}
			}
		}
	}
}

// TestDecodeOfAMillionElementsInTenBytes: what an array says of its length allocates nothing.
func TestDecodeOfAMillionElementsInTenBytes(t *testing.T) {
	for _, r := range OwnKeys() {
		for v := r.Min; v <= r.Max; v++ {
			for _, filler := range [][]byte{nil, {0, 1, 'g'}, {2, 'g'}} {
				body := append([]byte(nil), filler...)
				body = binary.BigEndian.AppendUint32(body, 1_000_000)
				body = binary.AppendUvarint(body, 1_000_001)
				allocated := allocatedBy(func() { _, _ = Decode(r.Key, v, body) })
				require.Less(t, allocated, uint64(64<<10), "%s version %d", kmsg.NameForKey(r.Key), v)
			}
		}
	}
}

func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// FuzzOwnDecode reads arbitrary bodies as requests of our own keys: no panic, memory in proportion to the input, and what
// was read can be written and read again.
func FuzzOwnDecode(f *testing.F) {
	for _, r := range OwnKeys() {
		for v := r.Min; v <= r.Max; v++ {
			req := kmsg.RequestForKey(r.Key)
			req.SetVersion(v)
			f.Add(r.Key, v, req.AppendTo(nil))
		}
	}
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group = 8, "g"
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "t"
	topic.Partitions = append(topic.Partitions, kmsg.NewOffsetCommitRequestTopicPartition())
	commit.Topics = append(commit.Topics, topic)
	f.Add(int16(8), int16(8), commit.AppendTo(nil))
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		if _, ok := OwnVersions(key); !ok {
			return
		}
		msg, err := Decode(key, version, body)
		if err != nil {
			return
		}
		again, err := Decode(key, version, msg.AppendTo(nil))
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if string(again.AppendTo(nil)) != string(msg.AppendTo(nil)) {
			t.Fatal("the second reading differs")
		}
	})
}
