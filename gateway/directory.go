package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"
)

var (
	// ErrNoPort says that a broker id has no port in the configured range.
	ErrNoPort = errors.New("the broker id is outside the configured port range")
	// ErrUnknownBroker says that Kafka has not named the broker yet.
	ErrUnknownBroker = errors.New("the broker is not known")
)

const (
	defaultRefresh = 30 * time.Second
	defaultHold    = 5 * time.Second
	// failedFor is how long an address that could not be dialled is passed over for bootstrap connections.
	failedFor = 10 * time.Second
)

// DirectoryConfig configures a Directory.
type DirectoryConfig struct {
	// Seeds are the addresses (host:port) of real brokers to begin with. At least one.
	Seeds []string
	// Ports says what clients are told.
	Ports Ports
	// LeaderHints passes Fetch above version 15 (KIP-951), whose answers must then be buffered and searched for addresses.
	LeaderHints bool
	// KeyRangeVersion is the highest keyrange.version that ApiVersions offers; 0 offers none.
	KeyRangeVersion int16
	// Security is for the daemon's own client.
	Security Security
	// Refresh is the pause between looks at the cluster; 0 means 30 s. Failed dials and changes that are seen in
	// answers lead to a look at once.
	Refresh time.Duration
	// Hold is how long Wait waits for a broker to become known; 0 means 5 s.
	Hold time.Duration
	// OnChange is called after a look at which the brokers, what they support or the topics had changed, on the
	// directory's own goroutine; that is the moment to keep a Snapshot. May be nil.
	OnChange func()
}

func (c *DirectoryConfig) validate() error {
	if len(c.Seeds) == 0 {
		return errors.New("no address of a Kafka broker is given")
	}
	for _, seed := range c.Seeds {
		host, port, err := net.SplitHostPort(seed)
		if err != nil {
			return fmt.Errorf("the Kafka broker address %q is not host:port", seed)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" {
			return fmt.Errorf("the Kafka broker address %q is not host:port", seed)
		}
	}
	if err := c.Ports.Validate(); err != nil {
		return err
	}
	if c.Refresh < 0 || c.Hold < 0 {
		return errors.New("the refresh interval and the hold time must not be negative")
	}
	if c.Refresh == 0 {
		c.Refresh = defaultRefresh
	}
	if c.Hold == 0 {
		c.Hold = defaultHold
	}
	return nil
}

// Directory knows the real cluster: its brokers, what they support and its topics. It looks by itself and outlives Kafka's
// absence: what was known last stays. All methods are safe for concurrent use.
type Directory struct {
	cfg    DirectoryConfig
	log    *zap.Logger
	client *kgo.Client
	table  atomic.Pointer[Table]
	kick   chan struct{} // capacity 1: a look is wanted soon

	versions versionCache
	topics   topicCache
	asked    map[int32]string // brokers that said what they support, and where; only run uses it

	mu       sync.Mutex
	news     chan struct{}        // closed and replaced whenever a look has ended
	seen     bool                 // Kafka itself has answered since the start
	lastErr  error                // of the latest look
	failed   map[string]time.Time // addresses that could not be dialled, and when
	next     int                  // rotates Bootstrap
	said     map[any]time.Time    // what sometimes was called with, and when it last was true
	cancel   context.CancelFunc
	started  bool
	stopped  chan struct{}   // closed when the looking has ended
	shutdown context.Context // done when Close has been called
}

// NewDirectory returns a directory that knows nothing yet. It dials nothing before Start.
func NewDirectory(cfg DirectoryConfig, log *zap.Logger) (*Directory, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	client, err := newClient(cfg.Seeds, cfg.Security, log)
	if err != nil {
		return nil, err
	}
	d := &Directory{
		cfg: cfg, log: log, client: client,
		kick: make(chan struct{}, 1), news: make(chan struct{}),
		failed: map[string]time.Time{}, said: map[any]time.Time{}, asked: map[int32]string{},
		stopped: make(chan struct{}),
	}
	d.shutdown, d.cancel = context.WithCancel(context.Background())
	d.table.Store(&Table{ports: cfg.Ports})
	d.topics.init(d)
	return d, nil
}

// Start begins to look at the cluster, once, until ctx ends or Close is called. It does not wait for an answer; see Cluster.
func (d *Directory) Start(ctx context.Context) {
	d.mu.Lock()
	d.started = true
	d.mu.Unlock()
	stop := context.AfterFunc(ctx, d.cancel)
	go func() {
		defer close(d.stopped)
		defer stop()
		d.run(d.shutdown)
	}()
}

// Close stops the directory and its client, and fails what waits for an answer.
func (d *Directory) Close() {
	d.cancel()
	d.mu.Lock()
	started := d.started
	d.mu.Unlock()
	if started {
		<-d.stopped
	}
	d.topics.close()
	d.client.Close()
}

// Client returns the daemon's own client for Kafka, for questions that the directory does not answer.
func (d *Directory) Client() *kgo.Client { return d.client }

// Table returns the brokers as they are known now; never nil.
func (d *Directory) Table() *Table { return d.table.Load() }

// Cluster waits until Kafka itself has answered since the start, and returns its cluster.id. A cluster other than the one
// that was restored is an error at once. When ctx ends first, the error says what went wrong last.
func (d *Directory) Cluster(ctx context.Context) (clusterID string, err error) {
	for {
		d.mu.Lock()
		seen, last, news := d.seen, d.lastErr, d.news
		d.mu.Unlock()
		if seen {
			return d.Table().ClusterID(), nil
		}
		if mismatch := (*ClusterMismatchError)(nil); errors.As(last, &mismatch) {
			return "", mismatch
		}
		select {
		case <-news:
		case <-ctx.Done():
			if last == nil {
				last = ctx.Err()
			}
			return "", fmt.Errorf("no answer from Kafka: %w", last)
		}
	}
}

// Err returns why the latest look at the cluster failed; nil when it did not.
func (d *Directory) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lastErr
}

// Wait returns the real address of a broker. A broker that has never been seen is waited for, at most for the configured
// hold time: after a restart clients come straight to the broker ports, before the first look has ended.
func (d *Directory) Wait(ctx context.Context, id int32) (addr string, err error) {
	if _, ok := d.cfg.Ports.Port(id); !ok {
		return "", fmt.Errorf("broker %d: %w", id, ErrNoPort)
	}
	if addr, ok := d.Table().Upstream(id); ok {
		return addr, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Hold)
	defer cancel()
	d.refreshSoon()
	for {
		d.mu.Lock()
		news := d.news
		d.mu.Unlock()
		if addr, ok := d.Table().Upstream(id); ok {
			return addr, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return "", fmt.Errorf("broker %d: %w", id, ErrUnknownBroker)
		case <-d.shutdown.Done():
			return "", fmt.Errorf("broker %d: %w", id, ErrUnknownBroker)
		}
	}
}

// Bootstrap returns a real address for a connection of the bootstrap port. The live brokers take turns, then the seeds;
// addresses that failed in the last seconds come last, the one that failed longest ago first among them.
func (d *Directory) Bootstrap(context.Context) (addr string, err error) {
	table := d.Table()
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next++
	var oldest string
	var oldestAt time.Time
	try := func(addr string) bool {
		at, failed := d.failed[addr]
		if !failed || now.Sub(at) >= failedFor {
			delete(d.failed, addr)
			return true
		}
		if oldest == "" || at.Before(oldestAt) {
			oldest, oldestAt = addr, at
		}
		return false
	}
	ids := table.IDs()
	for i := range ids {
		if b := table.brokers[ids[(d.next+i)%len(ids)]]; try(b.addr) {
			return b.addr, nil
		}
	}
	for i := range d.cfg.Seeds {
		if seed := d.cfg.Seeds[(d.next+i)%len(d.cfg.Seeds)]; try(seed) {
			return seed, nil
		}
	}
	return oldest, nil
}

// Failed notes that an address could not be dialled, and looks at the cluster soon.
func (d *Directory) Failed(addr string) {
	now := time.Now()
	d.mu.Lock()
	if len(d.failed) >= 4096 { // Only addresses out of the table or the seeds come here, so this is a safety net.
		clear(d.failed)
	}
	d.failed[addr] = now
	d.mu.Unlock()
	d.refreshSoon()
}

func (d *Directory) refreshSoon() {
	select {
	case d.kick <- struct{}{}:
	default: // A look is wanted already.
	}
}
