package daemon

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
)

// Bounds of settings, inclusive.
const (
	longest     = math.MaxInt32 * time.Millisecond // Kafka's int settings in milliseconds
	maxPorts    = 1024                             // of --broker-ports: each is a listener for the daemon's whole life
	minRequest  = 1 << 10                          // socket.request.max.bytes below this would refuse ordinary joins
	minRefresh  = 100 * time.Millisecond
	minPeriod   = time.Millisecond // of what the log's keeper does now and then
	maxBrokerID = math.MaxInt32 - maxPorts
)

// Validate returns the first thing that is wrong, as a [*ConfigError].
func (c *Config) Validate() error {
	for _, check := range []func() error{c.validateNode, c.validateListeners, c.validateKafka, c.validateGroup} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func bad(reason string, keys ...string) error { return &ConfigError{Keys: keys, Reason: reason} }

func (c *Config) validateNode() error {
	switch {
	case c.NodeID < 1:
		return bad("the node id is at least 1", "node-id")
	case c.DataDir == "":
		return bad("a directory for the daemon's state is required", "data-dir")
	case c.RaftLogStore != "bbolt" && c.RaftLogStore != "wal":
		return bad(fmt.Sprintf("%q is not a log store; it is bbolt or wal", c.RaftLogStore), "raft-log-store")
	}
	for _, d := range []struct {
		key string
		val time.Duration
	}{{"raft-snapshot-interval", c.Raft.SnapshotInterval}, {"raft-write-behind", c.Raft.WriteBehind}} {
		if d.val < minPeriod {
			return bad(fmt.Sprintf("it is at least %v", minPeriod), d.key)
		}
	}
	if c.Raft.SnapshotThreshold < 1 {
		return bad("it is at least 1", "raft-snapshot-threshold")
	}
	return c.validateCluster()
}

func (c *Config) validateCluster() error {
	if len(c.Cluster) == 0 {
		return nil
	}
	seen := make(map[uint64]bool, len(c.Cluster))
	for _, p := range c.Cluster {
		if seen[p.ID] {
			return bad(fmt.Sprintf("node id %d is listed twice", p.ID), "cluster")
		}
		seen[p.ID] = true
	}
	if !seen[c.NodeID] {
		return bad(fmt.Sprintf("node %d is not among the voters of --cluster", c.NodeID), "node-id", "cluster")
	}
	if len(c.Cluster) > 1 {
		return bad("several voters are not supported yet: followers cannot relay group requests to the leader; run a single node", "cluster")
	}
	return nil
}

func (c *Config) validateListeners() error {
	if c.AdvertiseHost == "" {
		return bad("clients must be told a host name", "advertise-host")
	}
	if strings.ContainsAny(c.AdvertiseHost, " \t/,@") || strings.Contains(c.AdvertiseHost, ":") && net.ParseIP(c.AdvertiseHost) == nil {
		return bad(fmt.Sprintf("%q is not a host name; it has no port, the ports come from --listen and --broker-ports", c.AdvertiseHost), "advertise-host")
	}
	if c.BrokerPorts.First == 0 || c.BrokerPorts.Last < c.BrokerPorts.First {
		return bad(fmt.Sprintf("%s is not a range of ports such as 9193-9224", c.BrokerPorts), "broker-ports")
	}
	if n := c.BrokerPorts.Len(); n > maxPorts {
		return bad(fmt.Sprintf("%d ports are more than the %d that can be bound", n, maxPorts), "broker-ports")
	}
	if c.FirstBrokerID < 0 || c.FirstBrokerID > maxBrokerID {
		return bad("a broker id is at least 0", "first-broker-id")
	}
	for _, a := range []struct{ key, addr string }{{"listen", c.Listen}, {"http", c.HTTP}} {
		if a.addr == "" && a.key == "http" {
			continue
		}
		port, err := splitPort(a.addr)
		if err != nil {
			return bad(err.Error(), a.key)
		}
		if c.BrokerPorts.Contains(port) {
			return bad(fmt.Sprintf("port %d lies inside the broker ports %s", port, c.BrokerPorts), a.key, "broker-ports")
		}
	}
	if c.HTTP != "" {
		lp, _ := splitPort(c.Listen)
		if hp, _ := splitPort(c.HTTP); hp != 0 && hp == lp {
			return bad(fmt.Sprintf("both want port %d", hp), "listen", "http")
		}
	}
	if c.Pprof && c.HTTP == "" {
		return bad("profiles are served on --http, which is off", "pprof", "http")
	}
	return nil
}

// splitPort returns the port of host:port; 0 lets the system choose one.
func splitPort(addr string) (int, error) {
	_, p, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, fmt.Errorf("%q is not host:port", addr)
	}
	port, err := strconv.ParseUint(p, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q has no port between 0 and 65535", addr)
	}
	return int(port), nil
}

func (c *Config) validateKafka() error {
	if len(c.KafkaBrokers) == 0 {
		return bad("at least one host:port of the Kafka cluster is required", "kafka-brokers")
	}
	for _, a := range c.KafkaBrokers {
		host, _, err := net.SplitHostPort(a)
		if err != nil || host == "" {
			return bad(fmt.Sprintf("%q is not host:port", a), "kafka-brokers")
		}
		if port, err := splitPort(a); err != nil || port == 0 {
			return bad(fmt.Sprintf("%q has no port between 1 and 65535", a), "kafka-brokers")
		}
	}
	if c.KafkaRefresh < minRefresh {
		return bad(fmt.Sprintf("it is at least %v: each look costs every broker a request", minRefresh), "kafka-refresh-interval")
	}
	return c.Security.Validate()
}

// Validate returns the first thing that is wrong, as a [*ConfigError].
func (s *Security) Validate() error {
	switch s.Protocol {
	case "PLAINTEXT":
		for _, f := range []struct{ key, val string }{
			{"kafka-sasl-mechanism", s.Mechanism},
			{"kafka-sasl-username", s.Username},
			{"kafka-sasl-password", s.Password},
			{"kafka-sasl-oauth-token", s.OAuthToken},
			{"kafka-sasl-oauth-token-file", s.OAuthTokenFile},
		} {
			if f.val != "" {
				return bad("it is set, but the protocol PLAINTEXT does not authenticate; use SASL_PLAINTEXT", f.key, "kafka-security-protocol")
			}
		}
		return nil
	case "SASL_PLAINTEXT":
	case "SSL", "SASL_SSL":
		return bad(s.Protocol+" is not supported yet: the daemon speaks to Kafka without TLS; use PLAINTEXT or SASL_PLAINTEXT", "kafka-security-protocol")
	default:
		return bad(fmt.Sprintf("%q is not a security protocol; it is PLAINTEXT or SASL_PLAINTEXT", s.Protocol), "kafka-security-protocol")
	}
	switch s.Mechanism {
	case "":
		return bad("SASL_PLAINTEXT needs PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER", "kafka-sasl-mechanism")
	case "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512":
		if s.Username == "" {
			return bad(s.Mechanism+" needs a user name", "kafka-sasl-username")
		}
		if s.Password == "" {
			return bad(s.Mechanism+" needs a password", "kafka-sasl-password", "kafka-sasl-password-file")
		}
		if s.OAuthToken != "" {
			return bad(s.Mechanism+" does not take a token", "kafka-sasl-oauth-token", "kafka-sasl-mechanism")
		}
		if s.OAuthTokenFile != "" {
			return bad(s.Mechanism+" does not take a token", "kafka-sasl-oauth-token-file", "kafka-sasl-mechanism")
		}
	case "OAUTHBEARER":
		if s.OAuthToken == "" && s.OAuthTokenFile == "" {
			return bad("OAUTHBEARER needs a token", "kafka-sasl-oauth-token", "kafka-sasl-oauth-token-file")
		}
		if s.OAuthToken != "" && s.OAuthTokenFile != "" {
			return bad("only one of them can give the token", "kafka-sasl-oauth-token", "kafka-sasl-oauth-token-file")
		}
		if s.Username != "" {
			return bad("OAUTHBEARER takes a token, not a user name", "kafka-sasl-username", "kafka-sasl-mechanism")
		}
		if s.Password != "" {
			return bad("OAUTHBEARER takes a token, not a password", "kafka-sasl-password", "kafka-sasl-mechanism")
		}
	default:
		return bad(fmt.Sprintf("%q is not a mechanism; it is PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER", s.Mechanism), "kafka-sasl-mechanism")
	}
	return nil
}

func (c *Config) validateGroup() error {
	g := &c.Group
	for _, d := range []struct {
		key      string
		val, min time.Duration
	}{
		{"group.min.session.timeout.ms", g.MinSessionTimeout, time.Millisecond},
		{"group.max.session.timeout.ms", g.MaxSessionTimeout, time.Millisecond},
		{"group.initial.rebalance.delay.ms", g.InitialRebalanceDelay, 0},
		{"offsets.retention.check.interval.ms", g.RetentionCheckInterval, time.Millisecond},
		{"offsets.commit.timeout.ms", g.OffsetCommitTimeout, time.Millisecond},
		{"connections.max.idle.ms", c.ConnectionsMaxIdle, 0},
	} {
		if d.val < d.min || d.val > longest {
			return bad(fmt.Sprintf("%d is not between %d and %d milliseconds", d.val.Milliseconds(), d.min.Milliseconds(), longest.Milliseconds()), d.key)
		}
	}
	switch {
	case g.MinSessionTimeout > g.MaxSessionTimeout:
		return bad(fmt.Sprintf("the minimum of %d ms exceeds the maximum of %d ms", g.MinSessionTimeout.Milliseconds(), g.MaxSessionTimeout.Milliseconds()),
			"group.min.session.timeout.ms", "group.max.session.timeout.ms")
	case g.MaxSize < 1:
		return bad("a group has room for at least 1 member", "group.max.size")
	case g.OffsetMetadataMaxBytes < 0:
		return bad("it is at least 0", "offset.metadata.max.bytes")
	case g.OffsetsRetention < time.Minute:
		return bad("it is at least 1 minute", "offsets.retention.minutes")
	case c.SocketRequestMaxBytes < minRequest:
		return bad(fmt.Sprintf("%d bytes are too few for ordinary requests; it is at least %d", c.SocketRequestMaxBytes, minRequest), "socket.request.max.bytes")
	case c.DrainTimeout < 0:
		return bad("it is not negative", "drain-timeout")
	}
	return nil
}
