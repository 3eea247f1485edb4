package coordinator

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/coordinatord/coordinatord/group"
	"github.com/coordinatord/coordinatord/protocol"
)

// The methods of this file are what the log calls (raftstore.Handler, whose types cmd translates). Each puts its matter
// into the inbox, so that what the log says takes effect in the order in which it says it.

// Apply takes a committed batch. It only enqueues.
func (l *Loop) Apply(b Batch) { l.push(input{batch: &b}) }

// Failed tells that own commands were not committed, or that nobody knows whether they were. In the second case they may
// yet come through Apply; their clients have been told to try again by then.
func (l *Loop) Failed(refs []uint64, err error) {
	code := l.code(err)
	l.do(func(now time.Time) { l.core.Failed(now, refs, code) })
}

// Lead tells that this node leads, and that everything committed before has been given to Apply.
func (l *Loop) Lead(term uint64) {
	l.do(func(now time.Time) {
		l.core.Lead(now)
		l.leading.Store(true)
		s := l.core.m.Stats()
		l.cfg.Logger.Info("leading", zap.Uint64("term", term), zap.Uint64("index", l.core.index),
			zap.Int("groups", s.Groups), zap.Int("members", s.Members), zap.Int("offsets", s.Offsets))
	})
}

// Resign tells that this node no longer leads; leader is the new one's id, 0 if it is not known.
func (l *Loop) Resign(leader uint64) {
	l.do(func(now time.Time) {
		if !l.core.leading {
			return
		}
		l.leading.Store(false)
		l.core.Resign(now)
		l.cfg.Logger.Info("no longer leading", zap.Uint64("leader", leader), zap.Uint64("index", l.core.index))
	})
}

// Collect calls add for every value of the materialised copy that changed since the last Collect or Load, a nil value
// meaning that the key is gone, and returns the index of the last batch that they include. The slices belong to the
// callee. After Close it gives nothing and index 0.
func (l *Loop) Collect(add func(key, value []byte)) (index uint64) {
	err := l.call(func(time.Time) {
		index = l.core.index
		l.core.m.TakeDirty(func(key group.Key, rec group.Record) {
			k := protocol.AppendKey(make([]byte, 0, 1+len(key.Name)), key)
			if rec == nil {
				add(k, nil)
				return
			}
			l.core.scratch = protocol.AppendRecord(l.core.scratch[:0], rec)
			add(k, append([]byte(nil), l.core.scratch...))
		})
	})
	if err != nil {
		return 0
	}
	return index
}

// Load replaces the whole state by the values that next yields. On an error the old state stays.
func (l *Loop) Load(index uint64, next func() (key, value []byte, ok bool, err error)) error {
	m := group.New(l.cfg.Group)
	var dec protocol.Decoder
	for {
		k, v, ok, err := next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := load(m, &dec, k, v); err != nil {
			return err
		}
	}
	m.TakeDirty(func(group.Key, group.Record) {})
	return l.call(func(now time.Time) {
		if l.core.leading {
			l.core.Resign(now)
		}
		l.core.m, l.core.index = m, index
		l.core.topics.load(m)
	})
}

// load applies one value of the materialised copy.
func load(m *group.Machine, dec *protocol.Decoder, k, v []byte) error {
	key, err := protocol.DecodeKey(k)
	if err != nil {
		return err
	}
	rec, err := dec.Decode(v)
	if err != nil {
		return fmt.Errorf("value of %q: %w", key.Name, err)
	}
	switch r := rec.(type) {
	case *group.GroupImage:
		if key != (group.Key{Kind: group.KindGroup, Name: r.Meta.Group}) {
			return fmt.Errorf("coordinator: the key %q holds the group %q", key.Name, r.Meta.Group)
		}
	case *group.TopicUpsert:
		if key != (group.Key{Kind: group.KindTopic, Name: r.Name}) {
			return fmt.Errorf("coordinator: the key %q holds the topic %q", key.Name, r.Name)
		}
	default:
		return fmt.Errorf("coordinator: the key %q holds a record of type %T", key.Name, rec)
	}
	if out := m.Apply(rec); out.Code != group.None || out.Stale {
		return fmt.Errorf("coordinator: the value of %q cannot be restored (code %d, stale %t)", key.Name, out.Code, out.Stale)
	}
	return nil
}
