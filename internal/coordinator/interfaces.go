package coordinator

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/group"
	"github.com/coordinatord/coordinatord/protocol"
)

// Log is the replicated log, as the loop needs it; raftstore.Store has this shape (Ref is uint64 there too).
type Log interface {
	// Propose queues one command and copies it. On an error neither Loop.Apply nor Loop.Failed will be called for ref.
	Propose(ref uint64, cmd []byte) error
	// Confirm calls done once this node has proved that it still leads; done may be called before Confirm returns.
	Confirm(done func(err error))
}

// Clock is the loop's only source of time.
type Clock interface {
	Now() time.Time
	NewTimer(d time.Duration) (fired <-chan time.Time, stop func() bool)
}

// Topic is what Kafka says of a topic.
type Topic = protocol.Topic

// Topics answers whether topics exist. Package gateway's directory implements it.
type Topics interface {
	// ByName and ByID look into the cache only and never block.
	ByName(name string) (Topic, bool)
	ByID(id group.TopicID) (Topic, bool)
	// Fresh says whether what ByName has of a topic was heard from Kafka within the given time. It is true where waiting for
	// Kafka would tell nothing: of a topic that the cache lacks, or that has no id.
	Fresh(name string, within time.Duration) bool
	// Ask asks Kafka for names and ids that the cache lacks, or whose partition count may have grown, and fills the cache
	// with those that exist. An error means that Kafka could not be asked, which says nothing about the topics.
	Ask(ctx context.Context, names []string, ids []group.TopicID) error
	// Gone asks Kafka, at up to two different brokers, whether the id is unknown: true only if every one asked answered
	// UNKNOWN_TOPIC_ID.
	Gone(ctx context.Context, id group.TopicID) (bool, error)
}

// Replier takes the answer of one request; wire.Request is one.
type Replier interface {
	// Reply is called exactly once, from any goroutine. The response belongs to the callee; nil closes the connection.
	Reply(resp kmsg.Response)
}

// Call is one request of a client.
type Call struct {
	Msg      kmsg.Request // lives until To.Reply has been called
	ClientID string
	Host     string // "/127.0.0.1"
	Broker   int32  // the broker id of the port it came in on; -1: the bootstrap port
	To       Replier
}

// Batch is one committed entry of the log.
type Batch struct {
	Index    uint64
	Time     int64    // the proposing leader's clock, Unix milliseconds
	Commands [][]byte // kept until they are applied, not changed
	Refs     []uint64 // parallel to Commands; nil when this process did not propose the batch in this run
}
