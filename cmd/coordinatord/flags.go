package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coordinatord/coordinatord/internal/daemon"
)

// runsDaemon annotates commands that take the daemon's settings: a key of the file that such a command lacks is an error.
const runsDaemon = "coordinatord_runs_daemon"

// maxSecretBytes bounds --kafka-sasl-password-file, which may name a device.
const maxSecretBytes = 64 << 10

// daemonFlags are the settings of serve, dev and check.
type daemonFlags struct {
	config       daemon.Config
	passwordFile string
	logFormat    string
	logLevel     string
}

func newDaemonFlags() *daemonFlags {
	return &daemonFlags{config: daemon.DefaultConfig(), logFormat: "console", logLevel: "info"}
}

// register adds the flags that every daemon takes.
func (d *daemonFlags) register(cmd *cobra.Command) {
	if cmd.Annotations == nil {
		cmd.Annotations = make(map[string]string)
	}
	cmd.Annotations[runsDaemon] = "yes"
	c, fs := &d.config, cmd.Flags()
	fs.SortFlags = false

	fs.Uint64Var(&c.NodeID, "node-id", c.NodeID, "this daemon's Raft id, at least 1")
	fs.StringVar(&c.DataDir, "data-dir", c.DataDir, "directory of the daemon's state; one daemon at a time uses it")
	fs.StringVar(&c.Listen, "listen", c.Listen, "bootstrap listener for clients, host:port; no host: every interface")
	fs.StringVar(&c.AdvertiseHost, "advertise-host", c.AdvertiseHost, "host that clients are told for every port")
	fs.Var(&portsValue{&c.BrokerPorts}, "broker-ports", "one port per broker, bound at start: first-last")
	fs.Int32Var(&c.FirstBrokerID, "first-broker-id", c.FirstBrokerID, "broker id that the first of the broker ports stands for (default 0)")
	fs.StringVar(&c.RaftListen, "raft-listen", c.RaftListen, "where other daemons of the cluster connect, host:port; a single node binds nothing")
	fs.Var(&peersValue{&c.Cluster}, "cluster", "initial voters: id@host:port,... (Raft addresses); empty: a single node")
	fs.StringVar(&c.HTTP, "http", c.HTTP, "HTTP for the operator, host:port: /metrics, /livez, /readyz, /v1/...; empty: none")
	fs.BoolVar(&c.Pprof, "pprof", c.Pprof, "serve profiles under /debug/pprof/ on --http")
	fs.StringVar(&d.logFormat, "log-format", d.logFormat, "console or json; logs go to standard error")
	fs.StringVar(&d.logLevel, "log-level", d.logLevel, "debug, info, warn or error")
	fs.StringVar(&c.RaftLogStore, "raft-log-store", c.RaftLogStore, "how the Raft log is kept: bbolt or wal; fixed when the directory is new")
	fs.DurationVar(&c.Raft.SnapshotInterval, "raft-snapshot-interval", c.Raft.SnapshotInterval, "how often to see whether a snapshot is due, at least 1ms")
	fs.Uint64Var(&c.Raft.SnapshotThreshold, "raft-snapshot-threshold", c.Raft.SnapshotThreshold, "log entries after which a snapshot is due")
	fs.Uint64Var(&c.Raft.TrailingLogs, "raft-trailing-logs", c.Raft.TrailingLogs, "log entries kept behind a snapshot; 0 stands for the default (default 1024; in a cluster 50000)")
	fs.DurationVar(&c.Raft.WriteBehind, "raft-write-behind", c.Raft.WriteBehind, "how often the copy of the state on disk is brought up to date, at least 1ms")
	fs.BoolVar(&c.LeaderHints, "leader-hints", c.LeaderHints, "let Fetch above version 15 through and rewrite the leader hints in its answers (slower)")
	fs.DurationVar(&c.DrainTimeout, "drain-timeout", c.DrainTimeout, "how long a stop waits for requests in flight")

	fs.Var(millis(&c.ConnectionsMaxIdle), "connections.max.idle.ms", "close a client's connection after this many milliseconds without a request")
	fs.Int32Var(&c.SocketRequestMaxBytes, "socket.request.max.bytes", c.SocketRequestMaxBytes, "largest request in bytes")

	g := &c.Group
	fs.Var(millis(&g.InitialRebalanceDelay), "group.initial.rebalance.delay.ms", "milliseconds that an empty group waits for more members at its first rebalance")
	fs.Var(millis(&g.MinSessionTimeout), "group.min.session.timeout.ms", "shortest session that a member may ask for, milliseconds")
	fs.Var(millis(&g.MaxSessionTimeout), "group.max.session.timeout.ms", "longest session that a member may ask for, milliseconds")
	fs.IntVar(&g.MaxSize, "group.max.size", g.MaxSize, "most members of one group")
	fs.IntVar(&g.OffsetMetadataMaxBytes, "offset.metadata.max.bytes", g.OffsetMetadataMaxBytes, "longest metadata of a committed offset")
	fs.Var(minutes(&g.OffsetsRetention), "offsets.retention.minutes", "minutes that offsets outlive their group's last member")
	fs.Var(millis(&g.RetentionCheckInterval), "offsets.retention.check.interval.ms", "milliseconds between searches for expired offsets")
	fs.Var(millis(&g.OffsetCommitTimeout), "offsets.commit.timeout.ms", "milliseconds after which a commit that the log has not taken is refused")
}

// registerKafka adds the flags about the real cluster.
func (d *daemonFlags) registerKafka(cmd *cobra.Command) {
	cmd.Flags().Var(&hostsValue{&d.config.KafkaBrokers}, "kafka-brokers", "the Kafka cluster: host:port,... (required)")
	cmd.Flags().DurationVar(&d.config.KafkaRefresh, "kafka-refresh-interval", d.config.KafkaRefresh, "how often to look for brokers and topics that came, went or moved; failed dials lead to a look at once")
	d.registerSecurity(cmd)
}

func (d *daemonFlags) registerSecurity(cmd *cobra.Command) {
	s, fs := &d.config.Security, cmd.Flags()
	fs.StringVar(&s.Protocol, "kafka-security-protocol", s.Protocol, "connections that this process makes to Kafka: PLAINTEXT or SASL_PLAINTEXT")
	fs.StringVar(&s.Mechanism, "kafka-sasl-mechanism", s.Mechanism, "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER")
	fs.StringVar(&s.Username, "kafka-sasl-username", s.Username, "user name for PLAIN and SCRAM")
	fs.StringVar(&s.Password, "kafka-sasl-password", s.Password, "password for PLAIN and SCRAM; others can read a command line, so prefer the file or the environment")
	fs.StringVar(&d.passwordFile, "kafka-sasl-password-file", "", "file with the password; a newline at its end does not count")
	fs.StringVar(&s.OAuthToken, "kafka-sasl-oauth-token", s.OAuthToken, "token for OAUTHBEARER")
	fs.StringVar(&s.OAuthTokenFile, "kafka-sasl-oauth-token-file", s.OAuthTokenFile, "file with the token, read at every login")
	for _, name := range []string{"kafka-sasl-password", "kafka-sasl-oauth-token"} {
		_ = fs.SetAnnotation(name, secret, []string{"yes"})
	}
}

// finishSecurity reads the password's file and validates.
func (d *daemonFlags) finishSecurity() (daemon.Security, error) {
	s := &d.config.Security
	if d.passwordFile != "" {
		if s.Password != "" {
			return daemon.Security{}, usagef("--kafka-sasl-password, --kafka-sasl-password-file: only one of them can give the password")
		}
		password, err := readSecret(d.passwordFile)
		if err != nil {
			return daemon.Security{}, usagef("--kafka-sasl-password-file: %w", err)
		}
		s.Password = password
	}
	return *s, s.Validate()
}

// finish reads what the flags only name and validates the whole.
func (d *daemonFlags) finish() (daemon.Config, error) {
	if _, err := d.finishSecurity(); err != nil {
		return daemon.Config{}, err
	}
	if err := checkLogging(d.logFormat, d.logLevel); err != nil {
		return daemon.Config{}, err
	}
	return d.config, d.config.Validate()
}

func readSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxSecretBytes {
		return "", fmt.Errorf("%s is larger than %d bytes", path, maxSecretBytes)
	}
	s := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	if s == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return s, nil
}

// given lists, for the log, the settings that somebody chose, wherever; the others have the defaults of this version. The
// line names the data directory by itself, and secrets are not shown.
func given(fs *pflag.FlagSet) map[string]string {
	out := make(map[string]string)
	fs.Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "data-dir" || f.Annotations[commandLineOnly] != nil:
		case f.Annotations[secret] != nil && f.Value.String() != "":
			out[f.Name] = "(secret)"
		default:
			out[f.Name] = f.Value.String()
		}
	})
	return out
}

func millis(d *time.Duration) pflag.Value  { return &unitValue{d, time.Millisecond} }
func minutes(d *time.Duration) pflag.Value { return &unitValue{d, time.Minute} }
