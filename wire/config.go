package wire

import (
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"
)

// Config holds the bounds of connections; [Config.Defaults] fills those that are zero.
type Config struct {
	// MaxRequestBytes is the largest frame of a client: socket.request.max.bytes, 100 MiB.
	MaxRequestBytes int32
	// MaxHeldBytes bounds the requests of one connection that are held in memory at the same time: those that Local has not
	// answered yet and those whose body must be looked into. One larger request than this is refused. 16 MiB.
	MaxHeldBytes int32
	// MaxLargeBytes bounds the requests of all connections together that are decoded and larger than 64 KiB. A decoded
	// request may take twenty times the memory of its bytes, where it consists of many small elements. 32 MiB.
	MaxLargeBytes int64
	// MaxUnfinishedBytes bounds what has come of the requests of all connections together that are larger than 64 KiB, are
	// held in memory and are not yet handed on. 128 MiB.
	MaxUnfinishedBytes int64
	// MaxInFlight is the number of requests of one connection that are answered in their order; more wait in the socket. 256.
	MaxInFlight int
	// IdleTimeout closes a connection on which nothing happens: connections.max.idle.ms, 10 minutes.
	IdleTimeout time.Duration
	// ProgressTimeout is the time in which 64 KiB of a frame (or its rest) must arrive, and 256 KiB of answers be taken. 30 s.
	ProgressTimeout time.Duration
	// DrainTimeout is how long answers to what was asked may still take after the client has said its last. 5 s.
	DrainTimeout time.Duration
	// LeaderHints lets Fetch pass in versions whose responses carry addresses (KIP-951).
	LeaderHints bool
	// Metrics may be nil.
	Metrics Metrics
	// Log gets one line for each connection that is closed for a reason worth knowing.
	Log *zap.Logger

	large      *semaphore.Weighted // of MaxLargeBytes
	unfinished *semaphore.Weighted // of MaxUnfinishedBytes
}

// Metrics counts what happens on connections. Its methods are called on hot paths: they allocate nothing and do not block.
type Metrics interface {
	// Request is called for each request, before it is answered. Key and version are the client's claim: they are inside
	// Kafka's tables only if [KnownKey] says so.
	Request(key, version int16)
	// Bytes is called now and then with what has been read from and written to a client since the last call.
	Bytes(in, out int)
}

// KnownKey says whether a key is one of Kafka's, so that it may become a label.
func KnownKey(key int16) bool { return known(key) }

// Defaults returns c with its zero bounds filled.
func (c Config) Defaults() Config {
	if c.MaxRequestBytes == 0 {
		c.MaxRequestBytes = DefaultMaxRequestBytes
	}
	if c.MaxHeldBytes == 0 {
		c.MaxHeldBytes = 16 << 20
	}
	if c.MaxLargeBytes == 0 {
		c.MaxLargeBytes = 32 << 20
	}
	c.large = semaphore.NewWeighted(max(c.MaxLargeBytes, int64(c.MaxHeldBytes)))
	if c.MaxUnfinishedBytes == 0 {
		c.MaxUnfinishedBytes = 128 << 20
	}
	c.unfinished = semaphore.NewWeighted(max(c.MaxUnfinishedBytes, int64(c.MaxHeldBytes)))
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 256
	}
	if c.IdleTimeout == 0 {
		c.IdleTimeout = 10 * time.Minute
	}
	if c.ProgressTimeout == 0 {
		c.ProgressTimeout = 30 * time.Second
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 5 * time.Second
	}
	if c.Metrics == nil {
		c.Metrics = noMetrics{}
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	return c
}

type noMetrics struct{}

func (noMetrics) Request(int16, int16) {}
func (noMetrics) Bytes(int, int)       {}
