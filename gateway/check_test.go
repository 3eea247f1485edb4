package gateway

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/wire"
)

type noLocal struct{}

func (noLocal) Serve(r *wire.Request) { r.Reply(nil) }

// startServer starts a gateway for the directory and returns its bootstrap address.
func startServer(t *testing.T, d *Directory) string {
	t.Helper()
	srv, err := NewServer(Config{Listen: "127.0.0.1:0", Ports: d.cfg.Ports}, d, noLocal{}, zap.NewNop())
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		srv.Shutdown(ctx)
	})
	return srv.Addr().String()
}

func bad(findings []Finding) string {
	var out []string
	for _, f := range findings {
		if !f.OK {
			out = append(out, f.Text)
		}
	}
	return strings.Join(out, "\n")
}

func TestCheck(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(3), kfake.ClusterID("abc"))
	first := FreePorts(t, 3)
	ports := Ports{Host: "127.0.0.1", First: first, Last: first + 2}
	cfg := DirectoryConfig{Seeds: c.ListenAddrs(), Ports: ports}
	d := newDirectory(t, cfg.Seeds, func(c *DirectoryConfig) { c.Ports = ports })

	// Nothing listens where clients are told to go.
	findings := Check(testContext(t), cfg, "", zap.NewNop())
	require.Contains(t, bad(findings), "The address 127.0.0.1:"+strconv.Itoa(int(first))+" that clients are told for broker 0 cannot be reached from here")
	require.Equal(t, 3, strings.Count(bad(findings), "\n")+1)

	bootstrap := startServer(t, d)
	findings = Check(testContext(t), cfg, bootstrap, zap.NewNop())
	require.Empty(t, bad(findings))
	require.Len(t, findings, 3+1+3+1+3)

	// The ports of a daemon with another first broker id lead to other brokers.
	shifted := cfg
	shifted.Ports.FirstID = 1
	findings = Check(testContext(t), shifted, "", zap.NewNop())
	require.Contains(t, bad(findings), "Broker 0 has no port")
	require.Contains(t, bad(findings), "for broker 1 belongs to another broker id or another cluster")

	// A broker's own address is not the daemon.
	findings = Check(testContext(t), cfg, c.ListenAddrs()[0], zap.NewNop())
	require.Contains(t, bad(findings), "leads to a broker itself, not to the daemon")
}

func TestCheckWithoutKafka(t *testing.T) {
	// One accepts and closes, one accepts and says nothing of sense, one refuses.
	rude, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer rude.Close()
	go func() {
		for i := 0; ; i++ {
			conn, err := rude.Accept()
			if err != nil {
				return
			}
			if i == 0 {
				conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			}
			conn.Close()
		}
	}()
	closed := FreePorts(t, 1)
	cfg := DirectoryConfig{Seeds: []string{rude.Addr().String(), net.JoinHostPort("127.0.0.1", strconv.Itoa(int(closed)))}, Ports: testPorts}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	text := bad(Check(ctx, cfg, "", zap.NewNop()))
	require.Contains(t, text, "does not speak Kafka's protocol in plain text")
	require.Contains(t, text, "connection refused")
	require.Contains(t, text, "The daemon's own client fails: ask Kafka")

	require.Contains(t, bad(Check(ctx, DirectoryConfig{}, "", zap.NewNop())), "The configuration is wrong: no address of a Kafka broker is given.")
}
