package realkafka

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// startTimeout bounds the start of a cluster when the caller's context does
// not: a cold start takes about 8 s, on a busy machine several times that.
const startTimeout = 3 * time.Minute

//go:embed log4j2.properties
var log4j []byte

// Options says what to start. The zero value is one broker with id 1.
type Options struct {
	// Brokers is how many brokers, each also a controller: 1 (the default)
	// or more. Internal topics are replicated min(3, Brokers) times.
	Brokers int
	// FirstID is the id of the first broker, 1 by default; the others follow.
	FirstID int
	// Properties are added to every broker's server.properties, over the
	// defaults of this package.
	Properties map[string]string
	// Heap is the JVM's -Xmx; "1g" by default.
	Heap string
	// Dir holds configuration, logs and data; a new temporary directory,
	// which Close removes, by default. A directory of an earlier cluster
	// with the same options is continued, on new ports.
	Dir string
	// Log gets what the brokers print; nil drops it. Each broker's output
	// is also in Dir/<id>/console.log.
	Log io.Writer
	// LogLevel is log4j's level, "warn" by default.
	LogLevel string
	// SASL, if set, makes clients authenticate.
	SASL *SASL
	// Listeners are further plaintext listeners of a single broker.
	Listeners []Listener
}

// Listener is a listener whose clients are told another address: that of something that stands before the broker.
type Listener struct {
	Name       string
	Addr       string // host:port where the broker listens
	Advertised string // host:port that clients are told
}

// SASL turns the listener of the clients into SASL_PLAINTEXT with the
// mechanisms PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512.
type SASL struct {
	// Users maps names to passwords, for all mechanisms. Every one of them
	// may do everything: there is no authorizer.
	Users map[string]string
}

// Cluster is a running Apache Kafka.
type Cluster struct {
	id      string
	dir     string
	ownDir  bool
	ports   *Ports
	brokers []*Broker
	close   sync.Once
	err     error
}

// Start installs Kafka if need be, starts it and returns once every broker
// answers ApiVersions and knows all the others. On error nothing is left
// running. The context bounds the start only.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	libs, err := Install(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	o.Brokers = max(o.Brokers, 1)
	if o.FirstID == 0 {
		o.FirstID = 1
	}
	if o.FirstID < 0 {
		return nil, fmt.Errorf("realkafka: FirstID %d is negative", o.FirstID)
	}
	c := &Cluster{dir: o.Dir}
	if o.Dir == "" {
		if c.dir, err = os.MkdirTemp("", "realkafka-"); err != nil {
			return nil, fmt.Errorf("realkafka: %w", err)
		}
		c.ownDir = true
	}
	if err := c.start(ctx, libs, o); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, libs string, o Options) error {
	if err := c.identify(); err != nil {
		return err
	}
	var err error
	if c.ports, err = ReservePorts(3 * o.Brokers); err != nil {
		return err
	}
	port := func(i, kind int) string {
		return net127(c.ports.Numbers[kind*o.Brokers+i])
	}
	var voters []string
	for i := range o.Brokers {
		voters = append(voters, fmt.Sprintf("%d@%s", o.FirstID+i, port(i, 2)))
	}
	for i := range o.Brokers {
		b := &Broker{
			ID: o.FirstID + i, Addr: port(i, 0), inner: port(i, 1), of: o.Brokers,
			libs: libs, dir: filepath.Join(c.dir, strconv.Itoa(o.FirstID+i)),
			heap: o.Heap, level: o.LogLevel, log: discardIfNil(o.Log),
		}
		if b.heap == "" {
			b.heap = "1g"
		}
		if b.level == "" {
			b.level = "warn"
		}
		if err := b.configure(c.properties(o, b, voters, port(i, 2))); err != nil {
			return err
		}
		c.brokers = append(c.brokers, b)
	}
	if err := c.each(func(b *Broker) error { return b.format(ctx, c.id, o.SASL) }); err != nil {
		return err
	}
	// All of them before any is awaited: a quorum needs a majority.
	for _, b := range c.brokers {
		if err := b.launch(); err != nil {
			return err
		}
	}
	return c.each(func(b *Broker) error { return b.await(ctx, b.of) })
}

// identify reads the cluster id from an earlier start or draws a new one.
func (c *Cluster) identify() error {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return fmt.Errorf("realkafka: %w", err)
	}
	file := filepath.Join(c.dir, "cluster.id")
	if old, err := os.ReadFile(file); err == nil {
		c.id = strings.TrimSpace(string(old))
		return nil
	}
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // Never fails (crypto/rand).
	raw[0] &= 0x7f           // No leading '-', which would look like a flag.
	c.id = base64.RawURLEncoding.EncodeToString(raw[:])
	return os.WriteFile(file, []byte(c.id), 0o644)
}

func (c *Cluster) properties(o Options, b *Broker, voters []string, controller string) map[string]string {
	replicas := strconv.Itoa(min(3, o.Brokers))
	minISR := strconv.Itoa(min(2, o.Brokers))
	p := map[string]string{
		"process.roles":                  "broker,controller",
		"node.id":                        strconv.Itoa(b.ID),
		"controller.quorum.voters":       strings.Join(voters, ","),
		"controller.listener.names":      "CONTROLLER",
		"inter.broker.listener.name":     "INTERNAL",
		"listeners":                      "CLIENT://" + b.Addr + ",INTERNAL://" + b.inner + ",CONTROLLER://" + controller,
		"advertised.listeners":           "CLIENT://" + b.Addr + ",INTERNAL://" + b.inner,
		"listener.security.protocol.map": "CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs":                       filepath.Join(b.dir, "data"),

		"default.replication.factor":                       replicas,
		"offsets.topic.replication.factor":                 replicas,
		"transaction.state.log.replication.factor":         replicas,
		"transaction.state.log.min.isr":                    minISR,
		"share.coordinator.state.topic.replication.factor": replicas,
		"share.coordinator.state.topic.min.isr":            minISR,
		"min.insync.replicas":                              minISR,

		// Makes both sides of a comparison comparable, and tests quick.
		"group.initial.rebalance.delay.ms": "0",
	}
	if o.SASL != nil {
		p["listener.security.protocol.map"] = "CLIENT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
		p["sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
		var plain strings.Builder
		plain.WriteString("org.apache.kafka.common.security.plain.PlainLoginModule required")
		for _, user := range slices.Sorted(maps.Keys(o.SASL.Users)) {
			fmt.Fprintf(&plain, " user_%s=%q", user, o.SASL.Users[user])
		}
		plain.WriteString(";")
		p["listener.name.client.plain.sasl.jaas.config"] = plain.String()
		for _, m := range []string{"256", "512"} {
			p["listener.name.client.scram-sha-"+m+".sasl.jaas.config"] = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
		}
	}
	for _, l := range o.Listeners {
		p["listeners"] += "," + l.Name + "://" + l.Addr
		p["advertised.listeners"] += "," + l.Name + "://" + l.Advertised
		p["listener.security.protocol.map"] += "," + l.Name + ":PLAINTEXT"
	}
	maps.Copy(p, o.Properties)
	return p
}

// Bootstrap is the bootstrap.servers string of all brokers.
func (c *Cluster) Bootstrap() string {
	var addrs []string
	for _, b := range c.brokers {
		addrs = append(addrs, b.Addr)
	}
	return strings.Join(addrs, ",")
}

// ID is the cluster.id.
func (c *Cluster) ID() string { return c.id }

// Dir is the directory of configuration, logs and data.
func (c *Cluster) Dir() string { return c.dir }

// Brokers are all brokers in the order of their ids, running or not.
func (c *Cluster) Brokers() []*Broker { return c.brokers }

// Broker is the broker with an id, nil if there is none.
func (c *Cluster) Broker(id int) *Broker {
	for _, b := range c.brokers {
		if b.ID == id {
			return b
		}
	}
	return nil
}

// Close kills every broker, waits for their ends, and removes the directory if
// Start made it. It may be called more than once.
func (c *Cluster) Close() error {
	c.close.Do(func() {
		for _, b := range c.brokers {
			b.Kill()
		}
		if c.ports != nil {
			c.ports.Release()
		}
		if c.ownDir {
			c.err = os.RemoveAll(c.dir)
		}
	})
	return c.err
}

// each runs f for all brokers at once and joins the errors.
func (c *Cluster) each(f func(*Broker) error) error {
	errs := make([]error, len(c.brokers))
	var wg sync.WaitGroup
	for i, b := range c.brokers {
		wg.Go(func() { errs[i] = f(b) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func net127(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }
