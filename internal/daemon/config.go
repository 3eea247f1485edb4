package daemon

import (
	"fmt"
	"strings"
	"time"

	"github.com/coordinatord/coordinatord/group"
)

// Config is everything that one daemon process is told. The command line fills it; [Config.Validate] says what is wrong
// with it in the words of the flags.
type Config struct {
	NodeID       uint64        // --node-id, at least 1
	DataDir      string        // --data-dir
	KafkaBrokers []string      // --kafka-brokers, host:port each; at least one
	KafkaRefresh time.Duration // --kafka-refresh-interval, at least 100 ms

	Listen        string    // --listen, host:port of the bootstrap listener; an empty host is every interface
	AdvertiseHost string    // --advertise-host, what clients are told, without a port
	BrokerPorts   PortRange // --broker-ports
	FirstBrokerID int32     // --first-broker-id, the broker id behind the first port of the range

	RaftListen   string // --raft-listen
	Cluster      []Peer // --cluster; empty is a single node
	RaftLogStore string // --raft-log-store, "bbolt" or "wal"
	Raft         RaftTuning

	HTTP  string // --http; empty serves none
	Pprof bool   // --pprof

	LeaderHints bool     // --leader-hints
	Security    Security // --kafka-security-protocol and --kafka-sasl-*

	Group                 group.Config
	ConnectionsMaxIdle    time.Duration // connections.max.idle.ms
	SocketRequestMaxBytes int32         // socket.request.max.bytes
	DrainTimeout          time.Duration // --drain-timeout: how long a stop waits for requests that are in flight

	LogDropped func() uint64 // lines of the log that were dropped so far, for the metrics; nil: none ever is
}

// RaftTuning is how the log is kept short.
type RaftTuning struct {
	SnapshotInterval  time.Duration // --raft-snapshot-interval, at least 1 ms
	SnapshotThreshold uint64        // --raft-snapshot-threshold, entries, at least 1
	TrailingLogs      uint64        // --raft-trailing-logs, entries; 0 takes raftstore's default
	WriteBehind       time.Duration // --raft-write-behind, at least 1 ms
}

// Peer is an initial voter of --cluster.
type Peer struct {
	ID   uint64
	Addr string
}

// Security is how the daemon's own connections to Kafka authenticate. Clients' connections are not touched by it: their
// bytes pass to the broker.
type Security struct {
	Protocol   string // PLAINTEXT or SASL_PLAINTEXT
	Mechanism  string // PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER
	Username   string
	Password   string
	OAuthToken string
	// OAuthTokenFile is read at every login, so that something else can renew the token.
	OAuthTokenFile string
}

// PortRange is an inclusive range of TCP ports.
type PortRange struct{ First, Last uint16 }

// String returns the range as --broker-ports takes it.
func (r PortRange) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

// Len returns how many ports the range has.
func (r PortRange) Len() int { return int(r.Last) - int(r.First) + 1 }

// Contains reports whether port lies in the range.
func (r PortRange) Contains(port int) bool { return port >= int(r.First) && port <= int(r.Last) }

// DefaultConfig returns the defaults of serve.
func DefaultConfig() Config {
	return Config{
		NodeID:                1,
		Listen:                ":9192",
		AdvertiseHost:         "localhost",
		BrokerPorts:           PortRange{9193, 9224},
		RaftListen:            "127.0.0.1:9190",
		RaftLogStore:          "bbolt",
		Raft:                  RaftTuning{SnapshotInterval: 10 * time.Second, SnapshotThreshold: 20_000, WriteBehind: time.Second},
		KafkaRefresh:          30 * time.Second,
		HTTP:                  "127.0.0.1:9191",
		Security:              Security{Protocol: "PLAINTEXT"},
		Group:                 group.DefaultConfig(),
		ConnectionsMaxIdle:    10 * time.Minute,
		SocketRequestMaxBytes: 100 << 20,
		DrainTimeout:          10 * time.Second,
	}
}

// ConfigError is a setting that cannot be used: the keys name it as the operator wrote it.
type ConfigError struct {
	Keys   []string
	Reason string
}

// Error names the keys first.
func (e *ConfigError) Error() string { return "--" + strings.Join(e.Keys, ", --") + ": " + e.Reason }
