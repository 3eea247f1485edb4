package realkafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// maxProbe bounds an answer to a probe, in bytes.
const maxProbe = 1 << 20

// Ready asks addr for ApiVersions (version 0). It is nil when a broker
// answered.
func Ready(ctx context.Context, addr string) error {
	body, err := ask(ctx, addr, 18, 0, nil)
	if err != nil {
		return err
	}
	if len(body) < 2 {
		return errors.New("realkafka: ApiVersions: short answer")
	}
	if code := int16(binary.BigEndian.Uint16(body)); code != 0 {
		return fmt.Errorf("realkafka: ApiVersions: error code %d", code)
	}
	return nil
}

// brokerCount asks addr for Metadata (version 4, no topics) and counts the
// brokers that are alive.
func brokerCount(ctx context.Context, addr string) (int, error) {
	// An empty array of topics, allow_auto_topic_creation false.
	body, err := ask(ctx, addr, 3, 4, []byte{0, 0, 0, 0, 0})
	if err != nil {
		return 0, err
	}
	if len(body) < 8 { // Throttle time, length of the array of brokers.
		return 0, errors.New("realkafka: Metadata: short answer")
	}
	return int(int32(binary.BigEndian.Uint32(body[4:]))), nil
}

// ask sends one request with header version 1 over a new connection and
// returns the body of the answer.
func ask(ctx context.Context, addr string, key, version int16, body []byte) ([]byte, error) {
	const correlation = 7
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	client := "realkafka"
	req := make([]byte, 4, 64)
	req = binary.BigEndian.AppendUint16(req, uint16(key))
	req = binary.BigEndian.AppendUint16(req, uint16(version))
	req = binary.BigEndian.AppendUint32(req, correlation)
	req = binary.BigEndian.AppendUint16(req, uint16(len(client)))
	req = append(append(req, client...), body...)
	binary.BigEndian.PutUint32(req, uint32(len(req)-4))
	if _, err := conn.Write(req); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	size := int32(binary.BigEndian.Uint32(head[:]))
	if size < 4 || size > maxProbe || binary.BigEndian.Uint32(head[4:]) != correlation {
		return nil, fmt.Errorf("realkafka: %s does not answer as Kafka does", addr)
	}
	answer := make([]byte, size-4)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// poll calls try every 50 ms until it succeeds, ctx is done or died is closed.
// The error is the last one that try returned.
func poll(ctx context.Context, died <-chan struct{}, try func(context.Context) error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		once, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := try(once)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-died:
			return errors.New("the process ended")
		case <-ctx.Done():
			return fmt.Errorf("%w (last: %w)", ctx.Err(), err)
		case <-tick.C:
		}
	}
}
