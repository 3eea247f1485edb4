package coordinator

import (
	"context"
	"maps"
	"slices"
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
	var known, held []Topic
	err := l.call(func(time.Time) {
		l.core.m.Topics(func(name string, id group.TopicID, partitions int32) {
			known = append(known, Topic{Name: name, ID: id, Partitions: partitions})
		})
		l.core.m.HeldTopics(func(name string, id group.TopicID) {
			held = append(held, Topic{Name: name, ID: id})
		})
	})
	if err != nil || len(known)+len(held) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(l.ctx, l.cfg.TopicCheck)
	defer cancel()
	if err := l.askForAll(ctx, namesOf(known, held)); err != nil {
		l.cfg.Metrics.askFailed.Inc()
		l.cfg.Logger.Debug("topics could not be checked", zap.Error(err))
		return
	}
	for _, t := range known {
		if now, ok := l.cfg.Topics.ByName(t.Name); ok && now != t {
			l.do(func(at time.Time) { l.core.Seen(at, now) })
		}
	}
	checked := make(map[group.TopicID]bool, len(known)+len(held))
	for _, t := range slices.Concat(known, held) {
		if t.ID == (group.TopicID{}) || checked[t.ID] {
			continue
		}
		checked[t.ID] = true
		if err := l.checkTopic(ctx, t, suspects); err != nil {
			l.cfg.Logger.Debug("topic could not be checked", zap.String("topic", t.Name), zap.Error(err))
		}
	}
	maps.DeleteFunc(suspects, func(id group.TopicID, _ time.Time) bool { return !checked[id] })
}

// askForAll asks about topics in one question and, when Kafka does not answer for all of them, in one for each: a single
// topic that the daemon may not describe must not keep the deletion of every other one from being noticed. It returns an
// error if Kafka answered for none.
func (l *Loop) askForAll(ctx context.Context, names []string) error {
	err := l.cfg.Topics.Ask(ctx, names, nil)
	if err == nil || len(names) == 1 {
		return err
	}
	answered := false
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		if l.cfg.Topics.Ask(ctx, []string{name}, nil) == nil {
			answered = true
		}
	}
	if answered {
		return nil
	}
	return err
}

func namesOf(lists ...[]Topic) []string {
	var names []string
	for _, list := range lists {
		for _, t := range list {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkTopic asks about an id that Kafka did not give for any name.
func (l *Loop) checkTopic(ctx context.Context, t Topic, suspects map[group.TopicID]time.Time) error {
	if _, ok := l.cfg.Topics.ByID(t.ID); ok {
		delete(suspects, t.ID)
		return nil
	}
	gone, err := l.cfg.Topics.Gone(ctx, t.ID)
	if err != nil {
		return err // says nothing either way; an earlier answer stands
	}
	if !gone {
		delete(suspects, t.ID)
		return nil
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
	return nil
}

// freshenTopics asks about the topics that are committed to, away from the path of the commits: one question for all of
// them, and none while nothing is committed. So a commit to a deleted topic is refused soon after, although the cache
// answers for it.
func (l *Loop) freshenTopics() {
	pause := l.cfg.TopicFresh
	for {
		fired, stop := l.cfg.Clock.NewTimer(pause)
		select {
		case <-l.ctx.Done():
			stop()
			return
		case <-fired:
		}
		pause = l.cfg.TopicFresh
		names := l.core.topics.takeUsed()
		if len(names) == 0 {
			continue
		}
		slices.Sort(names)
		ctx, cancel := context.WithTimeout(l.ctx, l.cfg.AskTimeout)
		if err := l.cfg.Topics.Ask(ctx, names, nil); err != nil {
			pause = max(pause, askPause)
			if !slices.ContainsFunc(names, l.fresh) { // Kafka has answered for none
				l.asked.failedAt.Store(l.cfg.Clock.Now().UnixNano()) // so that no commit waits for what has just failed
			}
		} else {
			l.asked.failedAt.Store(0)
		}
		cancel()
	}
}
