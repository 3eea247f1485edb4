package main

import (
	"path/filepath"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/internal/daemon"
)

// Bounds of dev's own flags.
const (
	devDataDir    = ".coordinatord"
	devPartitions = 6
)

func (a *app) devCommand() *cobra.Command {
	d := newDaemonFlags()
	d.config.DataDir = devDataDir
	kafka := daemon.StandinConfig{Brokers: 1, DefaultPartitions: devPartitions}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run the daemon with an in-process Kafka stand-in",
		Long: `Runs the daemon with an in-process Kafka stand-in on loopback: nothing else is
needed. Records, topics, groups and offsets are kept under --data-dir; a restart
continues where the last run ended, however that ended. Topics are created on first
use. It is for development: the stand-in has no replication, quotas or security.`,
		Args: cobra.NoArgs,
		RunE: a.body(func(cmd *cobra.Command, _ []string) error {
			cfg, err := d.finishDev(&kafka)
			if err != nil {
				return err
			}
			outliveReaders()
			log, queue := startLog(d.logFormat, d.logLevel, a.stderr)
			defer queue.close()
			cfg.LogDropped = queue.dropped.Load
			log.Info("starting", zap.String("version", version()), zap.String("data_dir", cfg.DataDir), zap.Any("settings", given(cmd.Flags())))
			return daemon.RunDev(cmd.Context(), cfg, kafka, log, a.announce)
		}),
	}
	fs := cmd.Flags()
	d.register(cmd)
	fs.Var(&topicsValue{&kafka.Topics}, "topics", "topics to have at start: name:partitions,...; existing ones grow to it")
	fs.IntVar(&kafka.DefaultPartitions, "default-partitions", kafka.DefaultPartitions, "partitions of topics that are created on first use")
	fs.IntVar(&kafka.Brokers, "brokers", kafka.Brokers, "brokers of the stand-in, ids from 0")
	return cmd
}

func (d *daemonFlags) finishDev(kafka *daemon.StandinConfig) (daemon.Config, error) {
	switch {
	case kafka.Brokers < 1 || kafka.Brokers > d.config.BrokerPorts.Len():
		return daemon.Config{}, usagef("--brokers, --broker-ports: %d brokers do not fit %s", kafka.Brokers, d.config.BrokerPorts)
	case kafka.DefaultPartitions < 1 || kafka.DefaultPartitions > maxPartitions:
		return daemon.Config{}, usagef("--default-partitions: %d is not between 1 and %d", kafka.DefaultPartitions, maxPartitions)
	case d.config.FirstBrokerID != 0:
		return daemon.Config{}, usagef("--first-broker-id: the stand-in's brokers have ids from 0")
	}
	// The stand-in's addresses are known once it runs; this one only stands for them in the validation.
	d.config.KafkaBrokers = []string{"127.0.0.1:1"}
	cfg, err := d.finish()
	if err != nil {
		return daemon.Config{}, err
	}
	cfg.KafkaBrokers = nil
	kafka.Dir = filepath.Join(cfg.DataDir, "kafka")
	return cfg, nil
}
