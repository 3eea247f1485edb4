package coordinator

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/group"
)

// watchTopics compares the topics of the image with Kafka's from time to time, while this node leads. Offsets are dropped
// only for a topic whose id Kafka has called unknown twice, with time between the answers, at different brokers where
// there are two: that a topic is missing from some list has never been a reason to lose offsets.
func (l *Loop) watchTopics() {
	suspects := make(map[group.TopicID]time.Time) // first called unknown at
	for {
		fired, stop := l.cfg.Clock.NewTimer(l.cfg.TopicCheck)
		select {
		case <-l.ctx.Done():
			stop()
			return
		case <-fired:
		}
		if !l.leading.Load() {
			clear(suspects)
			continue
		}
		l.checkTopics(suspects)
	}
}

func (l *Loop) checkTopics(suspects map[group.TopicID]time.Time) {
	topics := l.core.topics.all()
	if len(topics) == 0 {
		return
	}
	names := make([]string, 0, len(topics))
	ids := make([]group.TopicID, 0, len(topics))
	known := make(map[group.TopicID]bool, len(topics))
	for _, t := range topics {
		names = append(names, t.Name)
		if t.ID != (group.TopicID{}) {
			ids = append(ids, t.ID)
			known[t.ID] = true
		}
	}
	for id := range suspects {
		if !known[id] {
			delete(suspects, id)
		}
	}
	ctx, cancel := context.WithTimeout(l.ctx, l.cfg.TopicCheck)
	defer cancel()
	if err := l.cfg.Topics.Ask(ctx, names, ids); err != nil {
		l.cfg.Metrics.askFailed.Inc()
		l.cfg.Logger.Debug("topics could not be checked", zap.Error(err))
		return
	}
	for _, t := range topics {
		if ctx.Err() != nil {
			return
		}
		l.checkTopic(ctx, t, suspects)
	}
}

func (l *Loop) checkTopic(ctx context.Context, t Topic, suspects map[group.TopicID]time.Time) {
	if now, ok := l.cfg.Topics.ByName(t.Name); ok && now != t {
		l.do(func(at time.Time) { l.core.Seen(at, now) })
	}
	if t.ID == (group.TopicID{}) {
		return
	}
	if _, ok := l.cfg.Topics.ByID(t.ID); ok {
		delete(suspects, t.ID)
		return
	}
	gone, err := l.cfg.Topics.Gone(ctx, t.ID)
	if err != nil || !gone {
		delete(suspects, t.ID)
		return
	}
	now := l.cfg.Clock.Now()
	first, again := suspects[t.ID]
	switch {
	case !again:
		suspects[t.ID] = now
		l.cfg.Logger.Info("topic is unknown to Kafka; asking again before its offsets are dropped", zap.String("topic", t.Name))
	case now.Sub(first) >= l.cfg.TopicGone:
		delete(suspects, t.ID)
		l.do(func(at time.Time) { l.core.Gone(at, t) })
	}
}
