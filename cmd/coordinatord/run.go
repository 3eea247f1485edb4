package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/coordinatord/coordinatord/internal/daemon"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // a second signal while the first one's stop was under way
)

// usageError is a mistake in how the command was called: the message names the flag, variable or key.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// app is what the commands share: the process's surroundings, so that tests can run a command within theirs.
type app struct {
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer
	started        bool // a command's own code has been reached: what fails from there on is no usage error by itself
}

// run executes one command line (without the program's name) and returns the exit code. A command that runs until it is
// told to stop ends when ctx does.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{env: env, stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	var usage *usageError
	var config *daemon.ConfigError
	if errors.As(err, &usage) || errors.As(err, &config) || !a.started {
		fmt.Fprintf(stderr, "coordinatord: %v\nSee '%s --help'.\n", err, cmd.CommandPath())
		return exitUsage
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintf(stderr, "coordinatord: %v\n", err)
	}
	return exitFailed
}

// errReported ends a command with exit code 1 after it has said on its output what is wrong.
var errReported = errors.New("reported")

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "coordinatord",
		Short: "A consumer-group coordinator beside an unmodified Apache Kafka",
		Long: `coordinatord runs beside an Apache Kafka cluster. Clients set bootstrap.servers to its
listener: it answers the consumer-group requests itself, from state that is
replicated and synced to disk, and passes everything else to the brokers.

Every flag can also be set in the environment (COORDINATORD_ and the flag's name
in capitals, with dashes and dots as underscores: --kafka-brokers is
COORDINATORD_KAFKA_BROKERS) and in a YAML file (--config, the flag's name is the key).
A flag wins over the environment, the environment over the file.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return a.applySettings(cmd)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.Version = version()
	root.SetVersionTemplate(versionLine())
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().String(configFlag, "", "YAML file with settings: flag names are the keys")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddCommand(
		a.serveCommand(), a.devCommand(), a.checkCommand(),
		a.statusCommand(), a.groupsCommand(), a.inspectCommand(), a.versionCommand(),
	)
	return root
}

// body marks the command's own code as reached and runs it.
func (a *app) body(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.started = true
		return f(cmd, args)
	}
}
