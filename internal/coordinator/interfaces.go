package coordinator

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
)

// Log is the replicated log, as the loop needs it; raftstore.Store has this shape (Ref is uint64 there too).
type Log interface {
	Propose(ref uint64, cmd []byte) error
	Confirm(done func(err error))
}

// Clock is the loop's only source of time.
type Clock interface {
	Now() time.Time
	NewTimer(d time.Duration) (fired <-chan time.Time, stop func() bool)
}

// Topic is what Kafka says of a topic.
type Topic struct {
	Name       string
	ID         group.TopicID
	Partitions int32
}

// Topics answers whether topics exist. Package gateway's directory implements it.
type Topics interface {
	// ByName and ByID look into the cache only and never block.
	ByName(name string) (Topic, bool)
	ByID(id group.TopicID) (Topic, bool)
	// Ask asks Kafka for names and ids that the cache lacks and fills the cache with those that exist. An error means that
	// Kafka could not be asked, which says nothing about the topics.
	Ask(ctx context.Context, names []string, ids []group.TopicID) error
	// Gone asks Kafka, at up to two different brokers, whether the id is unknown: true only if every one asked answered
	// UNKNOWN_TOPIC_ID.
	Gone(ctx context.Context, id group.TopicID) (bool, error)
}

// Call is one request of a client.
type Call struct {
	Msg      kmsg.Request
	ClientID string
	Host     string // "/127.0.0.1"
	Broker   int32  // the broker id of the port it came in on; -1: the bootstrap port
	// Reply is called exactly once, from any goroutine; nil closes the connection.
	Reply func(kmsg.Response)
}
