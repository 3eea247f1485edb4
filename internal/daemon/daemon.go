package daemon

import (
	"context"
	"fmt"
	"path/filepath"

	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/gateway"
)

// Announce is called once, when the daemon serves, with the address that clients are to be given.
type Announce func(bootstrap string) error

// Run runs a daemon until ctx ends, and stops it in order. An error is one sentence for the operator.
func Run(ctx context.Context, cfg Config, log *zap.Logger, announce Announce) error {
	p := &process{cfg: cfg, log: log}
	defer p.stop()
	if err := p.start(ctx); err != nil {
		return err
	}
	if err := announce(p.bootstrap()); err != nil {
		return fmt.Errorf("the address of the bootstrap listener cannot be printed: %w", err)
	}
	<-ctx.Done()
	return nil
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

type process struct {
	cfg       Config
	log       *zap.Logger
	directory *gateway.Directory
}

func (p *process) start(ctx context.Context) error {
	var err error
	p.directory, err = gateway.NewDirectory(gateway.DirectoryConfig{
		Seeds: p.cfg.KafkaBrokers,
		Ports: gateway.Ports{
			Host:    p.cfg.AdvertiseHost,
			First:   int32(p.cfg.BrokerPorts.First),
			Last:    int32(p.cfg.BrokerPorts.Last),
			FirstID: p.cfg.FirstBrokerID,
		},
		LeaderHints: p.cfg.LeaderHints,
		Security:    p.cfg.Security.gateway(),
	}, p.log.Named("directory"))
	if err != nil {
		return err
	}
	p.directory.Start(ctx)
	clusterID, err := p.directory.Cluster(ctx)
	if err != nil {
		return err
	}
	p.log.Info("Kafka answers", zap.String("cluster_id", clusterID))
	return nil
}

func (p *process) bootstrap() string { return "" }

func (p *process) stop() {
	if p.directory != nil {
		p.directory.Close()
	}
}
