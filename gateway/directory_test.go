package gateway

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/zap/zaptest"
)

// testPorts gives ports to the broker ids 0-31.
var testPorts = Ports{Host: "gateway.test", First: 19193, Last: 19224}

func newCluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(opts...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// newDirectory starts a directory for a cluster and waits until the cluster is known.
func newDirectory(t *testing.T, seeds []string, edit func(*DirectoryConfig)) *Directory {
	t.Helper()
	cfg := DirectoryConfig{Seeds: seeds, Ports: testPorts}
	if edit != nil {
		edit(&cfg)
	}
	d, err := NewDirectory(cfg, zaptest.NewLogger(t))
	require.NoError(t, err)
	d.Start(t.Context())
	t.Cleanup(d.Close)
	_, err = d.Cluster(testContext(t))
	require.NoError(t, err)
	return d
}

// testContext bounds everything that a test waits for.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for a look at the cluster after which ok holds.
func eventually(t *testing.T, d *Directory, ok func() bool) {
	t.Helper()
	ctx := testContext(t)
	for {
		d.mu.Lock()
		news := d.news
		d.mu.Unlock()
		if ok() {
			return
		}
		d.refreshSoon()
		select {
		case <-news:
		case <-ctx.Done():
			t.Fatalf("it never came true; the latest look: %v", d.Err())
		}
	}
}

func TestDirectoryFollowsBrokers(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(3), kfake.ClusterID("abc"))
	d := newDirectory(t, c.ListenAddrs()[:1], nil)
	require.Equal(t, "abc", d.Table().ClusterID())
	require.Equal(t, []int32{0, 1, 2}, d.Table().IDs())

	// A broker comes, with a gap in the ids.
	id, port, err := c.AddNode(7, 0)
	require.NoError(t, err)
	eventually(t, d, func() bool { return len(d.Table().IDs()) == 4 })
	addr, ok := d.Table().Upstream(id)
	require.True(t, ok)
	require.Equal(t, strconv.Itoa(port), portOf(t, addr))
	host, advertised, ok := d.Table().Advertised(7)
	require.True(t, ok)
	require.Equal(t, "gateway.test", host)
	require.Equal(t, testPorts.First+7, advertised)

	// It goes: no longer named, its last address kept for the connections of its port.
	require.NoError(t, c.RemoveNode(7))
	eventually(t, d, func() bool { return len(d.Table().IDs()) == 3 })
	was, ok := d.Table().Upstream(7)
	require.True(t, ok)
	require.Equal(t, addr, was)

	// It comes back elsewhere: the id is what counts.
	_, moved, err := c.AddNode(7, 0)
	require.NoError(t, err)
	eventually(t, d, func() bool { return len(d.Table().IDs()) == 4 })
	addr, err = d.Wait(testContext(t), 7)
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(moved), portOf(t, addr))
}

func portOf(t *testing.T, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	return port
}
