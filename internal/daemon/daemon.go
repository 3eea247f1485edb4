package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/gateway"
	"github.com/coordinatord/coordinatord/internal/coordinator"
	"github.com/coordinatord/coordinatord/internal/httpapi"
	"github.com/coordinatord/coordinatord/raftstore"
)

// Announce is called once, when the daemon serves, with the address that clients are to be given.
type Announce func(bootstrap string) error

// Run runs a daemon until ctx ends, and stops it in order. An error is one sentence for the operator.
func Run(ctx context.Context, cfg Config, log *zap.Logger, announce Announce) error {
	p := newProcess(cfg, log)
	defer p.stop()
	if err := p.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // told to stop while it was starting
		}
		return err
	}
	bootstrap := p.bootstrap()
	log.Info("serving", zap.String("bootstrap", bootstrap))
	_ = log.Sync() // whoever waits for the announcement finds the log up to here
	if err := announce(bootstrap); err != nil {
		return fmt.Errorf("the address of the bootstrap listener cannot be printed: %w", err)
	}
	select {
	case <-ctx.Done():
		log.Info("stopping")
		return nil
	case err := <-p.failed:
		return err
	}
}

// RunDev runs a daemon with an in-process Kafka stand-in.
func RunDev(ctx context.Context, cfg Config, kafka StandinConfig, log *zap.Logger, announce Announce) error {
	kafka.Dir = filepath.Join(cfg.DataDir, "kafka")
	standin, err := StartStandin(ctx, kafka, log.Named("kafka"))
	if err != nil {
		return err
	}
	defer standin.Close()
	cfg.KafkaBrokers = standin.Addrs()
	return Run(ctx, cfg, log, announce)
}

// process is a running daemon. The atomic fields are read by HTTP while the daemon starts and stops.
type process struct {
	cfg Config
	log *zap.Logger

	http      *httpapi.Server
	directory *gateway.Directory
	shown     atomic.Pointer[gateway.Directory] // directory, once there is one
	loop      atomic.Pointer[coordinator.Loop]
	store     atomic.Pointer[raftstore.Store]
	server    atomic.Pointer[gateway.Server]

	leads  atomic.Bool
	once   sync.Once
	led    chan struct{} // closed when the node has led for the first time
	failed chan error    // what ends the daemon from within; has room for one

	keep    chan struct{} // capacity 1: what is known of Kafka has changed
	keepMu  sync.Mutex    // of the file
	inFile  []byte        // what it holds
	kept    bool          // it was written for the last time
	workers sync.WaitGroup
	ctx     context.Context // of the workers
	cancel  context.CancelFunc

	mu    sync.Mutex
	phase string // why the daemon is not ready, in words; empty once it serves
}

func newProcess(cfg Config, log *zap.Logger) *process {
	p := &process{
		cfg: cfg, log: log, phase: "starting",
		led: make(chan struct{}), failed: make(chan error, 1), keep: make(chan struct{}, 1),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

func (p *process) enter(phase string) {
	p.mu.Lock()
	p.phase = phase
	p.mu.Unlock()
}

// fail ends the daemon in order; the first reason counts.
func (p *process) fail(err error) {
	select {
	case p.failed <- err:
	default:
	}
}

// start brings the parts up in the order in which they need one another, and returns once the daemon serves.
func (p *process) start(ctx context.Context) error {
	registry := newRegistry(p.cfg.LogDropped)
	if err := p.startHTTP(ctx, registry); err != nil {
		return err
	}
	if err := p.startDirectory(); err != nil {
		return err
	}
	registerKafka(registry, p.directory)
	p.enter("waiting for Kafka, which has not answered yet")
	clusterID, answered, err := p.findKafka(ctx)
	if err != nil {
		return err
	}
	p.enter("opening the log")
	if err := p.openStore(registry, clusterID); err != nil {
		return err
	}
	p.workers.Go(p.keepBrokers)
	p.workers.Go(p.watchKafka)
	if !answered {
		p.workers.Go(p.awaitKafka)
	}
	p.enter("waiting to lead")
	select {
	case <-p.led:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := p.startServer(registry); err != nil {
		return err
	}
	p.enter("")
	return nil
}

func (p *process) startDirectory() error {
	directory, err := gateway.NewDirectory(gateway.DirectoryConfig{
		Seeds:       p.cfg.KafkaBrokers,
		Ports:       p.cfg.ports(),
		LeaderHints: p.cfg.LeaderHints,
		Security:    p.cfg.Security.gateway(),
		Refresh:     p.cfg.KafkaRefresh,
		OnChange: func() {
			select {
			case p.keep <- struct{}{}:
			default:
			}
		},
	}, p.log.Named("directory"))
	if err != nil {
		return err
	}
	p.directory = directory
	p.shown.Store(directory)
	p.restoreBrokers()
	p.directory.Start(p.ctx)
	return nil
}

func (c *Config) ports() gateway.Ports {
	return gateway.Ports{
		Host:    c.AdvertiseHost,
		First:   int32(c.BrokerPorts.First),
		Last:    int32(c.BrokerPorts.Last),
		FirstID: c.FirstBrokerID,
	}
}

// kafkaPatience is how long a daemon that knows its Kafka waits for it at the start before it serves without.
const kafkaPatience = 3 * time.Second

// findKafka returns Kafka's cluster.id: from Kafka, or, if it does not answer, from what the last run knew. A daemon that
// knows nothing waits, for it could serve nobody.
func (p *process) findKafka(ctx context.Context) (clusterID string, answered bool, err error) {
	known := p.directory.Table().ClusterID()
	wait, cancel := context.WithTimeout(ctx, kafkaPatience)
	defer cancel()
	clusterID, err = p.directory.Cluster(wait)
	if known == "" && wait.Err() != nil && ctx.Err() == nil {
		p.log.Warn("Kafka does not answer: nothing is served until it does, since nothing is known of it yet", zap.Error(err))
		clusterID, err = p.directory.Cluster(ctx)
	}
	if err == nil {
		p.log.Info("Kafka answers", zap.String("cluster_id", clusterID), zap.Int32s("brokers", p.directory.Table().IDs()))
		return clusterID, true, nil
	}
	if mismatch, ok := errors.AsType[*gateway.ClusterMismatchError](err); ok {
		return "", false, p.wrongCluster(mismatch)
	}
	if ctx.Err() != nil {
		return "", false, err
	}
	p.log.Warn("Kafka does not answer: the known groups are served without it", zap.Error(err))
	return known, false, nil
}

func (p *process) wrongCluster(m *gateway.ClusterMismatchError) error {
	return fmt.Errorf("the data directory %s is of Kafka cluster %q, and the brokers at %v are of %q", p.cfg.DataDir, m.Known, p.cfg.KafkaBrokers, m.Found)
}

// awaitKafka takes a Kafka that was away at the start, once it answers.
func (p *process) awaitKafka() {
	clusterID, err := p.directory.Cluster(p.ctx)
	if err != nil {
		return // stopping, or another cluster, which watchKafka sees too
	}
	if err := p.store.Load().SetClusterID(clusterID); err != nil {
		p.fail(sentence(err))
		return
	}
	p.log.Info("Kafka answers", zap.String("cluster_id", clusterID), zap.Int32s("brokers", p.directory.Table().IDs()))
}

// watchKafkaEvery is how soon another cluster at Kafka's addresses ends the daemon after the directory has seen it.
const watchKafkaEvery = time.Second

// watchKafka ends the daemon when another cluster answers at Kafka's addresses: offsets of one cluster say nothing about
// the records of another.
func (p *process) watchKafka() {
	ticker := time.NewTicker(watchKafkaEvery)
	defer ticker.Stop()
	for {
		if mismatch, ok := errors.AsType[*gateway.ClusterMismatchError](p.directory.Err()); ok {
			p.fail(p.wrongCluster(mismatch))
			return
		}
		select {
		case <-ticker.C:
		case <-p.ctx.Done():
			return
		}
	}
}

// keepTopicsEvery is how often topics that were learnt meanwhile are kept; brokers are kept when they change.
const keepTopicsEvery = 10 * time.Second

func (p *process) keepBrokers() {
	p.saveBrokers(false)
	ticker := time.NewTicker(keepTopicsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-p.keep:
		case <-ticker.C:
		case <-p.ctx.Done():
			return
		}
		p.saveBrokers(false)
	}
}

func (p *process) startHTTP(ctx context.Context, registry *registry) error {
	if p.cfg.HTTP == "" {
		return nil
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.cfg.HTTP)
	if err != nil {
		return portError("http", err)
	}
	p.http = httpapi.Serve(ln, p, httpapi.Options{Metrics: p.metricsHandler(registry), Pprof: p.cfg.Pprof}, p.log.Named("http"))
	p.log.Info("HTTP is served", zap.Stringer("address", ln.Addr()))
	return nil
}
