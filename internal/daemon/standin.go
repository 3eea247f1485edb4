package daemon

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/coordinatord/coordinatord/gateway"
)

// topicTimeout bounds one request for topics to the stand-in.
const topicTimeout = 10 * time.Second

// StandinConfig says what the in-process Kafka of coordinatord dev has.
type StandinConfig struct {
	Dir               string      // records and topics are kept here
	Brokers           int         // at least 1; ids start at 0
	DefaultPartitions int         // of topics that are created on first use
	Topics            []TopicSpec // created where they are missing, grown where they have fewer partitions
}

// TopicSpec is one topic of --topics.
type TopicSpec struct {
	Name       string
	Partitions int32
}

// Standin is an in-process Kafka on loopback whose records survive the process, also when it is killed: every produce is
// synced before it is acknowledged.
type Standin struct {
	cluster *kfake.Cluster
	client  *kgo.Client
	admin   *kadm.Client
	lock    *os.File
	log     *zap.Logger

	defaultPartitions int32

	mu    sync.Mutex
	known map[string]bool // topics that exist and are on disk
	drops int             // counts DeleteTopics, so that an answer from before one is not remembered
}

// StartStandin opens or creates the stand-in's directory and starts its brokers.
func StartStandin(ctx context.Context, cfg StandinConfig, log *zap.Logger) (*Standin, error) {
	if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("the records' directory cannot be made: %w", err)
	}
	lock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(cfg.Brokers),
		kfake.ClusterID(newClusterID()), // of a new directory; an existing one keeps its own
		kfake.DefaultNumPartitions(cfg.DefaultPartitions),
		kfake.DataDir(cfg.Dir),
		kfake.SyncWrites(),
		kfake.WithLogger(standinLogger{log.Sugar()}),
	)
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("the Kafka stand-in cannot start from %s: %w", cfg.Dir, err)
	}
	s := &Standin{cluster: cluster, lock: lock, log: log, defaultPartitions: int32(cfg.DefaultPartitions), known: make(map[string]bool)}
	if s.client, err = kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...)); err != nil {
		s.Close()
		return nil, fmt.Errorf("the Kafka stand-in has no client: %w", err)
	}
	s.admin = kadm.NewClient(s.client)
	s.watchTopics()
	for _, t := range cfg.Topics {
		if err := s.ensure(ctx, t); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// Addrs returns the brokers' addresses.
func (s *Standin) Addrs() []string { return s.cluster.ListenAddrs() }

// Close saves the stand-in's state and stops it.
func (s *Standin) Close() {
	if s.client != nil {
		s.client.Close()
	}
	s.cluster.Close()
	_ = s.lock.Close()
}

// watchTopics creates topics on first use by way of CreateTopics. The stand-in can do it on Metadata by itself, but then
// keeps the new topic in memory until it is closed cleanly: records that were acknowledged would vanish with a kill.
func (s *Standin) watchTopics() {
	s.cluster.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		s.cluster.KeepControl()
		md, ok := req.(*kmsg.MetadataRequest)
		if !ok || !md.AllowAutoTopicCreation {
			return nil, nil, false
		}
		if missing := s.missing(md); len(missing) > 0 {
			s.cluster.SleepControl(func() { s.create(missing) })
		}
		return nil, nil, false
	})
	s.cluster.ControlKey(int16(kmsg.DeleteTopics), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.cluster.KeepControl()
		s.mu.Lock()
		defer s.mu.Unlock()
		clear(s.known)
		s.drops++
		return nil, nil, false
	})
}

func (s *Standin) missing(md *kmsg.MetadataRequest) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, t := range md.Topics {
		if t.Topic != nil && !s.known[*t.Topic] && gateway.LegalTopic(*t.Topic) {
			names = append(names, *t.Topic)
		}
	}
	return names
}

func (s *Standin) create(names []string) {
	ctx, cancel := context.WithTimeout(s.client.Context(), topicTimeout)
	defer cancel()
	s.mu.Lock()
	drops := s.drops
	s.mu.Unlock()
	resps, err := s.admin.CreateTopics(ctx, s.defaultPartitions, -1, nil, names...)
	if err != nil {
		s.log.Warn("topics cannot be created on first use", zap.Strings("topics", names), zap.Error(err))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range resps {
		switch {
		case r.Err == nil:
			s.log.Info("topic created on first use", zap.String("topic", r.Topic), zap.Int32("partitions", r.NumPartitions))
		case errors.Is(r.Err, kerr.TopicAlreadyExists):
		default:
			s.log.Warn("topic cannot be created on first use", zap.String("topic", r.Topic), zap.Error(r.Err))
			continue
		}
		if drops == s.drops {
			s.known[r.Topic] = true
		}
	}
}

func (s *Standin) ensure(ctx context.Context, t TopicSpec) error {
	ctx, cancel := context.WithTimeout(ctx, topicTimeout)
	defer cancel()
	resp, err := s.admin.CreateTopic(ctx, t.Partitions, -1, nil, t.Name)
	if err == nil {
		s.log.Info("topic created", zap.String("topic", t.Name), zap.Int32("partitions", resp.NumPartitions))
		return nil
	}
	if !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("--topics: topic %q cannot be created: %w", t.Name, err)
	}
	details, err := s.admin.ListTopics(ctx, t.Name)
	if err != nil {
		return fmt.Errorf("--topics: topic %q cannot be looked up: %w", t.Name, err)
	}
	have := int32(len(details[t.Name].Partitions))
	switch {
	case have == t.Partitions:
		return nil
	case have > t.Partitions:
		s.log.Warn("the topic keeps its partitions: Kafka cannot take any away",
			zap.String("topic", t.Name), zap.Int32("partitions", have), zap.Int32("asked", t.Partitions))
		return nil
	}
	grown, err := s.admin.UpdatePartitions(ctx, int(t.Partitions), t.Name)
	if err == nil {
		err = grown.Error()
	}
	if err != nil {
		return fmt.Errorf("--topics: topic %q cannot grow from %d to %d partitions: %w", t.Name, have, t.Partitions, err)
	}
	s.log.Info("topic grown", zap.String("topic", t.Name), zap.Int32("from", have), zap.Int32("partitions", t.Partitions))
	return nil
}

// lockDir takes the directory for this process; the lock ends with the process, however that ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the records' directory cannot be locked: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("the directory %s is in use by another coordinatord", dir)
		}
		return nil, fmt.Errorf("the directory %s cannot be locked: %w", dir, err)
	}
	return f, nil
}

// newClusterID returns an id in Kafka's form: 16 random bytes in URL-safe base64.
func newClusterID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// standinLogger puts the stand-in's lines among the daemon's; its informational ones are of interest to its own authors.
type standinLogger struct{ log *zap.SugaredLogger }

func (l standinLogger) Logf(level kfake.LogLevel, format string, args ...any) {
	switch level {
	case kfake.LogLevelError:
		l.log.Errorf(format, args...)
	case kfake.LogLevelWarn:
		l.log.Warnf(format, args...)
	case kfake.LogLevelNone, kfake.LogLevelInfo, kfake.LogLevelDebug:
		l.log.Debugf(format, args...)
	}
}
