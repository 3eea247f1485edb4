package raftstore

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// node is one voter of a cluster in this process.
type node struct {
	cfg Config
	s   *Store
	m   *model
}

// cluster is three voters on loopback.
type cluster struct {
	t     *testing.T
	nodes []*node
}

// freeAddrs reserves ports by binding and releasing them.
func freeAddrs(t *testing.T, n int) (addrs []string) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		addrs = append(addrs, l.Addr().String())
	}
	return addrs
}

func newCluster(t *testing.T, change func(c *Config)) *cluster {
	c := &cluster{t: t}
	var peers []Peer
	for i, a := range freeAddrs(t, 3) {
		peers = append(peers, Peer{ID: uint64(i + 1), Addr: a})
	}
	for _, p := range peers {
		cfg := testConfig(t, t.TempDir())
		cfg.NodeID, cfg.Peers, cfg.Listen = p.ID, peers, p.Addr
		if change != nil {
			change(&cfg)
		}
		c.nodes = append(c.nodes, &node{cfg: cfg})
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			c.stop(n)
		}
	})
	return c
}

func (c *cluster) start(nodes ...*node) {
	c.t.Helper()
	for _, n := range nodes {
		n.m = newModel()
		var err error
		n.s, err = Open(n.cfg, n.m)
		require.NoError(c.t, err)
	}
}

func (c *cluster) stop(n *node) {
	c.t.Helper()
	if n.s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(c.t, n.s.Close(ctx))
	require.Empty(c.t, n.m.complaints())
	n.s = nil
}

// leader waits for the node whose owner was told to lead.
func (c *cluster) leader() *node {
	c.t.Helper()
	var found *node
	require.Eventually(c.t, func() bool {
		for _, n := range c.nodes {
			if n.s == nil {
				continue
			}
			n.m.mu.Lock()
			leads := n.m.leading != 0
			n.m.mu.Unlock()
			if leads {
				found = n
			}
		}
		return found != nil
	}, patience, 5*time.Millisecond)
	return found
}

// do proposes until a leader has committed the command, the way a client would.
func (c *cluster) do(cmd string) {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		n := c.leader()
		if n.m.do(c.t, n.s, cmd).err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	c.t.Fatalf("%q was never committed", cmd)
}

// converge waits until every running node has the state of the leader.
func (c *cluster) converge() map[string][]byte {
	c.t.Helper()
	want := c.leader().m.state()
	for _, n := range c.nodes {
		if n.s == nil {
			continue
		}
		require.Eventually(c.t, func() bool {
			n.m.mu.Lock()
			defer n.m.mu.Unlock()
			return string(n.m.values[chainKey]) == string(want[chainKey])
		}, patience, 5*time.Millisecond)
		require.Equal(c.t, want, n.m.state())
	}
	return want
}

func TestClusterCommitsAndHandsOver(t *testing.T) {
	c := newCluster(t, nil)
	c.start(c.nodes...)
	for i := range 20 {
		c.do(fmt.Sprintf("a%d=1", i))
	}
	c.converge()
	first := c.leader()
	for _, n := range c.nodes {
		if n != first {
			require.ErrorIs(t, n.m.propose(n.s, "x=1", nil), ErrNotLeader)
			require.Equal(t, first.cfg.NodeID, n.s.Status().LeaderID)
		}
	}
	confirmed := make(chan error, 10)
	for range 10 {
		first.s.Confirm(func(err error) { confirmed <- err })
	}
	for range 10 {
		require.NoError(t, <-confirmed)
	}
	c.stop(first)
	c.do("b=1")
	require.NotEqual(t, first, c.leader())
	c.start(first)
	want := c.converge()
	require.Contains(t, want, "b")
	require.Len(t, want, 22)
	for _, n := range c.nodes {
		c.stop(n)
	}
	c.start(c.nodes...)
	c.do("c=1")
	require.Equal(t, []byte("1"), c.converge()["c"])
}

// TestClusterWithoutMajority: a leader that lost the others says so within a bound, and what it had under way is unknown.
func TestClusterWithoutMajority(t *testing.T) {
	c := newCluster(t, func(c *Config) { c.ProposeTimeout = time.Second })
	c.start(c.nodes...)
	c.do("a=1")
	leader := c.leader()
	for _, n := range c.nodes {
		if n != leader {
			c.stop(n)
		}
	}
	o := leader.m.do(t, leader.s, "b=1")
	require.Error(t, o.err)
	leader.m.await(t, "resignation", func() bool { return leader.m.leading == 0 })
	require.ErrorIs(t, leader.m.propose(leader.s, "c=1", nil), ErrNotLeader)
	done := make(chan error, 1)
	leader.s.Confirm(func(err error) { done <- err })
	require.ErrorIs(t, <-done, ErrNotLeader)
	for _, n := range c.nodes {
		if n != leader {
			c.start(n)
		}
	}
	c.do("d=1")
	require.Contains(t, c.converge(), "d")
}

// TestClusterStalledDisk: heartbeats go on without the disk, so the others would wait for ever; the process must end.
func TestClusterStalledDisk(t *testing.T) {
	disks := map[uint64]*faultyLog{}
	fatal := make(chan error, 1000)
	c := newCluster(t, func(c *Config) {
		disks[c.NodeID] = newFaultyLog()
		c.wrapLog, c.StallTimeout, c.ProposeTimeout = disks[c.NodeID].wrap, 200*time.Millisecond, 200*time.Millisecond
		c.Fatal = func(err error) { fatal <- err }
	})
	c.start(c.nodes...)
	c.do("a=1")
	leader := c.leader()
	disk := disks[leader.cfg.NodeID]
	t.Cleanup(func() { disk.set(false, nil) })
	disk.set(true, nil)
	o := leader.m.do(t, leader.s, "b=1")
	require.ErrorIs(t, o.err, ErrTimeout)
	select {
	case err := <-fatal:
		require.ErrorIs(t, err, errStalled)
	case <-time.After(patience):
		t.Fatal("the leader holds on to a dead disk")
	}
	// The hook has returned, which it does not in production. The disk comes back, and Raft hands over what it was asked to.
	disk.set(false, nil)
	leader.m.await(t, "resignation", func() bool { return leader.m.leading == 0 })
	c.do("c=1")
	want := c.converge()
	require.Contains(t, want, "c")
	require.Contains(t, want, "b", "what was unknown turned out to be committed")
}

// TestClusterInstallsSnapshot: a follower that was away for longer than the log reaches back is given a snapshot, also
// when it dies in the middle of it.
func TestClusterInstallsSnapshot(t *testing.T) {
	c := newCluster(t, func(c *Config) { c.TrailingLogs = 2 })
	c.start(c.nodes...)
	c.do("a=1")
	c.converge()
	leader := c.leader()
	var away *node
	for _, n := range c.nodes {
		if n != leader {
			away = n
		}
	}
	more := func(round int) {
		for i := range 10 {
			c.do(fmt.Sprintf("r%dk%d=1", round, i))
		}
		require.NoError(t, c.leader().s.raft.Snapshot().Error())
	}
	for round, point := range []string{"snapshot-installed", "snapshot-loaded", "state-committed"} {
		c.stop(away)
		more(round)
		child := startChild(t, childSpec{Config: away.cfg, Point: point, Hit: 1, Follow: true})
		child.read(unlimited)
		require.Error(t, child.cmd.Wait(), "the point %s was not reached: %s", point, child.stderr.String())
		// The log that the snapshot replaced is still there, and what follows the snapshot must not be appended to it. The
		// same leader would send its snapshot again, having heard no answer; another one goes on from where the node is.
		require.NoError(t, c.leader().s.raft.LeadershipTransfer().Error())
		c.start(away)
		require.NotZero(t, away.m.loads[0], "what was installed before the crash counts")
		c.do("after=1")
		c.converge()
		require.Len(t, away.m.loads, 1, "no second snapshot was needed")
	}
	c.stop(away)
	more(3)
	c.start(away)
	want := c.converge()
	require.Len(t, away.m.loads, 2, "at boot, and the snapshot")
	c.stop(away)
	c.start(away)
	require.GreaterOrEqual(t, away.m.loads[0], away.s.Status().Snapshot)
	require.Equal(t, want, c.converge())
}

// TestClusterRefusesDamagedSnapshot: a state is not given up for a snapshot that turns out to be damaged at its end.
func TestRestoreRefusesDamage(t *testing.T) {
	m := newModel()
	m.values["old"] = []byte("1")
	f := &fsm{handler: m}
	good := writeSnapshot(t, testPosition(), Change{Key: []byte("new"), Value: []byte("1")})
	for i := range good {
		require.Error(t, f.Restore(readCloser(flip(good, i))))
		require.Error(t, f.Restore(readCloser(good[:i])))
		require.Equal(t, map[string][]byte{"old": []byte("1")}, m.state())
	}
	require.Zero(t, f.loaded.Load())
}

func TestStreamLayerRefusesStrangers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	layer := newStreamLayer(l, 7, addr)
	for _, hello := range []string{"GET / HTTP/1.0\r\n\r\n", "\xcd\x01\x00\x08", "\xcd\x02\x00\x07"} {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		_, err = conn.Write([]byte(hello))
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		_, err = conn.Read(make([]byte, 1))
		require.Error(t, err)
		var timeout net.Error
		require.False(t, asNetError(err, &timeout) && timeout.Timeout(), "the connection was closed")
		require.NoError(t, conn.Close())
	}
	silent, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer silent.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		conn, err := layer.Dial(raft.ServerAddress(addr), patience)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = conn.Write([]byte("x"))
		_ = conn.Close()
	})
	conn, err := layer.Accept()
	require.NoError(t, err, "a silent connection holds nobody up")
	b := make([]byte, 1)
	_, err = conn.Read(b)
	require.NoError(t, err)
	require.Equal(t, "x", string(b))
	require.NoError(t, conn.Close())
	wg.Wait()
	require.NoError(t, layer.Close())
	_, err = layer.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}
