package abuse

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/internal/load"
)

// TestClientsThatNeverRead: clients that send large requests as fast as they are taken and read no answer hold a bounded
// part of the memory, and do not put their work before that of others.
func TestClientsThatNeverRead(t *testing.T) {
	const conns, bound = 30, 256 << 20
	describe := kmsg.NewPtrDescribeGroupsRequest()
	for range 1000 {
		describe.Groups = append(describe.Groups, steadyGroup)
	}
	for _, c := range []struct {
		name  string
		frame []byte
	}{
		{"commits", load.Frame(load.CommitRequest("never-reads", "steady", 8, 1), 1)},
		{"large commits", load.Frame(manyPartitions(1000), 1)},
		{"descriptions", load.Frame(describe, 1)},
		{"metadata", load.Frame(kmsg.NewPtrMetadataRequest(), 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := startDev(t)
			s := startSteady(t, d.Bootstrap)
			piece := bytes.Repeat(c.frame, 1+(64<<10)/len(c.frame))
			var wg sync.WaitGroup
			for range conns {
				conn := dial(t, d.Bootstrap)
				wg.Go(func() {
					// Until nothing more is taken, or so much has been that it cannot all be under way.
					for sent := 0; sent < 8<<20; {
						_ = conn.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
						n, err := conn.Write(piece)
						sent += n
						if err != nil {
							return
						}
					}
				})
			}
			wg.Wait()
			rss, _, err := d.Resident()
			require.NoError(t, err)
			require.Less(t, rss, int64(bound), "bytes of memory")
			s.undisturbed(t)
			d.Kill() // the peers' answers would be waited for
		})
	}
}

func manyPartitions(n int) *kmsg.OffsetCommitRequest {
	req := load.CommitRequest("never-reads", "steady", n, 1)
	for i := range req.Topics[0].Partitions {
		req.Topics[0].Partitions[i].Partition %= 8
	}
	return req
}

// TestIdleConnections: each costs at most 32 KiB, whatever it has said before or left unsaid.
func TestIdleConnections(t *testing.T) {
	d := startDev(t)
	s := startSteady(t, d.Bootstrap)
	n := 1000 * *scale
	versions := load.Frame(kmsg.NewPtrApiVersionsRequest(), 1)
	for _, say := range [][]byte{nil, versions, versions[:6]} {
		before, _, err := d.Resident()
		require.NoError(t, err)
		conns := make([]net.Conn, n)
		for i := range conns {
			conns[i], err = net.DialTimeout("tcp", d.Bootstrap, 5*time.Second)
			require.NoError(t, err)
			defer conns[i].Close()
			if len(say) == len(versions) {
				require.False(t, exchangeOn(t, conns[i], say).closed)
			} else {
				_, err = conns[i].Write(say)
				require.NoError(t, err)
			}
		}
		after, _, err := d.Resident()
		require.NoError(t, err)
		require.Less(t, (after-before)/int64(n), int64(32<<10), "bytes for each of %d connections", n)
	}
	s.undisturbed(t)
	d.Kill()
}

// TestConnectionChurn: connections that come and go, politely, with a reset, and in the middle of a request.
func TestConnectionChurn(t *testing.T) {
	d := startDev(t)
	s := startSteady(t, d.Bootstrap)
	versions := load.Frame(kmsg.NewPtrApiVersionsRequest(), 1)
	metadata := load.Frame(kmsg.NewPtrMetadataRequest(), 1)
	for i := range 2000 * *scale {
		c, err := net.DialTimeout("tcp", d.Bootstrap, 5*time.Second)
		require.NoError(t, err, "connection %d", i)
		switch i % 5 {
		case 0:
			_, _ = c.Write(versions)
		case 1:
			_, _ = c.Write(metadata)
		case 2:
			_, _ = c.Write(metadata[:len(metadata)-3])
		case 3:
			_ = c.(*net.TCPConn).SetLinger(0)
		}
		_ = c.Close()
	}
	s.undisturbed(t)
	d.stop(t)
}

// TestPendingMembersAndGroups: ids that are given out and never used, and groups that nobody wants again.
func TestPendingMembersAndGroups(t *testing.T) {
	d := startDev(t)
	s := startSteady(t, d.Bootstrap)
	before, _, err := d.Resident()
	require.NoError(t, err)
	c, err := load.Dial(d.Bootstrap)
	require.NoError(t, err)
	defer c.Close()
	join := (&load.Member{Group: "crowd"}).JoinRequest()
	for range 2000 * *scale {
		resp, err := c.Request(join)
		require.NoError(t, err)
		require.Equal(t, int16(79), resp.(*kmsg.JoinGroupResponse).ErrorCode)
	}
	for i := range 2000 * *scale {
		resp, err := c.Request(load.CommitRequest(fmt.Sprint("simple-", i), "steady", 1, 1))
		require.NoError(t, err)
		require.NoError(t, load.CheckCommit(resp))
	}
	after, _, err := d.Resident()
	require.NoError(t, err)
	require.Less(t, after-before, int64(*scale)*(64<<20), "bytes of memory")
	s.undisturbed(t)
	d.stop(t)
}

// TestUnknownTopics: thousands of names that Kafka does not have are refused one by one and delay nobody else.
func TestUnknownTopics(t *testing.T) {
	d := startDev(t)
	s := startSteady(t, d.Bootstrap)
	c, err := load.Dial(d.Bootstrap)
	require.NoError(t, err)
	defer c.Close()
	for i := range 20 * *scale {
		req := load.CommitRequest("lost", "steady", 1, 1)
		for j := range 100 {
			topic := req.Topics[0]
			topic.Topic = fmt.Sprintf("unknown-%d-%d", i, j)
			req.Topics = append(req.Topics, topic)
		}
		resp, err := c.Request(req)
		require.NoError(t, err)
		for _, topic := range resp.(*kmsg.OffsetCommitResponse).Topics {
			want := int16(3)
			if topic.Topic == "steady" {
				want = 0
			}
			require.Equal(t, want, topic.Partitions[0].ErrorCode, topic.Topic)
		}
	}
	s.undisturbed(t)
	d.stop(t)
}

// TestStopUnderLoad: a SIGTERM in the middle of commits ends in status 0, and what was acknowledged is there afterwards.
func TestStopUnderLoad(t *testing.T) {
	d := startDev(t)
	s := startSteady(t, d.Bootstrap)
	d.stop(t)
	require.Error(t, s.end(), "the steady client outlived the daemon")
	d.start(t)
	s.kept(t, d.Bootstrap)
	d.stop(t)
}

// TestSleepLongerThanASession: a daemon that was stopped (SIGSTOP) for longer than its members' sessions wakes up without
// throwing out those who come right then.
func TestSleepLongerThanASession(t *testing.T) {
	d := startDev(t, "--group.min.session.timeout.ms", "100")
	c, err := load.Dial(d.Bootstrap)
	require.NoError(t, err)
	defer c.Close()
	m := load.Member{Group: "sleepers"}
	for again := true; again; {
		req := m.JoinRequest()
		req.SessionTimeoutMillis = 1000
		resp, err := c.Request(req)
		require.NoError(t, err)
		again, err = m.Joined(resp)
		require.NoError(t, err)
	}
	resp, err := c.Request(m.SyncRequest())
	require.NoError(t, err)
	require.NoError(t, m.Synced(resp))
	require.NoError(t, d.Hang())
	require.NoError(t, c.Send(m.HeartbeatRequest())) // waits in the socket
	time.Sleep(1500 * time.Millisecond)              // longer than the session: what is tested is the passing of time
	require.NoError(t, d.Wake())
	resp, err = c.Receive(m.HeartbeatRequest())
	require.NoError(t, err)
	code := resp.(*kmsg.HeartbeatResponse).ErrorCode
	require.Contains(t, []int16{0, 25}, code, "a heartbeat that came in time, or one of a member whose session has ended")
	t.Logf("the heartbeat was answered %d", code)
	d.alive(t)
	require.NoError(t, d.Signal(syscall.SIGTERM))
	<-d.Done()
	require.NoError(t, d.Err())
}
