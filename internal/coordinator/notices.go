package coordinator

import (
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/coordinatord/coordinatord/group"
)

// noticeLog writes a line for each notice, with fixed keys, and counts it. Notices that clients can cause at will are
// limited, so that a client in a loop does not fill the disk.
type noticeLog struct {
	log     *zap.Logger
	metrics *Metrics
	limits  map[group.NoticeKind]*limit
}

// limit lets maxRefusals lines through in each period.
type limit struct {
	since      time.Time
	written    int
	suppressed int
}

const (
	maxRefusals   = 20
	refusalPeriod = 10 * time.Second
)

func newNoticeLog(log *zap.Logger, m *Metrics) *noticeLog {
	n := &noticeLog{log: log, metrics: m, limits: make(map[group.NoticeKind]*limit)}
	for _, k := range []group.NoticeKind{group.RequestRefused, group.CommitStale, group.MemberFenced, group.MemberIDIssued, group.MemberIDExpired} {
		n.limits[k] = new(limit)
	}
	return n
}

func level(k group.NoticeKind) zapcore.Level {
	switch k { //nolint:exhaustive // everything else is an ordinary event.
	case group.RequestRefused, group.MemberIDIssued, group.MemberIDExpired:
		return zapcore.DebugLevel
	case group.MemberExpired, group.MemberFenced, group.CommitStale, group.TopicOffsetsDropped:
		return zapcore.WarnLevel
	default:
		return zapcore.InfoLevel
	}
}

func (n *noticeLog) write(now time.Time, e *group.Notice) {
	n.metrics.notices.WithLabelValues(string(e.Kind)).Inc()
	lvl := level(e.Kind)
	if !n.log.Core().Enabled(lvl) {
		return
	}
	suppressed := 0
	if l := n.limits[e.Kind]; l != nil {
		if now.Sub(l.since) >= refusalPeriod {
			suppressed = l.suppressed
			*l = limit{since: now}
		}
		if l.written >= maxRefusals {
			l.suppressed++
			return
		}
		l.written++
	}
	ce := n.log.Check(lvl, string(e.Kind))
	if ce == nil {
		return
	}
	fields := make([]zap.Field, 0, 6)
	fields = append(fields, zap.String("group", e.Group), zap.Int32("generation", e.Generation),
		zap.String("member", e.Member), zap.String("reason", e.Reason))
	if e.Count != 0 {
		fields = append(fields, zap.Int("count", e.Count))
	}
	if suppressed > 0 {
		fields = append(fields, zap.Int("suppressed", suppressed))
	}
	ce.Write(fields...)
}
