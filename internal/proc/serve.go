package proc

import (
	"context"
	"fmt"
	"io"

	"github.com/coordinatord/coordinatord/internal/realkafka"
)

// brokerPorts is how many broker ports a daemon under test gets.
const brokerPorts = 8

// Server is a daemon that can be started again and again on the same ports and data directory.
type Server struct {
	Bin  string
	Log  io.Writer
	Args []string
	HTTP string // host:port
	// Bootstrap is the address of the bootstrap listener; known before the daemon runs.
	Bootstrap string
	ports     *realkafka.Ports
}

// NewServer prepares `coordinatord serve` on reserved loopback ports beside the given Kafka.
func NewServer(bin, dataDir, kafka string, firstBroker int, log io.Writer, args ...string) (*Server, error) {
	ports, err := realkafka.ReservePorts(brokerPorts + 3)
	if err != nil {
		return nil, err
	}
	p := ports.Numbers
	s := &Server{
		Bin: bin, Log: log, ports: ports,
		HTTP:      fmt.Sprintf("127.0.0.1:%d", p[1]),
		Bootstrap: fmt.Sprintf("127.0.0.1:%d", p[0]),
	}
	s.Args = append([]string{
		"serve", "--kafka-brokers", kafka, "--data-dir", dataDir,
		"--listen", s.Bootstrap, "--advertise-host", "127.0.0.1",
		"--broker-ports", fmt.Sprintf("%d-%d", p[3], p[len(p)-1]), "--first-broker-id", fmt.Sprint(firstBroker),
		"--http", s.HTTP, "--raft-listen", fmt.Sprintf("127.0.0.1:%d", p[2]),
	}, args...)
	return s, nil
}

// Start starts the daemon; the one started before must have ended.
func (s *Server) Start(ctx context.Context) (*Daemon, error) {
	return Start(ctx, s.Bin, s.Log, s.Args...)
}

// Close gives the ports back.
func (s *Server) Close() { s.ports.Release() }
