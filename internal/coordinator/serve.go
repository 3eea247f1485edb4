package coordinator

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/group"
	"github.com/coordinatord/coordinatord/protocol"
)

// Serve takes a client's request. Requests of one connection take effect in the order in which they are given here. It
// blocks only while Kafka is asked about a topic that nobody knows yet, which has a bound.
func (l *Loop) Serve(c Call) {
	req, err := protocol.New(c.Msg, group.Client{ID: c.ClientID, Host: c.Host}, l.cfg.FreshID)
	if err != nil {
		l.cfg.Logger.Warn("request refused", zap.String("client", c.Host), zap.Error(err))
		c.To.Reply(nil)
		return
	}
	r := &Request{Request: req, Key: c.Msg.Key(), To: c.To}
	switch q := req.(type) {
	case *protocol.ListGroups:
		r.Read = true
		if c.Broker >= 0 {
			q.Keep = func(group string) bool {
				owner, ok := l.cfg.Owner(group)
				return !ok || owner == c.Broker
			}
		}
	case protocol.TopicRequest:
		r.Read = r.Key == int16(kmsg.OffsetFetch)
		l.resolve(r, q)
	default:
		r.Read = r.Key == int16(kmsg.DescribeGroups)
	}
	if !l.push(input{req: r}) {
		l.cfg.Metrics.answered(r.Key, group.CoordinatorNotAvailable)
		c.To.Reply(r.Fail(group.CoordinatorNotAvailable))
	}
}

// askState remembers that Kafka could not be asked a moment ago, so that requests do not wait for it one after another,
// and the heartbeats of their connections behind them.
type askState struct{ failedAt atomic.Int64 }

const (
	askPause      = 5 * time.Second // for requests whose topics the image knows
	askPauseShort = time.Second     // for others, which are answered that they have to be sent again
)

// resolve finds out which of the request's topics exist: from the cache; else from Kafka; else, when Kafka cannot be asked,
// from the image, for a topic that was there is there until Kafka says otherwise. Groups go on when Kafka does not.
func (l *Loop) resolve(r *Request, q protocol.TopicRequest) {
	names, ids := q.Missing(l.cfg.Topics)
	if names == nil && ids == nil {
		l.confirmNames(q)
		q.Resolve(l.cfg.Topics, group.None)
		l.unseen(r, q)
		return
	}
	both := either{l.cfg.Topics, l.core.topics}
	if ago := l.cfg.Clock.Now().UnixNano() - l.asked.failedAt.Load(); ago < int64(askPause) {
		if n, i := q.Missing(both); ago < int64(askPauseShort) || n == nil && i == nil {
			q.Resolve(both, group.CoordinatorNotAvailable)
			return
		}
	}
	ctx, cancel := context.WithTimeout(l.ctx, l.cfg.AskTimeout)
	err := l.cfg.Topics.Ask(ctx, names, ids)
	cancel()
	if err != nil {
		l.asked.failedAt.Store(l.cfg.Clock.Now().UnixNano())
		l.cfg.Metrics.askFailed.Inc()
		q.Resolve(both, group.CoordinatorNotAvailable)
		return
	}
	l.asked.failedAt.Store(0)
	q.Resolve(l.cfg.Topics, group.None)
	l.unseen(r, q)
}

const (
	// freshRounds is how many rounds of freshenTopics may have failed before a name is not trusted any more.
	freshRounds = 3
	// confirmTimeout bounds how long a request waits for Kafka to confirm a name that the cache has.
	confirmTimeout = 250 * time.Millisecond
)

// confirmNames asks Kafka about topics that the request knows by name and that were last heard of some time ago. One that
// has been deleted and created anew meanwhile is another topic: a commit that is stored for the old one would be lost with
// it, and the old one's offset would make a consumer of the new one skip records. Topics that are committed to all the time
// are kept fresh without this. When Kafka does not answer, the cache is believed.
func (l *Loop) confirmNames(q protocol.TopicRequest) {
	named, ok := q.(protocol.NamingRequest)
	if !ok {
		return
	}
	old := named.Aged(l.fresh)
	if old == nil || l.cfg.Clock.Now().UnixNano()-l.asked.failedAt.Load() < int64(askPause+l.cfg.AskTimeout) {
		return
	}
	ctx, cancel := context.WithTimeout(l.ctx, min(confirmTimeout, l.cfg.AskTimeout))
	defer cancel()
	if err := l.cfg.Topics.Ask(ctx, old, nil); err != nil {
		l.asked.failedAt.Store(l.cfg.Clock.Now().UnixNano())
		l.cfg.Metrics.askFailed.Inc()
	}
}

// unseen notes the topics of a commit that the image does not know as Kafka does, so that they are known when Kafka is
// away, and so that their deletion is noticed.
func (l *Loop) unseen(r *Request, q protocol.TopicRequest) {
	c, ok := q.(interface {
		Topics(f func(name string))
	})
	if !ok {
		return
	}
	c.Topics(func(name string) {
		t, ok := l.cfg.Topics.ByName(name)
		if !ok {
			return
		}
		if !l.core.topics.use(t) {
			r.Seen = append(r.Seen, t)
		}
	})
}

// randomUUID makes a version 4 UUID.
func randomUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:36], b[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}
