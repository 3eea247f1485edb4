package main

import (
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/internal/daemon"
)

func (a *app) serveCommand() *cobra.Command {
	d := newDaemonFlags()
	cmd := &cobra.Command{
		Use:   "serve --data-dir DIR --kafka-brokers host:port,...",
		Short: "Run the daemon beside a Kafka cluster",
		Long: `Runs the daemon beside a Kafka cluster. When it serves, it prints one line on
standard output, BOOTSTRAP=host:port; logs go to standard error. SIGTERM or Ctrl-C
stops accepting, finishes what is in flight and exits 0; a second signal exits at once.`,
		Args: cobra.NoArgs,
		RunE: a.body(func(cmd *cobra.Command, _ []string) error {
			cfg, err := d.finish()
			if err != nil {
				return err
			}
			outliveReaders()
			log, queue := startLog(d.logFormat, d.logLevel, a.stderr)
			defer queue.close()
			cfg.LogDropped = queue.dropped.Load
			log.Info("starting", zap.String("version", version()), zap.String("data_dir", cfg.DataDir), zap.Any("settings", given(cmd.Flags())))
			return daemon.Run(cmd.Context(), cfg, log, a.announce)
		}),
	}
	d.register(cmd)
	d.registerKafka(cmd)
	return cmd
}

// outliveReaders keeps the daemon running when whoever reads its log or its standard output goes away: a write then fails,
// where it would by default end the process by SIGPIPE.
func outliveReaders() { signal.Ignore(syscall.SIGPIPE) }

// announce tells whoever started the daemon that it serves: this is the one line of standard output.
func (a *app) announce(bootstrap string) error {
	_, err := fmt.Fprintf(a.stdout, "BOOTSTRAP=%s\n", bootstrap)
	return err
}
