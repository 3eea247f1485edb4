package gateway

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coordinatord/coordinatord/wire"
)

var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 4}

// Config configures a Server; zero bounds get their defaults.
type Config struct {
	// Listen is the address of the bootstrap listener; the broker ports are bound on the same host.
	Listen string
	// Ports says which port stands for which broker id.
	Ports Ports
	// SASL says that the brokers' listener asks clients to log in. Then only ApiVersions, SaslHandshake and
	// SaslAuthenticate are taken before the broker has accepted a client.
	SASL bool
	// Wire holds the bounds of client connections.
	Wire wire.Config
	// DialTimeout bounds the dialling of a broker. 3 s.
	DialTimeout time.Duration
	// UpstreamWriteTimeout is how long a broker may take for each 256 KiB of requests; a broker that throttles a client
	// reads nothing from it meanwhile. 2 minutes.
	UpstreamWriteTimeout time.Duration
	// MaxEditedBytes bounds the responses that are read whole to change addresses in them. 100 MiB.
	MaxEditedBytes int32
	// Metrics may be nil.
	Metrics Metrics
}

// Metrics counts what happens at the gateway. Its methods allocate nothing and do not block.
type Metrics interface {
	wire.Metrics
	// Connections is called with 1 and -1 as a client's connection begins and ends.
	Connections(delta int)
}

type noMetrics struct{}

func (noMetrics) Request(int16, int16) {}
func (noMetrics) Bytes(int, int)       {}
func (noMetrics) Connections(int)      {}

// Server accepts clients on the bootstrap port and on one port for each broker id.
type Server struct {
	cfg   Config
	wire  wire.Config
	dir   *Directory
	local wire.Local
	log   *zap.Logger
	dials dials

	standIns atomic.Int64 // connections served by another broker than their port's

	ctx    context.Context // ends when Shutdown gives the connections up
	cancel context.CancelFunc

	mu        sync.Mutex
	listeners []*listener
	conns     map[*wire.Conn]struct{}
	stopping  bool
	done      sync.WaitGroup // accept loops and connections
}

// NewServer returns a server that binds its ports at Start.
func NewServer(cfg Config, dir *Directory, local wire.Local, log *zap.Logger) (*Server, error) {
	if _, _, err := net.SplitHostPort(cfg.Listen); err != nil {
		return nil, fmt.Errorf("the listen address %q: %w", cfg.Listen, err)
	}
	if err := cfg.Ports.Validate(); err != nil {
		return nil, err
	}
	if cfg.DialTimeout == 0 {
		cfg.DialTimeout = dialTimeout
	}
	if cfg.UpstreamWriteTimeout == 0 {
		cfg.UpstreamWriteTimeout = 2 * time.Minute
	}
	if cfg.MaxEditedBytes == 0 {
		cfg.MaxEditedBytes = wire.DefaultMaxRequestBytes
	}
	if cfg.Metrics == nil {
		cfg.Metrics = noMetrics{}
	}
	if cfg.Wire.Metrics == nil {
		cfg.Wire.Metrics = cfg.Metrics
	}
	if cfg.Wire.Log == nil {
		cfg.Wire.Log = log.WithOptions(zap.WrapCore(limitLines))
	}
	s := &Server{cfg: cfg, wire: cfg.Wire.Defaults(), dir: dir, local: local, log: log, conns: map[*wire.Conn]struct{}{}}
	s.dials = dials{dir: dir, timeout: cfg.DialTimeout}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Anyone who can connect can have a connection closed for cause, as often as they like. Beyond these lines in a period only
// every hundredth is written, so that nobody fills the disk.
const (
	linePeriod   = 10 * time.Second
	linesInFull  = 100
	linesBetween = 100
)

func limitLines(core zapcore.Core) zapcore.Core {
	return zapcore.NewSamplerWithOptions(core, linePeriod, linesInFull, linesBetween)
}

// Start binds every port, also those of brokers that are not known yet (a client may come straight to a broker's port
// after our restart), and begins to accept. If one cannot be bound, none is.
func (s *Server) Start() error {
	host, _, err := net.SplitHostPort(s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("the listen address %q: %w", s.cfg.Listen, err)
	}
	if err := s.bind(s.cfg.Listen, -1); err != nil {
		s.unbind()
		return err
	}
	for id := s.cfg.Ports.FirstID; id <= s.cfg.Ports.LastID(); id++ {
		port, _ := s.cfg.Ports.Port(id)
		if err := s.bind(net.JoinHostPort(host, strconv.Itoa(int(port))), id); err != nil {
			s.unbind()
			return err
		}
	}
	for _, l := range s.listeners {
		s.done.Go(l.accept)
	}
	return nil
}

func (s *Server) bind(addr string, broker int32) error {
	l, err := newListener(s, addr, broker)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	s.listeners = append(s.listeners, l)
	return nil
}

func (s *Server) unbind() {
	for _, l := range s.listeners {
		l.close()
	}
}

// Addr is the address of the bootstrap listener, once started.
func (s *Server) Addr() net.Addr { return s.listeners[0].ln.Addr() }

// StandIns is the number of client connections whose port's broker cannot be reached and for which another one answers.
func (s *Server) StandIns() int { return int(s.standIns.Load()) }

// serve runs one client connection to its end.
func (s *Server) serve(nc net.Conn, broker int32) {
	s.cfg.Metrics.Connections(1)
	defer s.cfg.Metrics.Connections(-1)
	setUserTimeout(nc)
	c := wire.NewConn(&s.wire, nc, broker, newLink(s, broker), s.local)
	if !s.add(c) {
		c.Close()
		return
	}
	defer s.remove(c)
	c.LogEnd(c.Run())
}

func (s *Server) add(c *wire.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) remove(c *wire.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// Shutdown stops accepting and reading, lets what was asked be answered until ctx ends, and then closes what is left. It
// returns ctx's error if something was.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	for c := range s.conns {
		c.Drain()
	}
	s.mu.Unlock()
	s.unbind()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.done.Wait()
	}()
	defer s.cancel()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	s.cancel()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	<-ended
	return ctx.Err()
}
