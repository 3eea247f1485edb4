package daemon

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// parkedGrace is how long a stop lets requests be answered by themselves before those that wait for other members (a
// JoinGroup in a rebalance) are told to look for another coordinator. They could wait for minutes.
const parkedGrace = 500 * time.Millisecond

// stop stops whatever start has started: first what clients reach, last what keeps their state. It fails nothing that is
// acknowledged: a commit is answered once it is on disk.
func (p *process) stop() {
	p.enter("stopping")
	ctx, cancel := context.WithTimeout(context.Background(), p.cfg.DrainTimeout)
	defer cancel()
	loop := p.loop.Load()
	if server := p.server.Load(); server != nil {
		unpark := time.AfterFunc(parkedGrace, func() { loop.Resign(0) })
		if err := server.Shutdown(ctx); err != nil {
			p.log.Warn("some requests were not answered in time", zap.Duration("drain-timeout", p.cfg.DrainTimeout))
		}
		unpark.Stop()
	}
	if store := p.store.Load(); store != nil {
		p.saveBrokers(true)
		// The copy is written in a time of its own: a drain that took all of its own must not cost it.
		ctx, cancel := context.WithTimeout(context.Background(), p.cfg.DrainTimeout+time.Second)
		if err := store.Close(ctx); err != nil {
			p.log.Error("the log was not closed in order; the next start repeats what it can from it", zap.Error(err))
		}
		cancel()
	}
	if loop != nil {
		loop.Close()
	}
	if p.directory != nil {
		p.cancel()
		p.directory.Close()
	}
	p.cancel()
	p.workers.Wait()
	if p.http != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		p.http.Close(ctx)
		cancel()
	}
	p.log.Info("stopped")
}
