// The differential command plays the scripted sequences of the group protocol against a real Apache Kafka and against
// the daemon in front of it (or against that Kafka twice) and compares the answers field by field.
//
//	differential [--target daemon|self] [--run REGEX]   play the suite
//	differential selftest                               show that planted deviations are found
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/coordinatord/coordinatord/interop/differential"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	play := differential.Main
	if len(args) > 0 && args[0] == "selftest" {
		play, args = differential.SelfTest, args[1:]
	}
	o := differential.Options{Out: os.Stdout}
	fs := flag.NewFlagSet("differential", flag.ExitOnError)
	fs.StringVar(&o.Target, "target", "daemon", "what to compare Kafka with: daemon, or self for the same Kafka again")
	pattern := fs.String("run", "", "play only the sequences whose name matches this regular expression")
	fs.IntVar(&o.Parallel, "parallel", 12, "sequences at a time")
	fs.StringVar(&o.Tags, "tags", "", "build tags of the daemon")
	fs.BoolVar(&o.Verbose, "v", false, "print every step with Kafka's answer")
	fs.StringVar(&o.DaemonLog, "daemon-log", "", "file prefix for the daemons' standard error")
	fs.DurationVar(&o.Timeout, "timeout", 10*time.Minute, "bound of the whole run")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", fs.Arg(0))
	}
	re, err := regexp.Compile(*pattern)
	if err != nil {
		return fmt.Errorf("--run: %w", err)
	}
	o.Match = re
	return play(ctx, o)
}
