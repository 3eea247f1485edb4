package suite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/coordinatord/coordinatord/internal/realkafka"
)

// A ToolCase is one call of a tool of Kafka, directly and through the daemon.
type ToolCase struct {
	ID     string // Names the case, as in interop:tools/ID.
	Direct string // What it printed, normalised, with its exit status.
	Daemon string
	// Err is that the call on Kafka itself did not do what the case is for.
	Err error
	// Took is how long it took on the first side.
	Took time.Duration
}

// Same is whether both did the same, as they should.
func (c ToolCase) Same() bool { return c.Err == nil && c.Direct == c.Daemon }

// CompareTools plays the same calls of kafka-topics, kafka-configs,
// kafka-consumer-groups and others on a Kafka directly and through a daemon
// beside the same Kafka. franz is the client of the groups' members.
func CompareTools(ctx context.Context, direct, daemon Target, franz *Client, dir string) ([]ToolCase, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	shell, err := startShell(ctx)
	if err != nil {
		return nil, err
	}
	defer shell.close()
	// The first group would create __consumer_offsets, and the second side
	// would list one topic more.
	if err := warm(ctx, direct); err != nil {
		return nil, err
	}
	var sides [2][]ToolCase
	for i, t := range []Target{direct, daemon} {
		play := &toolPlay{shell: shell, target: t, franz: franz, dir: filepath.Join(dir, fmt.Sprint(i))}
		if sides[i], err = play.run(ctx); err != nil {
			return nil, err
		}
	}
	if len(sides[0]) != len(sides[1]) {
		return nil, errors.New("the two sides played different calls")
	}
	out := sides[0]
	for i := range out {
		out[i].Daemon = sides[1][i].Direct
	}
	return out, nil
}

// warm makes a Kafka create the topic of its groups.
func warm(ctx context.Context, t Target) error {
	admin, err := newAdmin(t)
	if err != nil {
		return err
	}
	defer admin.close()
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return retry(ctx, func(ctx context.Context) error {
		_, err := admin.committed(ctx, "warm", "warm")
		return err
	})
}

// toolPlay is the play of all calls on one side.
type toolPlay struct {
	shell  *toolShell
	target Target
	franz  *Client
	dir    string
	log    *os.File // What the tools printed, as they did.
	cases  []ToolCase
}

func (p *toolPlay) run(ctx context.Context) ([]ToolCase, error) {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	if p.log, err = os.Create(filepath.Join(p.dir, "calls.log")); err != nil {
		return nil, err
	}
	defer func() { _ = p.log.Close() }()
	for _, part := range []func(context.Context) error{p.topics, p.configs, p.groups, p.offsets, p.cleanUp} {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	return p.cases, nil
}

// patience is how long a tool is called again until it prints what it should.
const patience = 5 * time.Second

// call runs a tool and keeps what it printed. want is part of what Kafka
// prints when the call does what the case is for; without it a case in which
// nothing works would compare as the same.
func (p *toolPlay) call(ctx context.Context, id, want, tool string, args ...string) error {
	args = append([]string{"--bootstrap-server", p.target.Bootstrap()}, args...)
	c := ToolCase{ID: id}
	begin := time.Now()
	var text string
	// Some changes are there a little after they were accepted.
	for again := true; again; {
		var err error
		if text, err = p.shell.run(ctx, tool, args...); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		c.Direct, c.Err = normalise(text), nil
		if !strings.Contains(c.Direct, want) {
			c.Err = fmt.Errorf("want %q in what Kafka prints", want)
		}
		again = c.Err != nil && time.Since(begin) < patience
	}
	c.Took = time.Since(begin)
	p.cases = append(p.cases, c)
	fmt.Fprintf(p.log, "==== %s %s, %s\n%s\n", id, strings.Join(args, " "), c.Took, text)
	return nil
}

// calls runs calls that need nothing in between.
func (p *toolPlay) calls(ctx context.Context, calls [][]string) error {
	for _, c := range calls {
		if err := p.call(ctx, c[0], c[1], c[2], c[3:]...); err != nil {
			return err
		}
	}
	return nil
}

const (
	topicsTool  = "org.apache.kafka.tools.TopicCommand"
	configsTool = "org.apache.kafka.tools.ConfigCommand"
	groupsTool  = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
	offsetsTool = "org.apache.kafka.tools.GetOffsetShell"
	allGroups   = "org.apache.kafka.tools.GroupsCommand"
	deleteTool  = "org.apache.kafka.tools.DeleteRecordsCommand"
)

func (p *toolPlay) topics(ctx context.Context) error {
	return p.calls(ctx, [][]string{
		{"topics-create", "Created topic", topicsTool, "--create", "--topic", "tools", "--partitions", "6"},
		{"topics-create-again", "already exists", topicsTool, "--create", "--topic", "tools", "--partitions", "6"},
		{"topics-create-second", "Created topic", topicsTool, "--create", "--topic", "tools-second", "--partitions", "1", "--config", "retention.ms=3600000"},
		{"topics-list", "tools-second", topicsTool, "--list"},
		{"topics-alter", "", topicsTool, "--alter", "--topic", "tools-second", "--partitions", "3"},
		{"topics-alter-fewer", "rror", topicsTool, "--alter", "--topic", "tools-second", "--partitions", "2"},
		{"topics-describe", "ReplicationFactor: 1", topicsTool, "--describe", "--topic", "tools"},
		{"topics-describe-all", "PartitionCount: 3", topicsTool, "--describe"},
		{"topics-describe-unavailable", "", topicsTool, "--describe", "--unavailable-partitions"},
		{"topics-describe-missing", "does not exist", topicsTool, "--describe", "--topic", "tools-missing"},
		{"topics-delete-missing", "does not exist", topicsTool, "--delete", "--topic", "tools-missing"},
	})
}

func (p *toolPlay) configs(ctx context.Context) error {
	return p.calls(ctx, [][]string{
		{"configs-topic-alter", "Completed", configsTool, "--alter", "--entity-type", "topics", "--entity-name", "tools", "--add-config", "segment.bytes=1048576"},
		{"configs-topic-describe", "segment.bytes=1048576", configsTool, "--describe", "--entity-type", "topics", "--entity-name", "tools"},
		{"configs-topic-wrong", "rror", configsTool, "--alter", "--entity-type", "topics", "--entity-name", "tools", "--add-config", "segment.bytes=some"},
		{"configs-topic-delete", "Completed", configsTool, "--alter", "--entity-type", "topics", "--entity-name", "tools", "--delete-config", "segment.bytes"},
		{"configs-broker-alter", "Completed", configsTool, "--alter", "--entity-type", "brokers", "--entity-name", "1", "--add-config", "log.cleaner.threads=2"},
		{"configs-broker-describe", "log.cleaner.threads=2 sensitive=false", configsTool, "--describe", "--entity-type", "brokers", "--entity-name", "1"},
		{"configs-broker-delete", "Completed", configsTool, "--alter", "--entity-type", "brokers", "--entity-name", "1", "--delete-config", "log.cleaner.threads"},
		{"configs-broker-all", "log.cleaner.threads=1 sensitive=false", configsTool, "--describe", "--all", "--entity-type", "brokers", "--entity-name", "1"},
		{"configs-group-alter", "Completed", configsTool, "--alter", "--entity-type", "groups", "--entity-name", "tools-group", "--add-config", "consumer.heartbeat.interval.ms=5500"},
		{"configs-group-describe", "consumer.heartbeat.interval.ms=5500", configsTool, "--describe", "--entity-type", "groups", "--entity-name", "tools-group"},
		{"configs-group-delete", "Completed", configsTool, "--alter", "--entity-type", "groups", "--entity-name", "tools-group", "--delete-config", "consumer.heartbeat.interval.ms"},
		{"configs-user-alter", "Completed", configsTool, "--alter", "--entity-type", "users", "--entity-name", "tools", "--add-config", "producer_byte_rate=1000000"},
		{"configs-user-describe", "producer_byte_rate=1000000", configsTool, "--describe", "--entity-type", "users", "--entity-name", "tools"},
		{"configs-user-delete", "Completed", configsTool, "--alter", "--entity-type", "users", "--entity-name", "tools", "--delete-config", "producer_byte_rate"},
	})
}

// groups makes a group of two members that have read everything, and looks at
// it from all sides.
func (p *toolPlay) groups(ctx context.Context) error {
	const topic, group = "tools", "tools-group"
	feeder, err := newFeeder(p.target.Bootstrap(), topic)
	if err != nil {
		return err
	}
	defer feeder.close()
	feeder.feed(100)
	ctx, cancel := context.WithTimeout(ctx, 2*stepTimeout)
	defer cancel()
	if err := feeder.flush(ctx); err != nil {
		return err
	}
	admin, err := newAdmin(p.target)
	if err != nil {
		return err
	}
	defer admin.close()
	s := &scenario{
		client: p.franz, target: p.target, dir: p.dir, topic: topic, group: group,
		journal: newJournal(), feeder: feeder, admin: admin, members: map[string]*process{},
	}
	defer func() {
		for _, m := range s.members {
			m.kill()
		}
	}()
	// One after the other, so that the same assignment comes of it.
	if err := s.start("first"); err != nil {
		return err
	}
	if err := s.drained(ctx); err != nil {
		return err
	}
	mark := s.journal.mark()
	if err := s.start("second"); err != nil {
		return err
	}
	feeder.run()
	if err := s.share(ctx, mark, "first", "second"); err != nil {
		return err
	}
	if err := feeder.halt(ctx); err != nil {
		return err
	}
	// Both sides shall show the same log end.
	feeder.feed(1000 - feeder.n)
	if err := feeder.flush(ctx); err != nil {
		return err
	}
	if err := s.drained(ctx); err != nil {
		return err
	}
	g := func(id, want string, args ...string) []string {
		return append([]string{id, want, groupsTool}, args...)
	}
	if err := p.calls(ctx, [][]string{
		g("groups-list", group, "--list"),
		g("groups-list-state", "Stable", "--list", "--state"),
		g("groups-list-state-stable", group, "--list", "--state", "stable"),
		g("groups-list-state-empty", "", "--list", "--state", "empty"),
		g("groups-list-type", "Classic", "--list", "--type"),
		g("groups-list-type-consumer", "", "--list", "--type", "consumer"),
		{"groups-list-all", "Classic", allGroups, "--list"},
		g("groups-describe", "1000", "--describe", "--group", group),
		g("groups-describe-offsets-verbose", "1000", "--describe", "--group", group, "--offsets", "--verbose"),
		g("groups-describe-members", "second", "--describe", "--group", group, "--members"),
		g("groups-describe-members-verbose", "tools:0,1,2", "--describe", "--group", group, "--members", "--verbose"),
		g("groups-describe-state", "Stable", "--describe", "--group", group, "--state"),
		g("groups-describe-state-verbose", "Stable", "--describe", "--group", group, "--state", "--verbose"),
		g("groups-describe-all", group, "--describe", "--all-groups"),
		g("groups-describe-all-state", group, "--describe", "--all-groups", "--state"),
		g("groups-describe-missing", "not found", "--describe", "--group", "tools-missing"),
		g("groups-delete-active", "not empty", "--delete", "--group", group),
		g("groups-reset-active", "inactive", "--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute"),
		g("groups-delete-offsets-active", "rror", "--delete-offsets", "--group", group, "--topic", topic),
	}); err != nil {
		return err
	}
	return s.stop(ctx, "first", "second")
}

// offsets resets the offsets of the group that is empty now in every way.
func (p *toolPlay) offsets(ctx context.Context) error {
	const group = "tools-group"
	plan := filepath.Join(p.dir, "plan.csv")
	text := "tools,0,11\ntools,5,22\n"
	if err := os.WriteFile(plan, []byte(text), 0o644); err != nil {
		return err
	}
	reset := func(id, want string, args ...string) []string {
		return append([]string{"reset-" + id, want, groupsTool, "--reset-offsets", "--group", group}, args...)
	}
	g := func(id, want string, args ...string) []string {
		return append([]string{id, want, groupsTool}, args...)
	}
	return p.calls(ctx, [][]string{
		g("groups-empty-describe", "no active members", "--describe", "--group", group),
		g("groups-empty-members", "no active members", "--describe", "--group", group, "--members"),
		g("groups-empty-state", "Empty", "--describe", "--group", group, "--state"),
		reset("earliest-dry", "tools", "--topic", "tools", "--to-earliest", "--dry-run"),
		reset("earliest", "tools", "--topic", "tools", "--to-earliest", "--execute"),
		reset("shift", "7", "--topic", "tools", "--shift-by", "7", "--execute"),
		reset("shift-too-far", "1000", "--topic", "tools", "--shift-by", "99999", "--execute"),
		reset("to-offset", "42", "--topic", "tools:0,1", "--to-offset", "42", "--execute"),
		reset("current", "42", "--all-topics", "--to-current", "--execute"),
		reset("latest", "1000", "--all-topics", "--to-latest", "--execute"),
		reset("datetime", "tools", "--topic", "tools", "--to-datetime", "2000-01-01T00:00:00.000", "--execute"),
		reset("duration", "1000", "--topic", "tools", "--by-duration", "PT0S", "--execute"),
		reset("file", "22", "--from-file", plan, "--execute"),
		reset("export", "tools", "--all-topics", "--to-current", "--export", "--dry-run"),
		reset("missing-topic", "", "--topic", "tools-missing", "--to-earliest", "--execute"),
		g("groups-new-reset", "tools", "--reset-offsets", "--group", "tools-new", "--topic", "tools", "--to-latest", "--execute"),
		g("groups-new-describe", "1000", "--describe", "--group", "tools-new"),
		g("groups-reset-describe", "22", "--describe", "--group", group),
		g("groups-delete-offsets", "Successful", "--delete-offsets", "--group", group, "--topic", "tools:5"),
		g("groups-delete-offsets-describe", "11", "--describe", "--group", group),
		g("groups-delete-offsets-missing", "rror", "--delete-offsets", "--group", group, "--topic", "tools-missing"),
		{"offsets-get", "tools:0:1000", offsetsTool, "--topic", "tools"},
		{"offsets-get-earliest", "tools:0:0", offsetsTool, "--topic", "tools", "--time", "-2"},
	})
}

// cleanUp deletes what the play made, which is the last that it tests: the
// other side shall find the Kafka as this one did.
func (p *toolPlay) cleanUp(ctx context.Context) error {
	return p.calls(ctx, [][]string{
		{"groups-delete", "successful", groupsTool, "--delete", "--group", "tools-group", "--group", "tools-new"},
		{"groups-delete-again", "does not exist", groupsTool, "--delete", "--group", "tools-group"},
		{"groups-list-none", "", groupsTool, "--list"},
		{"topics-delete", "", topicsTool, "--delete", "--topic", "tools.*"},
		{"topics-list-none", "", topicsTool, "--list"},
	})
}

var (
	space    = regexp.MustCompile(`[ \t]+`)
	address  = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	uuid     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	topicID  = regexp.MustCompile(`TopicId: \S+`)
	time13   = regexp.MustCompile(`\b1\d{12}\b`)
	planFile = regexp.MustCompile(`\S*/plan\.csv`)
)

// normalise takes out of an output what differs from run to run: addresses,
// generated ids, times, the order of lines and the width of columns.
func normalise(text string) string {
	for _, r := range []struct {
		what *regexp.Regexp
		by   string
	}{{address, "ADDRESS"}, {uuid, "UUID"}, {topicID, "TopicId: ID"}, {time13, "TIME"}, {planFile, "PLAN"}, {space, " "}} {
		text = r.what.ReplaceAllString(text, r.by)
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	// Frames of a stack depend on the machine's compiler; some tools catch
	// the end that Tools.java throws, and print it.
	lines = slices.DeleteFunc(lines, func(l string) bool {
		return l == "" || l == "null" || l == "Tools$Ended" || strings.HasPrefix(l, "at ")
	})
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// toolShell is a JVM that runs tools, see drivers/java/Tools.java.
type toolShell struct {
	proc *realkafka.Process
	in   io.WriteCloser
	out  *bufio.Reader
	read *os.File
}

func startShell(ctx context.Context) (*toolShell, error) {
	root, err := realkafka.RepoDir()
	if err != nil {
		return nil, err
	}
	cache, err := realkafka.CacheDir()
	if err != nil {
		return nil, err
	}
	i := installer{cache: cache, drivers: filepath.Join(root, "interop", "drivers")}
	program, err := i.compile(ctx, "tools", "Tools", "Tools.java")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Stderr = io.Discard // Logging frameworks; what tools print there is captured.
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, childIn.Close(), in.Close())
	}
	cmd.Stdin, cmd.Stdout = childIn, childOut
	proc, err := realkafka.StartProcess(cmd)
	_, _ = childIn.Close(), childOut.Close()
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	return &toolShell{proc, in, bufio.NewReader(out), out}, nil
}

// maxOutput bounds what one tool may print, in bytes.
const maxOutput = 16 << 20

func (s *toolShell) run(ctx context.Context, class string, args ...string) (string, error) {
	if slices.ContainsFunc(args, func(a string) bool { return strings.ContainsAny(a, "\t\n") }) {
		return "", fmt.Errorf("an argument of %q has a tab or a line break", args)
	}
	deadline := time.Now().Add(stepTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := s.read.SetReadDeadline(deadline); err != nil {
		return "", err
	}
	if _, err := io.WriteString(s.in, strings.Join(append([]string{class}, args...), "\t")+"\n"); err != nil {
		return "", err
	}
	head, err := s.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("no answer of %s: %w", class, err)
	}
	var status, size int
	if _, err := fmt.Sscanf(head, "%d %d\n", &status, &size); err != nil || size < 0 || size > maxOutput {
		return "", fmt.Errorf("the tools answer %q", head)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(s.out, text); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s\nexit status %d\n", text, status), nil
}

func (s *toolShell) close() {
	s.proc.Kill()
	_, _ = s.in.Close(), s.read.Close()
}
