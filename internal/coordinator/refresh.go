package coordinator

import (
	"context"
	"time"
)

// RefreshMetrics brings the gauges up to date, for a look at them: the loop itself does so only while it works, at most
// once a second. It returns at the end of ctx at the latest.
func (l *Loop) RefreshMetrics(ctx context.Context) {
	done := make(chan struct{})
	queued := l.do(func(now time.Time) {
		l.lastStat = time.Time{}
		l.gauge(now)
		close(done)
	})
	if !queued {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}
