package abuse

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/internal/load"
)

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// frame puts a header and a length before a body.
func frame(key, version int16, flexible bool, body []byte) []byte {
	b := make([]byte, 4, 64+len(body))
	b = binary.BigEndian.AppendUint16(b, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, 7)
	b = append(b, 0, 1, 'a') // client id
	if flexible {
		b = append(b, 0)
	}
	b = append(b, body...)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// outcome is what the daemon did with bytes.
type outcome struct {
	answer []byte // whole, without its length
	closed bool   // before an answer was whole
}

// exchange sends bytes and waits for an answer or the end of the connection; neither within the time fails the test.
func exchange(t *testing.T, addr string, send []byte) outcome {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	require.NoError(t, err)
	defer c.Close()
	return exchangeOn(t, c, send)
}

func exchangeOn(t *testing.T, c net.Conn, send []byte) outcome {
	t.Helper()
	if _, err := c.Write(send); err != nil {
		return outcome{closed: true} // closed before all of it was taken
	}
	require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "neither an answer nor a close within 10 s to % x", send[:min(len(send), 64)])
		return outcome{closed: true}
	}
	var answer bytes.Buffer // grows with what comes, whatever the length says
	_, err := io.CopyN(&answer, c, int64(binary.BigEndian.Uint32(size[:])))
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "an answer that does not end")
	if err != nil {
		return outcome{closed: true}
	}
	return outcome{answer: answer.Bytes()}
}

// committed asks for one committed offset.
func committed(t *testing.T, addr, group, topic string, partition int32) int64 {
	t.Helper()
	c, err := load.Dial(addr)
	require.NoError(t, err)
	defer c.Close()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.SetVersion(7)
	req.Group = group
	rt := kmsg.NewOffsetFetchRequestTopic()
	rt.Topic, rt.Partitions = topic, []int32{partition}
	req.Topics = append(req.Topics, rt)
	resp, err := c.Request(req)
	require.NoError(t, err)
	r := resp.(*kmsg.OffsetFetchResponse)
	require.Zero(t, r.ErrorCode)
	require.Len(t, r.Topics, 1)
	return r.Topics[0].Partitions[0].Offset
}
