package gateway_test

import (
	"context"
	"encoding/base64"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/coordinatord/coordinatord/gateway"
	"github.com/coordinatord/coordinatord/wire"
)

// newSASLStand is a gateway before brokers that ask for a login; user "u" has the password "p" with every mechanism.
func newSASLStand(t *testing.T, local wire.Local, opts ...kfake.Opt) *stand {
	t.Helper()
	opts = append(opts, kfake.NumBrokers(1), kfake.EnableSASL(), kfake.SeedTopics(1, "t"),
		kfake.Superuser("PLAIN", "u", "p"), kfake.Superuser("SCRAM-SHA-256", "u", "p"), kfake.Superuser("SCRAM-SHA-512", "u", "p"))
	cluster, err := kfake.NewCluster(opts...)
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	s := newStandAt(t, cluster.ListenAddrs(), 1, local, func(c *gateway.Config) { c.SASL = true },
		gateway.Security{Protocol: "SASL_PLAINTEXT", Mechanism: "PLAIN", Username: "u", Password: "p"})
	s.cluster = cluster
	waitForVersions(t, s)
	return s
}

func TestLoginPasses(t *testing.T) {
	for name, mechanism := range map[string]sasl.Mechanism{
		"PLAIN":         plain.Auth{User: "u", Pass: "p"}.AsMechanism(),
		"SCRAM-SHA-256": scram.Auth{User: "u", Pass: "p"}.AsSha256Mechanism(),
		"SCRAM-SHA-512": scram.Auth{User: "u", Pass: "p"}.AsSha512Mechanism(),
	} {
		t.Run(name, func(t *testing.T) {
			var served atomic.Int32
			s := newSASLStand(t, localFunc(func(r *wire.Request) { served.Add(1); echo(r) }))
			cl := s.client(kgo.SASL(mechanism), kgo.DefaultProduceTopic("t"))
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			require.NoError(t, cl.ProduceSync(ctx, kgo.StringRecord("x")).FirstErr())
			_, err := newHeartbeat().RequestWith(ctx, cl)
			require.NoError(t, err)
			require.Equal(t, int32(1), served.Load())
		})
	}
}

func TestNothingIsServedBeforeTheLogin(t *testing.T) {
	s := newSASLStand(t, localFunc(func(r *wire.Request) {
		t.Errorf("%s reached Local", kmsg.NameForKey(r.Msg.Key()))
		echo(r)
	}))
	handshake := func(c *rawClient, mechanism string) *kmsg.SASLHandshakeResponse {
		req := kmsg.NewPtrSASLHandshakeRequest()
		req.Version, req.Mechanism = 1, mechanism
		return c.ask(1, req).(*kmsg.SASLHandshakeResponse)
	}
	authenticate := func(token string) *kmsg.SASLAuthenticateRequest {
		req := kmsg.NewPtrSASLAuthenticateRequest()
		req.Version, req.SASLAuthBytes = 2, []byte(token)
		return req
	}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	for name, req := range map[string]kmsg.Request{
		"heartbeat": newHeartbeat(), "metadata": newMetadata("t"), "produce": newProduce(9, 1, "t"), "find coordinator": find,
		"list groups": kmsg.NewPtrListGroupsRequest(),
	} {
		t.Run(name, func(t *testing.T) {
			c := dialRaw(t, s.port(0))
			require.Zero(t, c.ask(0, newAPIVersions(3)).(*kmsg.ApiVersionsResponse).ErrorCode)
			c.send(1, req)
			c.closed()
		})
		t.Run(name+" in the middle of the exchange", func(t *testing.T) {
			c := dialRaw(t, s.port(0))
			require.Zero(t, handshake(c, "SCRAM-SHA-256").ErrorCode)
			first := authenticate("n,,n=u,r=" + base64.StdEncoding.EncodeToString([]byte("nonce")))
			require.Zero(t, c.ask(2, first).(*kmsg.SASLAuthenticateResponse).ErrorCode, "the first of two answers has no error")
			c.send(3, req)
			c.closed()
		})
	}
	t.Run("wrong password", func(t *testing.T) {
		c := dialRaw(t, s.port(0))
		require.Zero(t, handshake(c, "PLAIN").ErrorCode)
		c.send(2, authenticate("\x00u\x00wrong"))
		c.send(3, newHeartbeat())
		for { // the broker may say why before it closes
			if _, err := c.read(); err != nil {
				break
			}
		}
		c.closed()
	})
	t.Run("a mechanism whose end cannot be told", func(t *testing.T) {
		c := dialRaw(t, s.port(0))
		resp := handshake(c, "GSSAPI")
		require.Equal(t, int16(33), resp.ErrorCode)
		require.Equal(t, []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"}, resp.SupportedMechanisms)
	})
	t.Run("handshake version 0", func(t *testing.T) {
		c := dialRaw(t, s.port(0))
		req := kmsg.NewPtrSASLHandshakeRequest()
		req.Mechanism = "PLAIN"
		require.Equal(t, int16(35), c.ask(1, req).(*kmsg.SASLHandshakeResponse).ErrorCode)
		c.closed()
	})
	t.Run("a large request", func(t *testing.T) {
		c := dialRaw(t, s.port(0))
		_, _ = c.nc.Write(kmsg.NewRequestFormatter().AppendRequest(nil, authenticate(string(make([]byte, 600<<10))), 1))
		c.closed()
	})
}

// TestSessionLifetime: own requests never reach the broker, so the end of the session is ours to keep (KIP-368).
func TestSessionLifetime(t *testing.T) {
	const lifetime = 500 * time.Millisecond
	s := newSASLStand(t, localFunc(echo), kfake.BrokerConfigs(map[string]string{
		"connections.max.reauth.ms": strconv.Itoa(int(lifetime.Milliseconds())),
	}))
	c := dialRaw(t, s.port(0))
	login := func(corr int32) {
		handshake := kmsg.NewPtrSASLHandshakeRequest()
		handshake.Version, handshake.Mechanism = 1, "PLAIN"
		require.Zero(t, c.ask(corr, handshake).(*kmsg.SASLHandshakeResponse).ErrorCode)
		auth := kmsg.NewPtrSASLAuthenticateRequest()
		auth.Version, auth.SASLAuthBytes = 2, []byte("\x00u\x00p")
		resp := c.ask(corr+1, auth).(*kmsg.SASLAuthenticateResponse)
		require.Zero(t, resp.ErrorCode)
		require.Equal(t, lifetime.Milliseconds(), resp.SessionLifetimeMillis)
	}
	start := time.Now()
	login(1)
	for i := int32(10); time.Since(start) < 3*lifetime; i += 10 {
		c.ask(i, newHeartbeat())
		time.Sleep(lifetime / 4)
		login(i + 1) // again on the same connection
	}
	c.ask(1000, newHeartbeat())
	time.Sleep(lifetime + 50*time.Millisecond)
	c.send(1001, newHeartbeat())
	c.closed()
}

// TestLoginOutlivesItsBroker: own keys go on after the broker has gone, and what must be passed ends the connection, as
// the login cannot be repeated for the client.
func TestLoginOutlivesItsBroker(t *testing.T) {
	s := newSASLStand(t, localFunc(echo))
	c := dialRaw(t, s.port(0))
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.Version, handshake.Mechanism = 1, "PLAIN"
	c.ask(1, handshake)
	auth := kmsg.NewPtrSASLAuthenticateRequest()
	auth.Version, auth.SASLAuthBytes = 2, []byte("\x00u\x00p")
	require.Zero(t, c.ask(2, auth).(*kmsg.SASLAuthenticateResponse).ErrorCode)
	c.ask(3, newMetadata("t"))
	s.cluster.Close()
	time.Sleep(150 * time.Millisecond) // the gateway trusts a silent broker for 100 ms
	c.ask(4, newHeartbeat())
	c.ask(5, newHeartbeat())
	c.send(6, newMetadata("t"))
	c.closed()
	_, err := net.Dial("tcp", s.port(0))
	require.NoError(t, err, "the port stays open")
}
