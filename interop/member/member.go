// Package member is what the Go drivers of the interop suite share: the
// arguments they take and the lines they print. README.md states the contract
// for the drivers of every language.
package member

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// What every driver asks of its client, so that steps take as long with each.
const (
	session = 6 * time.Second // session.timeout.ms, the smallest that Kafka takes by default.
	// A static member is started again within its session, also on a busy machine.
	staticSession = 30 * time.Second
	Heartbeat     = 500 * time.Millisecond
	Rebalance     = 10 * time.Second
	CommitEvery   = 100 * time.Millisecond
	MaxPoll       = 100 // Records.
)

// Args are the arguments of a driver.
type Args struct {
	Bootstrap []string
	Topic     string
	Group     string
	Member    string // Becomes the client.id.
	Instance  string // group.instance.id; empty for a dynamic member.
	Variant   string // What the driver does otherwise; empty by default.
}

// Session is the session.timeout.ms of the member.
func (a Args) Session() time.Duration {
	if a.Instance != "" {
		return staticSession
	}
	return session
}

// Parse reads the arguments of the process; it ends it when they are wrong.
func Parse() Args {
	var a Args
	bootstrap := flag.String("bootstrap", "", "bootstrap.servers")
	flag.StringVar(&a.Topic, "topic", "", "the topic to consume")
	flag.StringVar(&a.Group, "group", "", "the group to join")
	flag.StringVar(&a.Member, "member", "", "the name of this member, its client.id")
	flag.StringVar(&a.Instance, "instance", "", "group.instance.id, for static membership")
	flag.StringVar(&a.Variant, "variant", "", "a variant of this driver")
	flag.Parse()
	a.Bootstrap = strings.Split(*bootstrap, ",")
	if *bootstrap == "" || a.Topic == "" || a.Group == "" || a.Member == "" {
		flag.Usage()
		os.Exit(2)
	}
	return a
}

// Context ends on SIGTERM or an interrupt.
func Context() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// Run runs a driver: it exits 0 when f returns nil or that its context ended,
// otherwise 1 with the error on standard error.
func Run(f func(context.Context, Args) error) {
	args := Parse()
	ctx, cancel := Context()
	err := f(ctx, args)
	cancel()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Line is one line that a driver prints.
type Line struct {
	// Time is when it happened, in microseconds since 1970; 0 if the client
	// cannot say, then the time of reading counts.
	Time       int64           `json:"t,omitempty"`
	Event      string          `json:"event"` // record, assigned, revoked, committed.
	Topic      string          `json:"topic,omitempty"`
	Partition  int32           `json:"partition"`
	Offset     int64           `json:"offset"`
	Key        *string         `json:"key"`
	Partitions []int32         `json:"partitions,omitempty"` // Of assigned and revoked.
	Offsets    map[int32]int64 `json:"offsets,omitempty"`    // Of committed: the next offset by partition.
}

var mu sync.Mutex

func emit(line Line) {
	line.Time = time.Now().UnixMicro()
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // No field of a Line can fail.
	}
	mu.Lock()
	defer mu.Unlock()
	// A reader that went away ends the process by SIGPIPE.
	_, _ = os.Stdout.Write(append(text, '\n'))
}

// Record prints a record that the application was given.
func Record(topic string, partition int32, offset int64, key []byte) {
	line := Line{Event: "record", Topic: topic, Partition: partition, Offset: offset}
	if key != nil {
		k := string(key)
		line.Key = &k
	}
	emit(line)
}

// Assigned prints partitions that the member was given.
func Assigned(partitions []int32) { emit(Line{Event: "assigned", Partitions: partitions}) }

// Revoked prints partitions that the member gave up or lost.
func Revoked(partitions []int32) { emit(Line{Event: "revoked", Partitions: partitions}) }

// Committed prints offsets whose commit was acknowledged.
func Committed(offsets map[int32]int64) {
	if len(offsets) > 0 {
		emit(Line{Event: "committed", Offsets: offsets})
	}
}
