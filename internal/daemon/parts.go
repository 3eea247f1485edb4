package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/gateway"
	"github.com/coordinatord/coordinatord/internal/coordinator"
	"github.com/coordinatord/coordinatord/raftstore"
	"github.com/coordinatord/coordinatord/wire"
)

const shard = 0 // of the one Raft group that there is

// openStore starts the loop and opens the log that feeds it.
func (p *process) openStore(registry *registry, clusterID string) error {
	loop := coordinator.New(coordinator.Config{
		Group:     p.cfg.Group,
		Topics:    topics{p.directory},
		Logger:    p.log.Named("groups"),
		Metrics:   coordinator.NewMetrics(registry),
		Owner:     func(group string) (int32, bool) { return p.directory.Table().Coordinator(group) },
		NotLeader: raftstore.ErrNotLeader,
		TooLarge:  raftstore.ErrTooLarge,
		Fatal:     p.die,
	})
	p.loop.Store(loop)
	peers := make([]raftstore.Peer, len(p.cfg.Cluster))
	for i, peer := range p.cfg.Cluster {
		peers[i] = raftstore.Peer{ID: peer.ID, Addr: peer.Addr}
	}
	name := strconv.Itoa(shard)
	store, err := raftstore.Open(raftstore.Config{
		NodeID:            p.cfg.NodeID,
		Shard:             shard,
		Dir:               p.cfg.DataDir,
		ClusterID:         clusterID,
		LogStore:          p.cfg.RaftLogStore,
		Listen:            p.cfg.RaftListen,
		Peers:             peers,
		Fatal:             p.die,
		SnapshotInterval:  p.cfg.Raft.SnapshotInterval,
		SnapshotThreshold: p.cfg.Raft.SnapshotThreshold,
		TrailingLogs:      p.cfg.Raft.TrailingLogs,
		WriteBehind:       p.cfg.Raft.WriteBehind,
		Observer:          newLogMetrics(registry, name),
		Logger:            p.log.Named("store"),
	}, handler{loop, p.lead})
	if err != nil {
		return sentence(err)
	}
	p.store.Store(store)
	registerStatus(registry, name, store.Status)
	loop.Attach(storeLog{store})
	return nil
}

func (p *process) lead(leads bool) {
	p.leads.Store(leads)
	if leads {
		p.once.Do(func() { close(p.led) })
	}
}

// die ends the process at once: the disk has refused to keep something, or the log cannot be understood. What was
// acknowledged is on disk; going on, or an orderly stop, which writes too, could only make it worse.
func (p *process) die(err error) {
	p.log.Error("the process ends at once", zap.Error(sentence(err)))
	_ = p.log.Sync()
	os.Exit(1)
}

func (p *process) startServer(registry *registry) error {
	server, err := gateway.NewServer(gateway.Config{
		Listen: p.cfg.Listen,
		Ports:  p.cfg.ports(),
		SASL:   p.cfg.Security.gateway().SASL(),
		Wire: wire.Config{
			MaxRequestBytes: p.cfg.SocketRequestMaxBytes,
			IdleTimeout:     p.cfg.ConnectionsMaxIdle,
			LeaderHints:     p.cfg.LeaderHints,
		},
		Metrics: newGatewayMetrics(registry),
	}, p.directory, local{p.loop.Load()}, p.log.Named("gateway"))
	if err != nil {
		return sentence(err)
	}
	if err := server.Start(); err != nil {
		return portError("listen, --broker-ports", err)
	}
	p.server.Store(server)
	return nil
}

// portError says in one sentence which port is taken and which setting chose it.
func portError(key string, err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Addr != nil && errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("another process uses the port of %s (--%s)", op.Addr, key)
	}
	return fmt.Errorf("--%s: %w", key, err)
}

// sentence drops the package's name from an error that is for the operator.
func sentence(err error) error {
	if rest, ok := strings.CutPrefix(err.Error(), "raftstore: "); ok {
		return &operatorError{rest, err}
	}
	return err
}

type operatorError struct {
	text string
	err  error
}

func (e *operatorError) Error() string { return e.text }
func (e *operatorError) Unwrap() error { return e.err }
