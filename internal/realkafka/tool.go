package realkafka

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed tools-log4j2.properties
var toolsLog4j []byte

// tools maps the names of Kafka's shell scripts to the classes they run.
var tools = map[string]string{
	"kafka-topics":              "org.apache.kafka.tools.TopicCommand",
	"kafka-configs":             "org.apache.kafka.tools.ConfigCommand",
	"kafka-consumer-groups":     "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
	"kafka-groups":              "org.apache.kafka.tools.GroupsCommand",
	"kafka-console-consumer":    "org.apache.kafka.tools.consumer.ConsoleConsumer",
	"kafka-console-producer":    "org.apache.kafka.tools.ConsoleProducer",
	"kafka-producer-perf-test":  "org.apache.kafka.tools.ProducerPerformance",
	"kafka-consumer-perf-test":  "org.apache.kafka.tools.ConsumerPerformance",
	"kafka-delete-records":      "org.apache.kafka.tools.DeleteRecordsCommand",
	"kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
	"kafka-get-offsets":         "org.apache.kafka.tools.GetOffsetShell",
	"kafka-verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
	"kafka-verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
	"kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
	"kafka-leader-election":     "org.apache.kafka.tools.LeaderElectionCommand",
	"kafka-features":            "org.apache.kafka.tools.FeatureCommand",
	"kafka-transactions":        "org.apache.kafka.tools.TransactionsCommand",
	"kafka-storage":             "kafka.tools.StorageTool",
}

// ToolCommand is the command that runs one of Kafka's tools: the name of its
// script without ".sh" ("kafka-consumer-groups") or the name of a class. Start
// it with StartProcess, or run it.
func ToolCommand(ctx context.Context, tool string, args ...string) (*exec.Cmd, error) {
	libs, err := Install(ctx)
	if err != nil {
		return nil, err
	}
	class, ok := tools[tool]
	if !ok {
		if !strings.Contains(tool, ".") {
			return nil, fmt.Errorf("realkafka: no tool %q: give the name of a script of Kafka or of a class", tool)
		}
		class = tool
	}
	return toolCommand(ctx, libs, class, args...), nil
}

// Tool runs one of Kafka's tools to its end and returns what it printed on
// standard output. The error carries what it printed on standard error.
func Tool(ctx context.Context, tool string, args ...string) (string, error) {
	cmd, err := ToolCommand(ctx, tool, args...)
	if err != nil {
		return "", err
	}
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("realkafka: %s: %w: %s", tool, err, tail([]byte(problems.String()), 2000))
	}
	return out.String(), nil
}

// toolCommand builds the command for a JVM that lives for a second or two.
func toolCommand(ctx context.Context, libs, class string, args ...string) *exec.Cmd {
	config := filepath.Join(filepath.Dir(libs), "tools-log4j2.properties")
	if _, err := os.Stat(config); err != nil {
		// Without it the tools only print less of what goes wrong.
		_ = os.WriteFile(config, toolsLog4j, 0o644)
	}
	return exec.CommandContext(ctx, "java", append([]string{
		"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.configurationFile=" + config,
		"-cp", libs + "/*", class,
	}, args...)...)
}
