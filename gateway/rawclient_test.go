package gateway_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/wire"
)

// rawClient speaks frames over one connection, so that a test sees order and endings as they are.
type rawClient struct {
	t  testing.TB
	nc net.Conn
}

func dialRaw(t testing.TB, addr string) *rawClient {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	return &rawClient{t: t, nc: nc}
}

func (c *rawClient) send(corr int32, req kmsg.Request) {
	c.t.Helper()
	_, err := c.nc.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("raw")).AppendRequest(nil, req, corr))
	require.NoError(c.t, err)
}

// read returns the next response without its length prefix.
func (c *rawClient) read() ([]byte, error) {
	_ = c.nc.SetReadDeadline(time.Now().Add(15 * time.Second))
	var size [4]byte
	if _, err := io.ReadFull(c.nc, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(c.nc, b)
	return b, err
}

// receive reads the response to req, which must carry corr.
func (c *rawClient) receive(corr int32, req kmsg.Request) kmsg.Response {
	c.t.Helper()
	b, err := c.read()
	require.NoError(c.t, err)
	require.Equal(c.t, corr, int32(binary.BigEndian.Uint32(b)))
	body, err := wire.SplitResponse(wire.Slot{Key: req.Key(), Version: req.GetVersion()}, b)
	require.NoError(c.t, err)
	resp := req.ResponseKind()
	require.NoError(c.t, resp.ReadFrom(body))
	return resp
}

func (c *rawClient) ask(corr int32, req kmsg.Request) kmsg.Response {
	c.t.Helper()
	c.send(corr, req)
	return c.receive(corr, req)
}

// closed checks that the gateway closes the connection and sends nothing before.
func (c *rawClient) closed() {
	c.t.Helper()
	_ = c.nc.SetReadDeadline(time.Now().Add(15 * time.Second))
	n, err := c.nc.Read(make([]byte, 1))
	require.Zero(c.t, n, "the gateway sends something")
	var ne net.Error
	require.False(c.t, errors.As(err, &ne) && ne.Timeout(), "the connection stays open")
}

func newMetadata(topics ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 9
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

func newHeartbeat() *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID = 4, "g", "m"
	return req
}

func newProduce(version, acks int16, topic string) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, acks, 1000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = topic, [16]byte{1}
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = []byte{}
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func newFetch(version int16, topic string) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MaxBytes = version, 100, 1<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = topic, [16]byte{1}
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes = 1 << 20
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}
