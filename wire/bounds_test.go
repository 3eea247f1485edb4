package wire

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestIdleConnectionIsClosed(t *testing.T) {
	r := newRig(t, Config{IdleTimeout: 30 * time.Millisecond})
	r.eof()
	require.NoError(t, r.ended())
}

// TestParkedConnectionIsNotIdle: a join may wait for longer than a connection may be idle.
func TestParkedConnectionIsNotIdle(t *testing.T) {
	r := newRig(t, Config{IdleTimeout: 20 * time.Millisecond})
	r.write(join(1))
	j := r.take()
	r.silence() // more than two idle times
	answer(j)
	r.expect(1)
}

func TestSlowLoris(t *testing.T) {
	for name, piece := range map[string][]byte{
		"in the length": heartbeat(1)[:3],
		"in the header": heartbeat(1)[:11],
		"in the body":   heartbeat(1)[:20],
		"passed":        metadata(1)[:20],
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{ProgressTimeout: 50 * time.Millisecond})
			r.write(piece)
			r.eof()
			require.Error(t, r.ended())
		})
	}
	t.Run("a byte now and then", func(t *testing.T) {
		r := newRig(t, Config{ProgressTimeout: 100 * time.Millisecond})
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		frame := make([]byte, 4+50_000) // of key 0, version 0: Produce
		binary.BigEndian.PutUint32(frame, 50_000)
		start := time.Now()
		for i := range frame {
			if _, err := r.nc.Write(frame[i : i+1]); err != nil {
				break
			}
			select {
			case err := <-r.end:
				require.ErrorContains(t, err, "stopped in the middle")
				require.Less(t, time.Since(start), 5*time.Second)
				return
			case <-tick.C:
			}
		}
		require.ErrorContains(t, r.ended(), "stopped in the middle")
	})
}

// TestClientThatNeverReads: it is cut off, and until then bounded memory waits for it.
func TestClientThatNeverReads(t *testing.T) {
	r := newRig(t, Config{ProgressTimeout: 200 * time.Millisecond, MaxInFlight: 16})
	require.NoError(t, r.nc.(*net.TCPConn).SetReadBuffer(4<<10))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := r.nc.Write(heartbeat(1)); err != nil {
				return
			}
		}
	}()
	text := string(make([]byte, 30_000))
	most := 0
	for {
		select {
		case req := <-r.local:
			resp := kmsg.NewPtrJoinGroupResponse()
			resp.LeaderID = text
			most = max(most, len(r.local))
			req.Reply(resp)
			continue
		case err := <-r.end:
			require.Error(t, err)
		case <-time.After(20 * time.Second):
			t.Fatal("the connection goes on")
		}
		break
	}
	require.LessOrEqual(t, most, 16)
	<-done
}

func TestHeldBytesAreBounded(t *testing.T) {
	r := newRig(t, Config{MaxHeldBytes: 4096})
	big := kmsg.NewPtrOffsetCommitRequest()
	big.Version, big.Group = 8, string(bytes.Repeat([]byte{'g'}, 3000))
	r.write(request(1, big), request(2, big))
	first := r.take()
	r.idle()
	answer(first)
	answer(r.take())
	r.expect(1, 2)
	big.Group = string(bytes.Repeat([]byte{'g'}, 5000))
	r.write(request(3, big))
	r.eof()
	require.ErrorContains(t, r.ended(), "at most 4096 are held")
}

// TestPipelinedBytesAreBounded: a client that sends many large commits at once does not put all of them before the others'.
func TestPipelinedBytesAreBounded(t *testing.T) {
	r := newRig(t, Config{})
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group = 8, string(bytes.Repeat([]byte{'g'}, 30_000))
	r.write(request(1, commit), request(2, commit), request(3, commit), heartbeat(4))
	first, second := r.take(), r.take()
	r.idle()
	answer(first)
	answer(r.take())
	answer(second)
	answer(r.take())
	r.expect(1, 2, 3, 4)
}

// TestLargeRequestsShareTheirRoom: what many small elements may take when decoded is bounded for all connections together.
func TestLargeRequestsShareTheirRoom(t *testing.T) {
	cfg := Config{MaxHeldBytes: 150_000, MaxLargeBytes: 150_000, ProgressTimeout: 10 * time.Second}.Defaults()
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group = 8, "g"
	for range 33_000 { // the shortest topics there are: three bytes each, and many times that when decoded
		commit.Topics = append(commit.Topics, kmsg.NewOffsetCommitRequestTopic())
	}
	frame := request(1, commit)
	require.Greater(t, len(frame), 75_000)
	a, b := newRigAt(t, &cfg, newFakeUp()), newRigAt(t, &cfg, newFakeUp())
	a.write(frame)
	first := a.take()
	b.write(frame)
	b.idle()
	answer(first)
	a.expect(1)
	second := b.take()
	b.conn.Close()
	b.ended()
	a.write(frame) // what a lost connection held is free again
	answer(a.take())
	a.expect(1)
	answer(second)
}

// TestUnfinishedRequestsShareTheirRoom: clients that send large requests and not their ends do not fill the memory.
func TestUnfinishedRequestsShareTheirRoom(t *testing.T) {
	cfg := Config{MaxHeldBytes: 200_000, MaxUnfinishedBytes: 200_000, ProgressTimeout: 10 * time.Second}.Defaults()
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group = 8, "g"
	for range 6 {
		topic := kmsg.NewOffsetCommitRequestTopic()
		topic.Topic = string(bytes.Repeat([]byte{'t'}, 25_000))
		topic.Partitions = append(topic.Partitions, kmsg.NewOffsetCommitRequestTopicPartition())
		commit.Topics = append(commit.Topics, topic)
	}
	frame := request(1, commit)
	a, b := newRigAt(t, &cfg, newFakeUp()), newRigAt(t, &cfg, newFakeUp())
	a.write(frame[:len(frame)-1])
	require.Eventually(t, func() bool { // until a holds its part
		free := cfg.unfinished.TryAcquire(100_000)
		if free {
			cfg.unfinished.Release(100_000)
		}
		return !free
	}, 10*time.Second, time.Millisecond)
	b.write(frame)
	b.idle()
	a.write(frame[len(frame)-1:])
	answer(a.take())
	a.expect(1)
	answer(b.take())
	b.expect(1)
	require.Eventually(t, func() bool { return cfg.unfinished.TryAcquire(200_000) }, 10*time.Second, time.Millisecond, "room is not given back")
}

func TestWaitForRoomEnds(t *testing.T) {
	cfg := Config{MaxHeldBytes: 150_000, MaxLargeBytes: 150_000, ProgressTimeout: 50 * time.Millisecond}.Defaults()
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Version, commit.Group = 8, string(make([]byte, 90_000))
	a, b := newRigAt(t, &cfg, newFakeUp()), newRigAt(t, &cfg, newFakeUp())
	a.write(request(1, commit))
	a.take()
	b.write(request(1, commit))
	b.eof()
	require.ErrorContains(t, b.ended(), "no room")
}
