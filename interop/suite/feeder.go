package suite

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// Partitions is how many partitions the topics of the suite have.
	Partitions = 6
	prefill    = 1000 // Records by partition before the members start.
	keys       = 16   // How many keys each partition has; one record in 50 has none.
	burst      = 5    // Records by partition and tick.
	tick       = 50 * time.Millisecond
)

// A feeder produces to one topic, through the target as the consumers do.
type feeder struct {
	client *kgo.Client
	topic  string
	n      int64 // Records produced to each partition.

	mu   sync.Mutex
	err  error // The first failure.
	stop context.CancelFunc
	done chan struct{}
}

func newFeeder(bootstrap, topic string) (*feeder, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.ClientID("feeder-"+topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(5*time.Millisecond),
		// Some clients need further packages for any compression.
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MetadataMinAge(100*time.Millisecond),
		// On a busy machine a new topic takes its time to be known everywhere.
		kgo.UnknownTopicRetries(-1),
		kgo.MaxBufferedRecords(100_000),
	)
	if err != nil {
		return nil, err
	}
	return &feeder{client: client, topic: topic}, nil
}

// feed produces n records to every partition and does not wait for them.
func (f *feeder) feed(n int64) {
	for range n {
		for p := range int32(Partitions) {
			r := &kgo.Record{Topic: f.topic, Partition: p, Key: key(p, f.n), Value: strconv.AppendInt(nil, f.n, 10)}
			f.client.Produce(context.Background(), r, func(_ *kgo.Record, err error) {
				if err != nil {
					f.mu.Lock()
					defer f.mu.Unlock()
					if f.err == nil {
						f.err = fmt.Errorf("produce: %w", err)
					}
				}
			})
		}
		f.n++
	}
}

// flush waits until what was produced is acknowledged.
func (f *feeder) flush(ctx context.Context) error {
	if err := f.client.Flush(ctx); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// run goes on producing in the background until halt.
func (f *feeder) run() {
	ctx, stop := context.WithCancel(context.Background())
	f.stop, f.done = stop, make(chan struct{})
	go func() {
		defer close(f.done)
		t := time.NewTicker(tick)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				f.feed(burst)
			}
		}
	}()
}

// halt ends run and waits until all is acknowledged.
func (f *feeder) halt(ctx context.Context) error {
	if f.stop != nil {
		f.stop()
		<-f.done
		f.stop = nil
	}
	return f.flush(ctx)
}

func (f *feeder) close() {
	if f.stop != nil {
		f.stop()
		<-f.done
	}
	f.client.Close()
}

// key is the key of the nth record of a partition, nil for one in 50. A key is
// in one partition only, as with every keyed topic.
func key(partition int32, n int64) []byte {
	if n%50 == 49 {
		return nil
	}
	return fmt.Appendf(nil, "k%d-%d", partition, n%keys)
}

// counts is how many records of each key there are.
func (f *feeder) counts() map[string]int64 {
	out := map[string]int64{}
	for n := range f.n {
		for p := range int32(Partitions) {
			if k := key(p, n); k != nil {
				out[string(k)]++
			}
		}
	}
	return out
}
