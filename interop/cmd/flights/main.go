// Command flights sends 336,776 real flights through the daemon on a real
// Kafka of three brokers and reads them with three groups of three different
// clients, while the daemon and a broker are killed. It exits 1 unless every
// group saw every record and has committed all of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"

	"github.com/coordinatord/coordinatord/internal/proc"

	"github.com/coordinatord/coordinatord/interop/suite"
)

func main() {
	binary := flag.String("binary", "", "the daemon to run; built from the source by default")
	clients := flag.String("clients", "^(java-4.4|confluent-kafka|kafkajs)$", "a regular expression of the clients, a group of each")
	logs := flag.String("logs", "", "where logs go; default a temporary directory, kept when something fails")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *binary, *clients, *logs)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "flights:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, "every group saw every flight and has committed all of them")
}

func run(ctx context.Context, binary, pattern, logs string) (err error) {
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	clients := slices.DeleteFunc(suite.Clients(), func(c *suite.Client) bool { return !wanted.MatchString(c.Name) })
	if err := suite.Install(ctx, clients); err != nil {
		return err
	}
	if logs == "" {
		if logs, err = os.MkdirTemp("", "flights-"); err != nil {
			return err
		}
		defer func() {
			if err == nil {
				err = os.RemoveAll(logs)
			} else {
				fmt.Fprintln(os.Stderr, "logs are in", logs)
			}
		}()
	}
	if binary == "" {
		if binary, err = proc.Build(ctx, logs); err != nil {
			return err
		}
	}
	return suite.RunFlights(ctx, binary, logs, clients, os.Stdout)
}
