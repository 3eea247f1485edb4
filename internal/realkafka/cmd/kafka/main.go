// Command kafka starts an Apache Kafka for work at the terminal, and runs
// Kafka's tools.
//
//	go run ./internal/realkafka/cmd/kafka start --brokers 3
//	go run ./internal/realkafka/cmd/kafka tool kafka-topics --bootstrap-server HOST:PORT --list
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/coordinatord/coordinatord/internal/realkafka"
)

const usage = `usage:
  kafka install
  kafka start [--brokers N] [--first-id N] [--heap 1g] [--dir DIR] [--sasl user:password,…] [--set name=value]… [--log]
  kafka tool NAME|CLASS [argument…]`

var errUsage = errors.New(usage)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	switch args[0] {
	case "install":
		libs, err := realkafka.Install(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, libs)
		return nil
	case "start":
		return start(ctx, args[1:])
	case "tool":
		return tool(ctx, args[1:])
	default:
		return errUsage
	}
}

func start(ctx context.Context, args []string) error {
	o := realkafka.Options{Properties: map[string]string{}}
	flags := flag.NewFlagSet("start", flag.ContinueOnError)
	flags.IntVar(&o.Brokers, "brokers", 1, "how many brokers")
	flags.IntVar(&o.FirstID, "first-id", 1, "the id of the first broker")
	flags.StringVar(&o.Heap, "heap", "1g", "heap of each broker")
	flags.StringVar(&o.Dir, "dir", "", "data directory; a temporary one by default")
	users := flags.String("sasl", "", "users and passwords: SASL_PLAINTEXT for clients")
	verbose := flags.Bool("log", false, "print what the brokers print")
	flags.Func("set", "a property of the brokers, name=value", func(s string) error {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("want name=value")
		}
		o.Properties[name] = value
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *verbose {
		o.Log = os.Stderr
	}
	if *users != "" {
		o.SASL = &realkafka.SASL{Users: map[string]string{}}
		for user := range strings.SplitSeq(*users, ",") {
			name, password, ok := strings.Cut(user, ":")
			if !ok {
				return fmt.Errorf("--sasl %s: want user:password", user)
			}
			o.SASL.Users[name] = password
		}
	}
	c, err := realkafka.Start(ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "BOOTSTRAP=%s\n", c.Bootstrap())
	<-ctx.Done()
	return c.Close()
}

func tool(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	cmd, err := realkafka.ToolCommand(ctx, args[0], args[1:]...)
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
