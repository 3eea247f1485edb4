package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestAnswersLeaveInRequestOrder(t *testing.T) {
	r := newRig(t, Config{})
	r.write(metadata(1), heartbeat(2), metadata(3), heartbeat(4), metadata(5))
	h2, h4 := r.take(), r.take()
	answer(h4)
	r.up.release <- struct{}{}
	r.expect(1)
	r.up.release <- struct{}{} // the broker has answered 3, whose turn it is not
	r.silence()
	answer(h2)
	r.expect(2, 3, 4)
	r.up.release <- struct{}{}
	r.expect(5)
	require.Equal(t, "test", h2.ClientID)
	require.Equal(t, "/127.0.0.1", h2.Host)
	require.Equal(t, int32(3), h2.Broker)
	require.Equal(t, bytes.Join([][]byte{metadata(1), metadata(3), metadata(5)}, nil), r.up.flushed())
}

func TestCommitsAndHeartbeatsDoNotWaitForOneAnother(t *testing.T) {
	r := newRig(t, Config{})
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group = 8, "g"
	for i := range int32(20) {
		r.write(request(2*i, commit), heartbeat(2*i+1))
	}
	var reqs []*Request
	for range 40 {
		reqs = append(reqs, r.take())
	}
	for i := range reqs { // last first
		if i%2 == 0 {
			require.Equal(t, int16(8), reqs[i].Msg.Key(), "the order of the requests")
		}
		answer(reqs[len(reqs)-1-i])
	}
	for i := range int32(40) {
		r.expect(i)
	}
}

func TestOtherOwnRequestsMuteTheConnection(t *testing.T) {
	r := newRig(t, Config{})
	r.write(heartbeat(1), join(2), heartbeat(3), join(4))
	h1 := r.take()
	require.Equal(t, int16(12), h1.Msg.Key())
	r.idle() // the join waits for the heartbeat before it
	answer(h1)
	j2 := r.take()
	require.Equal(t, int16(11), j2.Msg.Key())
	r.idle() // and holds back the heartbeat behind it
	answer(j2)
	answer(r.take())
	answer(r.take())
	r.expect(1, 2, 3, 4)
}

// TestPassedRequestsGoOnBehindAParkedJoin: they are sent to the broker, and their answers wait for the join's.
func TestPassedRequestsGoOnBehindAParkedJoin(t *testing.T) {
	r := newRig(t, Config{})
	r.write(join(1), metadata(2))
	j := r.take()
	require.Eventually(t, func() bool { return bytes.Equal(r.up.flushed(), metadata(2)) }, 10*time.Second, time.Millisecond)
	r.up.release <- struct{}{}
	r.silence()
	answer(j)
	r.expect(1, 2)
}

// TestMutedConnectionHasSentWhatCameBefore: bytes for the broker never wait behind a request that must wait.
func TestMutedConnectionHasSentWhatCameBefore(t *testing.T) {
	r := newRig(t, Config{})
	r.write(join(1), metadata(2), join(3), metadata(4))
	j := r.take()
	require.Eventually(t, func() bool { return bytes.Equal(r.up.flushed(), metadata(2)) }, 10*time.Second, time.Millisecond)
	answer(j)
	r.up.release <- struct{}{}
	answer(r.take())
	r.up.release <- struct{}{}
	r.expect(1, 2, 3, 4)
}

func TestProduceWithoutAcksHasNoSlot(t *testing.T) {
	r := newRig(t, Config{})
	r.write(produce(1, 0), metadata(2), produce(3, 0), produce(4, 1), heartbeat(5))
	answer(r.take())
	r.up.release <- struct{}{}
	r.up.release <- struct{}{}
	r.expect(2, 4, 5)
	require.Equal(t, bytes.Join([][]byte{produce(1, 0), metadata(2), produce(3, 0), produce(4, 1)}, nil), r.up.flushed())
	r.silence()
}

func TestApiVersionsOfAnyVersionIsLookedAt(t *testing.T) {
	got := make(chan int16, 3)
	up := newFakeUp()
	up.look = func(h Header, _ []byte) (Verdict, error) {
		got <- h.Version
		return Verdict{Body: []byte{0, 35}}, nil
	}
	r := newRigWith(t, Config{}, up)
	for i, v := range []int16{0, 99, 32767} {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version = v
		r.write(request(int32(i), req))
		corr, rest := r.next()
		require.Equal(t, int32(i), corr)
		require.Equal(t, []byte{0, 35}, rest, "the header has no tags in any version")
		require.Equal(t, v, <-got)
	}
}

// TestRefusedRequests: Kafka closes the connection, after the answers to what was asked before.
func TestRefusedRequests(t *testing.T) {
	hidden := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Version = 16
	tooNew := heartbeat(2)
	tooNew[7] = 5
	tooOld := request(2, kmsg.NewPtrOffsetCommitRequest()) // version 0
	unknown := heartbeat(2)
	unknown[4], unknown[5] = 0x27, 0x10
	cut := heartbeat(2)
	cut = cut[:len(cut)-4]
	binary.BigEndian.PutUint32(cut, uint32(len(cut)-4))
	million := binary.BigEndian.AppendUint32(heartbeat(2)[:4+8+2+4+1], 1_000_000)
	binary.BigEndian.PutUint32(million, uint32(len(million)-4))
	for name, tc := range map[string]struct {
		frame []byte
		want  string
	}{
		"hidden key":                   {request(2, hidden), "api key 68 is not served"},
		"fetch with addresses":         {request(2, fetch), "api key 1 is not served in version 16"},
		"version too new":              {tooNew, "api key 12 is not served in version 5"},
		"version too old":              {tooOld, "api key 8 is not served in version 0"},
		"unknown key":                  {unknown, "api key 10000 is not served"},
		"truncated body":               {cut, "Heartbeat request, version 4"},
		"more elements than bytes":     {million, "Heartbeat request, version 4"},
		"negative size":                {[]byte{0xff, 0xff, 0xff, 0xf0}, "negative"},
		"huge size":                    {[]byte{0x7f, 0xff, 0xff, 0xff}, "larger than the limit of 104857600 bytes"},
		"TLS":                          {[]byte{0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00}, "TLS ClientHello"},
		"HTTP":                         {[]byte("GET /metrics HTTP/1.1\r\n\r\n"), "HTTP"},
		"size smaller than any header": {[]byte{0, 0, 0, 3, 1, 2, 3}, "too short"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.write(heartbeat(1), tc.frame)
			h := r.take()
			r.silence()
			answer(h)
			r.expect(1)
			r.eof()
			require.ErrorContains(t, r.ended(), tc.want)
		})
	}
}

func TestRawSASLIsRefusedWithAnAnswer(t *testing.T) {
	r := newRig(t, Config{})
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Mechanism = "PLAIN"
	r.write(request(1, req))
	corr, rest := r.next()
	require.Equal(t, int32(1), corr)
	require.Equal(t, []byte{0, 35, 0, 0, 0, 0}, rest)
	r.eof()
	require.ErrorContains(t, r.ended(), "raw SASL tokens")
}

func TestNilAnswerClosesTheConnectionInItsTurn(t *testing.T) {
	r := newRig(t, Config{})
	r.write(heartbeat(1), heartbeat(2), heartbeat(3))
	h1, h2, h3 := r.take(), r.take(), r.take()
	h2.Reply(nil)
	answer(h3)
	r.silence()
	answer(h1)
	r.expect(1)
	r.eof()
	require.ErrorIs(t, r.ended(), errNoAnswer)
}

func TestSecondAnswerPanics(t *testing.T) {
	r := newRig(t, Config{})
	r.write(heartbeat(1))
	h := r.take()
	answer(h)
	require.Panics(t, func() { answer(h) })
	n := 0
	own := NewRequest(h.Msg, "", "", -1, func(kmsg.Response) { n++ })
	answer(own)
	require.Equal(t, 1, n)
	require.Panics(t, func() { answer(own) })
}

func TestAnswerAfterTheConnectionHasEnded(t *testing.T) {
	r := newRig(t, Config{DrainTimeout: time.Millisecond})
	r.write(heartbeat(1))
	h := r.take()
	r.nc.Close()
	require.ErrorIs(t, r.ended(), errDrain)
	answer(h) // goes nowhere and harms nobody
}

// TestAnswersWhileTheConnectionEnds: the coordinator does not know that a client has gone, and answers what it still has
// while the connection clears its queue.
func TestAnswersWhileTheConnectionEnds(t *testing.T) {
	r := newRig(t, Config{DrainTimeout: time.Millisecond})
	const n = 100 // more than a ring keeps once it is empty
	var reqs []*Request
	for i := range int32(n) {
		r.write(heartbeat(i))
		reqs = append(reqs, r.take())
	}
	var answers sync.WaitGroup
	answers.Go(func() {
		<-r.up.closed
		for _, req := range reqs {
			answer(req)
		}
	})
	require.NoError(t, r.nc.Close())
	require.ErrorIs(t, r.ended(), errDrain)
	answers.Wait()
}

func TestHalfClosedClientGetsItsAnswers(t *testing.T) {
	r := newRig(t, Config{})
	r.write(heartbeat(1), metadata(2))
	h := r.take()
	require.NoError(t, r.nc.(*net.TCPConn).CloseWrite())
	answer(h)
	r.expect(1)
	r.up.release <- struct{}{}
	r.expect(2)
	r.eof()
	require.NoError(t, r.ended())
}

// TestEndRightBehindRequests: what a client sends with its last words reaches the broker, an answer or none.
func TestEndRightBehindRequests(t *testing.T) {
	client, server := tcpPair(t)
	last := append(metadata(1), produce(2, 0)...)
	_, err := client.Write(last)
	require.NoError(t, err)
	require.NoError(t, client.(*net.TCPConn).CloseWrite())
	cfg := Config{}.Defaults()
	r := newRigOn(t, &cfg, newFakeUp(), client, server) // all of it is there when the reader begins
	r.up.release <- struct{}{}
	r.expect(1)
	r.eof()
	require.NoError(t, r.ended())
	require.Equal(t, last, r.up.flushed())
}

func TestDrainAnswersWhatWasAsked(t *testing.T) {
	r := newRig(t, Config{})
	r.write(heartbeat(1))
	h := r.take()
	r.conn.Drain()
	answer(h)
	r.expect(1)
	r.eof()
	require.NoError(t, r.ended())
}

func TestDrainOfAnIdleConnection(t *testing.T) {
	r := newRig(t, Config{})
	r.conn.Drain()
	r.eof()
	require.NoError(t, r.ended())
}

func TestRequestsThatCannotBePassed(t *testing.T) {
	up := newFakeUp()
	up.down = errors.New("no broker")
	up.refuse = func(h Header) (Verdict, error) {
		if h.Key != 3 {
			return Verdict{}, errors.New("no answer")
		}
		resp := kmsg.NewPtrMetadataResponse()
		resp.Version = h.Version
		return Verdict{Resp: resp}, nil
	}
	r := newRigWith(t, Config{}, up)
	r.write(metadata(1), heartbeat(2), metadata(3))
	answer(r.take())
	r.expect(1, 2, 3)
	r.write(produce(4, 1))
	r.eof()
	err := r.ended()
	require.ErrorContains(t, err, "no broker")
	require.ErrorContains(t, err, "no answer")
}

func TestHeldBackAnswerKeepsItsPlace(t *testing.T) {
	up := newFakeUp()
	up.down = errors.New("no broker")
	up.refuse = func(h Header) (Verdict, error) {
		resp := kmsg.NewPtrMetadataResponse()
		resp.Version = h.Version
		return Verdict{Resp: resp, After: 100 * time.Millisecond}, nil
	}
	r := newRigWith(t, Config{}, up)
	start := time.Now()
	r.write(metadata(1), heartbeat(2))
	answer(r.take())
	r.expect(1)
	require.GreaterOrEqual(t, time.Since(start), 100*time.Millisecond)
	r.expect(2)
}

// TestFramesInEveryCut sends the same requests in pieces of every size.
func TestFramesInEveryCut(t *testing.T) {
	all := bytes.Join([][]byte{metadata(1), heartbeat(2), produce(3, 0), produce(4, 1), heartbeat(5)}, nil)
	for size := 1; size <= len(all); size += 1 + size/8 {
		r := newRig(t, Config{})
		go func() {
			for b := all; len(b) > 0; {
				n := min(size, len(b))
				if _, err := r.nc.Write(b[:n]); err != nil {
					return
				}
				b = b[n:]
			}
		}()
		r.up.release <- struct{}{}
		r.up.release <- struct{}{}
		answer(r.take())
		answer(r.take())
		r.expect(1, 2, 4, 5)
		r.nc.Close()
		r.ended()
	}
}

// feed is the body of FuzzFrame.
func feed(t *testing.T, input []byte, cut int) {
	r := newRig(t, Config{ProgressTimeout: 10 * time.Second, MaxRequestBytes: 1 << 20, DrainTimeout: 10 * time.Second})
	go func() {
		for req := range r.local {
			answer(req)
		}
	}()
	go func() { _, _ = io.Copy(io.Discard, r.nc) }()
	close(r.up.release)
	for len(input) > 0 {
		n := min(max(cut, 1), len(input))
		if _, err := r.nc.Write(input[:n]); err != nil {
			break
		}
		input = input[n:]
	}
	_ = r.nc.(*net.TCPConn).CloseWrite()
	_ = r.ended()
	close(r.local)
}
