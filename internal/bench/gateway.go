package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/internal/load"
	"github.com/coordinatord/coordinatord/internal/realkafka"
)

// gateway compares Kafka's own performance tools directly, through a bare pump and through the daemon.
func gateway(ctx context.Context, e *env) error {
	p, err := newPump(e.pumpAt, e.pumped)
	if err != nil {
		return err
	}
	defer p.close()
	d, err := e.daemon(ctx)
	if err != nil {
		return err
	}
	defer d.Kill()
	if err := smallRequests(ctx, e, d.Bootstrap); err != nil {
		return err
	}
	if err := produce(ctx, e, d.Bootstrap); err != nil {
		return err
	}
	for _, size := range []int{200, 10_000} {
		if err := consume(ctx, e, d.Bootstrap, size); err != nil {
			return err
		}
	}
	e.table.note("produce and consume: Kafka's ProducerPerformance and ConsumerPerformance, 6 partitions, one broker on the same two cores; the pump copies bytes and parses nothing.")
	return nil
}

// smallRequests measures what the gateway adds to a request that passes through: ListOffsets of one partition.
func smallRequests(ctx context.Context, e *env, through string) error {
	if err := e.topic(ctx, "small", 1); err != nil {
		return err
	}
	source := func() []load.Source {
		req := kmsg.NewPtrListOffsetsRequest()
		req.SetVersion(5)
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = "small"
		tp := kmsg.NewListOffsetsRequestTopicPartition()
		tp.Timestamp = -1
		t.Partitions = append(t.Partitions, tp)
		req.Topics = append(req.Topics, t)
		return []load.Source{load.NewPatched([]kmsg.Request{req}, 0, func(kmsg.Response) error { return nil })}
	}
	var added spread
	var direct, ours spread
	for round := range e.rounds(7) + 1 {
		a, err := load.Closed(ctx, e.kafka, source(), 1, e.seconds(3))
		if err != nil {
			return err
		}
		b, err := load.Closed(ctx, through, source(), 1, e.seconds(3))
		if err != nil {
			return err
		}
		if round == 0 {
			continue
		}
		direct, ours = append(direct, ms(a.Latency.Quantile(0.99))), append(ours, ms(b.Latency.Quantile(0.99)))
		added = append(added, ms(b.Latency.Quantile(0.99)-a.Latency.Quantile(0.99)))
	}
	e.table.add(row{"small request, p99 ms", fmt.Sprintf("%.3f", ours.median()), fmt.Sprintf("%.3f", direct.median()), "added " + added.String(), "added <= 0.3", judge(added.median() <= 0.3)})
	return nil
}

func produce(ctx context.Context, e *env, through string) error {
	if err := e.topic(ctx, "produce", 6); err != nil {
		return err
	}
	records := 2_000_000
	if e.quick {
		records = 50_000
	}
	one := func(addr string) (float64, error) {
		return producerPerf(ctx, addr, "produce", records, 200)
	}
	var direct, ours spread
	for round := range e.rounds(7) + 1 {
		a, err := one(e.kafka)
		if err != nil {
			return err
		}
		b, err := one(through)
		if err != nil {
			return err
		}
		e.say("produce: direct %.0f, through %.0f records/s", a, b)
		if round > 0 {
			direct, ours = append(direct, a), append(ours, b)
		}
	}
	ratio := ours.over(direct)
	e.table.add(row{"produce 200 B, records/s", fmt.Sprintf("%.0f", ours.median()), fmt.Sprintf("%.0f", direct.median()), ratio.String(), ">= 0.95 x", judge(ratio.median() >= 0.95)})
	return nil
}

func consume(ctx context.Context, e *env, through string, size int) error {
	topic := fmt.Sprintf("consume-%d", size)
	if err := e.topic(ctx, topic, 6); err != nil {
		return err
	}
	records := 800_000_000 / size
	goal := 0.70
	if size > 1000 {
		goal = 0.55
	}
	if e.quick {
		records /= 50
	}
	if _, err := producerPerf(ctx, e.kafka, topic, records, size); err != nil {
		return err
	}
	var direct, pumped, ours spread
	for round := range e.rounds(5) + 1 {
		var rates [3]float64
		for i, addr := range []string{e.kafka, e.pumpAt, through} {
			var err error
			if rates[i], err = consumerPerf(ctx, addr, topic, records); err != nil {
				return err
			}
		}
		e.say("consume %d B: direct %.0f, pump %.0f, through %.0f records/s", size, rates[0], rates[1], rates[2])
		if round > 0 {
			direct, pumped, ours = append(direct, rates[0]), append(pumped, rates[1]), append(ours, rates[2])
		}
	}
	ratio, toPump := ours.over(direct), ours.over(pumped)
	e.table.add(row{fmt.Sprintf("consume %d B, records/s", size), fmt.Sprintf("%.0f", ours.median()), fmt.Sprintf("%.0f", direct.median()), ratio.String(), fmt.Sprintf(">= %.2f x", goal), judge(ratio.median() >= goal)})
	e.table.add(row{"  against the bare pump", fmt.Sprintf("%.0f", ours.median()), fmt.Sprintf("%.0f (pump)", pumped.median()), toPump.String(), ">= 0.90 x", judge(toPump.median() >= 0.90)})
	return nil
}

var produced = regexp.MustCompile(`(?m)^(\d+) records sent, ([0-9.]+) records/sec`)

func producerPerf(ctx context.Context, addr, topic string, records, size int) (float64, error) {
	out, err := perf(ctx, "kafka-producer-perf-test", "--topic", topic, "--num-records", strconv.Itoa(records), "--record-size", strconv.Itoa(size),
		"--throughput", "-1", "--producer-props", "bootstrap.servers="+addr, "acks=1", "linger.ms=5", "batch.size=65536")
	if err != nil {
		return 0, err
	}
	all := produced.FindAllStringSubmatch(out, -1)
	if len(all) == 0 || all[len(all)-1][1] != strconv.Itoa(records) {
		return 0, fmt.Errorf("the producer's output has no total: %q", out)
	}
	return strconv.ParseFloat(all[len(all)-1][2], 64)
}

// consumerPerf returns records a second of fetching alone, without the time in which the group forms.
func consumerPerf(ctx context.Context, addr, topic string, records int) (float64, error) {
	group := fmt.Sprintf("perf-%d", time.Now().UnixNano())
	out, err := perf(ctx, "kafka-consumer-perf-test", "--bootstrap-server", addr, "--topic", topic, "--group", group, "--num-records", strconv.Itoa(records), "--timeout", "60000")
	if err != nil {
		return 0, err
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	title := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "start.time") })
	if title < 0 {
		return 0, fmt.Errorf("the consumer's output has no title row: %q", out)
	}
	head, values := splitRow(lines[title]), splitRow(lines[len(lines)-1])
	i := slices.Index(head, "fetch.nMsg.sec")
	n := slices.Index(head, "data.consumed.in.nMsg")
	if i < 0 || n < 0 || len(values) <= max(i, n) {
		return 0, fmt.Errorf("the consumer's output has no fetch rate: %q", out)
	}
	if got, err := strconv.Atoi(values[n]); err != nil || got < records {
		return 0, fmt.Errorf("the consumer read %s of %d records", values[n], records)
	}
	return strconv.ParseFloat(values[i], 64)
}

func splitRow(line string) []string {
	f := strings.Split(line, ",")
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	return f
}

// perf runs one of Kafka's performance tools with the full compiler; the package's own default is for short-lived tools.
func perf(ctx context.Context, tool string, args ...string) (string, error) {
	cmd, err := realkafka.ToolCommand(ctx, tool, args...)
	if err != nil {
		return "", err
	}
	cmd.Args = slices.DeleteFunc(cmd.Args, func(a string) bool { return strings.HasPrefix(a, "-XX:TieredStopAtLevel") })
	for i, a := range cmd.Args {
		if strings.HasPrefix(a, "-Xmx") {
			cmd.Args[i] = "-Xmx512m"
		}
	}
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s: %w\n%s", tool, err, exit.Stderr)
	}
	return string(out), err
}
