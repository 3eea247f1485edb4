package suite

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coordinatord/coordinatord/internal/realkafka"
)

// A Client is one client library with one way of using it.
type Client struct {
	Name    string
	Variant string
	// Static is whether it can be a static member.
	Static bool
	// Leaves is whether a dynamic member that is closed leaves the group at
	// once; Kafka Streams lets its session run out instead.
	Leaves bool
	// Even is whether its assignor divides partitions evenly at once; that
	// of Kafka Streams moves tasks to where their state is.
	Even bool
	// Counts is whether it writes counts by key to the topic <topic>-counts.
	Counts bool
	// Drops is how many records a member may drop when it is closed, though
	// it commits them: kcat throws away the record that it is given after
	// SIGTERM.
	Drops int
	// Stale is whether a member may read again what it has committed:
	// kafka-go fetches its offsets for a new generation first, and commits
	// what it had read before under that generation afterwards.
	Stale bool
	// program is what runs it; filled by Install.
	program []string
	env     []string
	kcat    bool
}

// Clients are all clients of the suite, by name.
func Clients() []*Client {
	plain := func(name, variant string, static bool) *Client {
		return &Client{Name: name, Variant: variant, Static: static, Leaves: true, Even: true}
	}
	streams := plain("kafka-streams-4.4", "", true)
	streams.Leaves, streams.Even, streams.Counts = false, false, true
	kcat := plain("kcat", "", true)
	kcat.kcat, kcat.Drops = true, 1
	kafkago := plain("kafka-go", "", false)
	kafkago.Stale = true
	return []*Client{
		plain("java-4.4", "", true),
		plain("java-3.9", "", true),
		streams,
		kcat,
		plain("confluent-kafka", "", true),
		plain("kafka-python", "", true),
		plain("aiokafka", "", true),
		plain("kafkajs", "", false),
		plain("franz-go", "", true),
		plain("sarama", "", true),
		plain("sarama-0.11", "0.11", false),
		kafkago,
	}
}

// Variants are further ways of using some of the clients, for the whole run.
func Variants() []*Client {
	variant := func(name, variant string) *Client {
		return &Client{Name: name + "-" + variant, Variant: variant, Static: true, Leaves: true, Even: true}
	}
	return []*Client{
		variant("java-4.4", "cooperative"),
		variant("confluent-kafka", "cooperative"),
		variant("franz-go", "eager"),
	}
}

// Command is the command that runs the client as a member of a group.
func (c *Client) Command(bootstrap, topic, group, name, instance string) *exec.Cmd {
	var cmd *exec.Cmd
	if c.kcat {
		args := []string{
			"-b", bootstrap, "-G", group, "-u", "-E",
			"-f", `{"event":"record","topic":"%t","partition":%p,"offset":%o,"keylen":%K,"key":"%k"}\n`,
			"-X", "client.id=" + name, "-X", "auto.offset.reset=earliest", "-X", "auto.commit.interval.ms=100",
			"-X", "heartbeat.interval.ms=500",
		}
		if instance != "" {
			args = append(args, "-X", "group.instance.id="+instance, "-X", "session.timeout.ms=30000")
		} else {
			args = append(args, "-X", "session.timeout.ms=6000")
		}
		cmd = exec.Command(c.program[0], append(args, topic)...)
	} else {
		args := append(slices.Clone(c.program[1:]),
			"--bootstrap", bootstrap, "--topic", topic, "--group", group, "--member", name)
		if instance != "" {
			args = append(args, "--instance", instance)
		}
		if c.Variant != "" {
			args = append(args, "--variant", c.Variant)
		}
		cmd = exec.Command(c.program[0], args...)
	}
	cmd.Env = append(os.Environ(), c.env...)
	return cmd
}

//go:embed kafka-clients-3.9.xml
var clients39 []byte

// Install fetches and builds what the clients need, in the repository's .cache
// directory, and fills in how each is run. It says at once which programs are
// missing.
func Install(ctx context.Context, clients []*Client) error {
	root, err := realkafka.RepoDir()
	if err != nil {
		return err
	}
	i := installer{drivers: filepath.Join(root, "interop", "drivers")}
	if i.cache, err = realkafka.CacheDir(); err != nil {
		return err
	}
	var missing []string
	for _, c := range clients {
		for _, p := range needs(c.Name) {
			if _, err := exec.LookPath(p.program); err != nil && !slices.Contains(missing, p.String()) {
				missing = append(missing, p.String())
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("these programs are missing: %s; leave clients out with --clients", strings.Join(missing, ", "))
	}
	for _, c := range clients {
		if err := i.install(ctx, c); err != nil {
			return fmt.Errorf("install %s: %w", c.Name, err)
		}
	}
	return nil
}

// A program on PATH and the Debian package that has it.
type program struct{ program, debian string }

func (p program) String() string { return p.program + " (Debian: " + p.debian + ")" }

func needs(client string) []program {
	switch {
	case strings.HasPrefix(client, "java"), strings.HasPrefix(client, "kafka-streams"):
		return []program{{"java", "openjdk-17-jdk-headless"}, {"javac", "openjdk-17-jdk-headless"}, {"mvn", "maven"}}
	case client == "kcat":
		return []program{{"kcat", "kcat"}}
	case client == "kafkajs":
		return []program{{"node", "nodejs"}, {"npm", "npm"}}
	case strings.HasPrefix(client, "confluent-kafka"), client == "kafka-python", client == "aiokafka":
		return []program{{"python3", "python3-venv"}}
	}
	return nil
}

type installer struct{ cache, drivers string }

func (i installer) install(ctx context.Context, c *Client) error {
	switch base := strings.TrimSuffix(c.Name, "-"+c.Variant); base {
	case "java-4.4", "java-3.9", "kafka-streams-4.4":
		return i.java(ctx, c, base)
	case "kcat":
		c.program = []string{"kcat"}
		return nil
	case "confluent-kafka":
		return i.python(ctx, c, "confluent.py")
	case "kafka-python":
		return i.python(ctx, c, "kafkapython.py")
	case "aiokafka":
		return i.python(ctx, c, "aio.py")
	case "kafkajs":
		return i.node(ctx, c)
	case "franz-go":
		return i.golang(ctx, c, "franz")
	case "sarama":
		return i.golang(ctx, c, "sarama")
	case "kafka-go":
		return i.golang(ctx, c, "kafkago")
	}
	return fmt.Errorf("no client is named so")
}

func (i installer) java(ctx context.Context, c *Client, base string) (err error) {
	class := "Member"
	if base == "kafka-streams-4.4" {
		class = "Count"
	}
	c.program, err = i.compile(ctx, base, class, "Lines.java", class+".java")
	return err
}

// compile compiles sources against the jars of Kafka and returns the command
// that runs a class of them.
func (i installer) compile(ctx context.Context, name, class string, sources ...string) ([]string, error) {
	libs, err := realkafka.Install(ctx)
	if name == "java-3.9" {
		libs, err = realkafka.InstallMaven(ctx, "kafka-clients-3.9", clients39)
	}
	if err != nil {
		return nil, err
	}
	var stamp strings.Builder
	for n, s := range sources {
		sources[n] = filepath.Join(i.drivers, "java", s)
		text, err := os.ReadFile(sources[n])
		if err != nil {
			return nil, err
		}
		stamp.Write(text)
	}
	classes := filepath.Join(i.cache, "interop", name)
	err = realkafka.Once(ctx, classes, stamp.String(), func() error {
		return run(exec.CommandContext(ctx, "javac", append([]string{"-nowarn", "-d", classes, "-cp", libs + "/*"}, sources...)...))
	})
	// The serial collector and one compiler: the suite starts many of these
	// on few cores.
	return []string{"java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classes + ":" + libs + "/*", class}, err
}

func (i installer) python(ctx context.Context, c *Client, script string) error {
	python, err := Venv(ctx)
	if err != nil {
		return err
	}
	c.program = []string{python, filepath.Join(i.drivers, "python", script)}
	c.env = []string{"PYTHONDONTWRITEBYTECODE=1"}
	return nil
}

// Venv is the interpreter of a Python environment with the packages of
// drivers/python/requirements.txt, made at the first call.
func Venv(ctx context.Context) (string, error) {
	root, err := realkafka.RepoDir()
	if err != nil {
		return "", err
	}
	cache, err := realkafka.CacheDir()
	if err != nil {
		return "", err
	}
	list := filepath.Join(root, "interop", "drivers", "python", "requirements.txt")
	text, err := os.ReadFile(list)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "interop", "python")
	return filepath.Join(dir, "venv", "bin", "python"), realkafka.Once(ctx, dir, string(text), func() error {
		if err := run(exec.CommandContext(ctx, "python3", "-m", "venv", "--clear", filepath.Join(dir, "venv"))); err != nil {
			return err
		}
		return run(exec.CommandContext(ctx, filepath.Join(dir, "venv", "bin", "pip"), "install", "-q", "--disable-pip-version-check", "-r", list))
	})
}

func (i installer) node(ctx context.Context, c *Client) error {
	source := filepath.Join(i.drivers, "node")
	dir := filepath.Join(i.cache, "interop", "node")
	lock, err := os.ReadFile(filepath.Join(source, "package-lock.json"))
	if err != nil {
		return err
	}
	err = realkafka.Once(ctx, dir, string(lock), func() error {
		for _, f := range []string{"package.json", "package-lock.json"} {
			text, err := os.ReadFile(filepath.Join(source, f))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, f), text, 0o644); err != nil {
				return err
			}
		}
		cmd := exec.CommandContext(ctx, "npm", "ci", "--silent", "--no-audit", "--no-fund")
		cmd.Dir = dir
		return run(cmd)
	})
	c.program = []string{"node", filepath.Join(source, "kafkajs.js")}
	c.env = []string{"INTEROP_NODE=" + dir}
	return err
}

func (i installer) golang(ctx context.Context, c *Client, name string) error {
	out := filepath.Join(i.cache, "interop", "go", name)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, "./"+name)
	cmd.Dir = i.drivers
	c.program = []string{out}
	return run(cmd)
}

// run runs a command; the error has what it printed.
func run(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, strings.TrimSpace(string(out)))
	}
	return nil
}
