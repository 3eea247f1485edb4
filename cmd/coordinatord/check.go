package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coordinatord/coordinatord/gateway"
	"github.com/coordinatord/coordinatord/internal/daemon"
)

// checkedSettings are the settings that say what is dialled, beside those of Kafka, and how the command logs.
var checkedSettings = []string{"listen", "advertise-host", "broker-ports", "first-broker-id", "log-format", "log-level"}

// finding is one line of check as JSON.
type finding struct {
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

func (a *app) checkCommand() *cobra.Command {
	d := newDaemonFlags()
	d.logLevel = "error" // the findings say it
	output, timeout := formatText, time.Minute
	cmd := &cobra.Command{
		Use:   "check --kafka-brokers host:port,...",
		Short: "Dial every address that clients would be told, and the brokers; exit 1 if anything is wrong",
		Long: `Dials the brokers at the addresses that they give for themselves, and every address
that clients would be told instead, which must lead to the daemon. Give it the
settings of the daemon (--config, or the same environment); the daemon must be
running. What it finds holds for the machine that it runs on. Settings of serve that
are not listed below are taken too, and play no part.`,
		Args: cobra.NoArgs,
		RunE: a.body(func(cmd *cobra.Command, _ []string) error {
			d.config.DataDir = "unused" // as a required setting it would be missed
			cfg, err := d.finish()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return a.printFindings(output, daemon.Check(ctx, cfg, newLogger(d.logFormat, d.logLevel, a.stderr)))
		}),
	}
	d.register(cmd)
	d.registerKafka(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = !strings.HasPrefix(f.Name, "kafka-") && !slices.Contains(checkedSettings, f.Name)
	})
	registerOutput(cmd, &output)
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long the whole command may take")
	return cmd
}

func (a *app) printFindings(output format, findings []gateway.Finding) error {
	wrong := 0
	list := make([]finding, len(findings))
	for i, f := range findings {
		list[i] = finding{f.OK, printable(f.Text)}
		if !f.OK {
			wrong++
		}
	}
	if output == formatJSON {
		if err := a.printJSON(list); err != nil {
			return err
		}
	} else {
		for _, f := range list {
			mark := "ok   "
			if !f.OK {
				mark = "WRONG"
			}
			if _, err := fmt.Fprintln(a.stdout, mark, f.Text); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(a.stdout, "%d of %d wrong.\n", wrong, len(list)); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return errReported
	}
	return nil
}
