package gateway

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"
)

// Bounds of the daemon's own requests to Kafka. A broker that accepts and never answers costs one requestTimeout before
// another broker is tried, and one that refuses costs nearly nothing; the whole of one question costs at most askTimeout,
// and about a second and a half when all brokers refuse.
const (
	requestRetries = 5
	dialTimeout    = 3 * time.Second
	requestTimeout = 3 * time.Second
	askTimeout     = 12 * time.Second
)

// What the daemon calls itself to brokers (KIP-511). Brokers refuse an ApiVersions request without it.
const (
	softwareName    = "coordinatord"
	softwareVersion = "1"
)

// newClient builds the daemon's own client. It dials nothing until it is asked something.
func newClient(seeds []string, security Security, log *zap.Logger) (*kgo.Client, error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(seeds...),
		kgo.ClientID(softwareName),
		kgo.SoftwareNameAndVersion(softwareName, softwareVersion),
		kgo.DialTimeout(dialTimeout),
		kgo.ConnIdleTimeout(4 * time.Minute), // Longer than the pause between looks, shorter than brokers keep idle connections.
		kgo.RequestTimeoutOverhead(requestTimeout),
		kgo.RetryTimeout(askTimeout),
		kgo.RequestRetries(requestRetries),
		kgo.RetryBackoffFn(func(tries int) time.Duration { return min(25*time.Millisecond<<min(tries, 10), 500*time.Millisecond) }),
		kgo.WithLogger(clientLog{log.Named("kafka")}),
	}
	mechanism, err := security.mechanism()
	if err != nil {
		return nil, err
	}
	if mechanism != nil {
		opts = append(opts, kgo.SASL(mechanism))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("the client for Kafka: %w", err)
	}
	return client, nil
}

// clientLog passes the client's warnings on to zap. What it says below that level repeats what the directory says.
type clientLog struct{ log *zap.Logger }

// Level implements kgo.Logger.
func (l clientLog) Level() kgo.LogLevel {
	if l.log.Core().Enabled(zap.DebugLevel) {
		return kgo.LogLevelInfo
	}
	return kgo.LogLevelError
}

// Log implements kgo.Logger.
func (l clientLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	fields := make([]zap.Field, 0, len(keyvals)/2)
	for i := 0; i+1 < len(keyvals); i += 2 {
		fields = append(fields, zap.Any(fmt.Sprint(keyvals[i]), keyvals[i+1]))
	}
	if level == kgo.LogLevelError {
		l.log.Warn(msg, fields...)
		return
	}
	l.log.Debug(msg, fields...)
}
