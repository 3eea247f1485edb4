package raftstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// A connection between nodes begins with four bytes: a magic byte, the service, and the shard, big-endian. So one listener
// can serve several shards and, later, other services.
const (
	preambleMagic   = 0xCD
	serviceRaft     = 1
	preambleSize    = 4
	preambleTimeout = 5 * time.Second

	transportPool    = 3
	transportTimeout = 10 * time.Second
	maxOpening       = 64 // connections that have not yet said what they are
)

// newTransport returns a transport that binds nothing for a lone voter, and TCP otherwise.
func newTransport(cfg *Config) (raft.Transport, io.Closer, error) {
	if cfg.lone() {
		addr := loneAddress(cfg.NodeID)
		if len(cfg.Peers) == 1 {
			addr = cfg.Peers[0].Addr
		}
		_, t := raft.NewInmemTransport(raft.ServerAddress(addr))
		return t, t, nil
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, nil, fmt.Errorf("raftstore: the address %s for the other voters cannot be bound: %w", cfg.Listen, err)
	}
	layer := newStreamLayer(l, cfg.Shard, cfg.advertised())
	t := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		ServerAddressProvider: peerAddresses(cfg.Peers), Logger: newHCLog(cfg.Logger, cfg.lone()), Stream: layer,
		MaxPool: transportPool, Timeout: transportTimeout,
	})
	return t, t, nil
}

// advertised is this node's address as the others know it.
func (c *Config) advertised() string {
	for _, p := range c.Peers {
		if p.ID == c.NodeID {
			return p.Addr
		}
	}
	return loneAddress(c.NodeID)
}

// peerAddresses maps ids to the configured addresses, so that all nodes can move at once.
type peerAddresses []Peer

// ServerAddr implements raft.ServerAddressProvider.
func (p peerAddresses) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	for _, peer := range p {
		if serverID(peer.ID) == id {
			return raft.ServerAddress(peer.Addr), nil
		}
	}
	return "", fmt.Errorf("raftstore: no address is known for voter %s", id)
}

// streamLayer is raft.StreamLayer with the preamble.
type streamLayer struct {
	net.Listener
	shard    uint32
	addr     peerAddr
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
	opening  chan struct{} // a slot for each connection whose preamble is awaited
	wg       sync.WaitGroup

	mu   sync.Mutex
	open map[*peerConn]struct{} // accepted connections: the library forgets them when it is closed
}

// peerConn is an accepted connection.
type peerConn struct {
	net.Conn
	layer *streamLayer
}

// Close implements net.Conn.
func (c *peerConn) Close() error {
	c.layer.mu.Lock()
	delete(c.layer.open, c)
	c.layer.mu.Unlock()
	return c.Conn.Close()
}

// peerAddr is the advertised address, which need not be the bound one.
type peerAddr string

func (peerAddr) Network() string  { return "tcp" }
func (a peerAddr) String() string { return string(a) }

func newStreamLayer(l net.Listener, shard uint32, advertised string) *streamLayer {
	s := &streamLayer{
		Listener: l, shard: shard, addr: peerAddr(advertised), accepted: make(chan net.Conn), closed: make(chan struct{}),
		opening: make(chan struct{}, maxOpening), open: map[*peerConn]struct{}{},
	}
	s.wg.Add(1)
	go s.run()
	return s
}

func (s *streamLayer) run() {
	defer s.wg.Done()
	for {
		select {
		case s.opening <- struct{}{}:
		case <-s.closed:
			return
		}
		conn, err := s.Listener.Accept()
		if err != nil {
			<-s.opening
			if errors.Is(err, net.ErrClosed) {
				return
			}
			select { // out of file descriptors, most likely
			case <-s.closed:
				return
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		s.wg.Add(1)
		go s.greet(conn)
	}
}

// greet reads the preamble and passes the connection on.
func (s *streamLayer) greet(conn net.Conn) {
	defer s.wg.Done()
	stop := make(chan struct{})
	go func() {
		select {
		case <-s.closed:
			_ = conn.SetReadDeadline(time.Unix(1, 0))
		case <-stop:
		}
	}()
	var b [preambleSize]byte
	_ = conn.SetReadDeadline(time.Now().Add(preambleTimeout))
	_, err := io.ReadFull(conn, b[:])
	close(stop)
	<-s.opening
	if err != nil || b[0] != preambleMagic || b[1] != serviceRaft || uint32(binary.BigEndian.Uint16(b[2:])) != s.shard {
		_ = conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	c := &peerConn{Conn: conn, layer: s}
	s.mu.Lock()
	s.open[c] = struct{}{}
	s.mu.Unlock()
	select {
	case s.accepted <- c:
	case <-s.closed:
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (s *streamLayer) Accept() (net.Conn, error) {
	select {
	case c := <-s.accepted:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (s *streamLayer) Close() (err error) {
	s.once.Do(func() {
		close(s.closed)
		err = s.Listener.Close()
		s.wg.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.open {
			_ = c.Conn.Close()
		}
		clear(s.open)
	})
	return err
}

// Addr implements net.Listener: the advertised address.
func (s *streamLayer) Addr() net.Addr { return s.addr }

// Dial implements raft.StreamLayer.
func (s *streamLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", string(address), timeout)
	if err != nil {
		return nil, err
	}
	b := binary.BigEndian.AppendUint16([]byte{preambleMagic, serviceRaft}, uint16(s.shard))
	_ = conn.SetWriteDeadline(time.Now().Add(timeout))
	if _, err := conn.Write(b); err != nil {
		_ = conn.Close()
		return nil, err
	}
	_ = conn.SetWriteDeadline(time.Time{})
	return conn, nil
}
