package gateway

import (
	"context"
	"errors"
	"net"
	"time"

	"go.uber.org/zap"
)

// listener accepts the clients of one port.
type listener struct {
	srv    *Server
	ln     net.Listener
	broker int32 // -1: the bootstrap port
	stop   context.Context
	cancel context.CancelFunc
}

func newListener(srv *Server, addr string, broker int32) (*listener, error) {
	lc := net.ListenConfig{KeepAliveConfig: keepAlive}
	ln, err := lc.Listen(srv.ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	l := &listener{srv: srv, ln: ln, broker: broker}
	l.stop, l.cancel = context.WithCancel(srv.ctx)
	return l, nil
}

// accept takes clients until close. An error of accept ends nothing: out of descriptors (EMFILE) it waits until some
// client has gone.
func (l *listener) accept() {
	wait := time.Duration(0)
	for {
		nc, err := l.ln.Accept()
		if err == nil {
			wait = 0
			l.srv.done.Go(func() { l.srv.serve(nc, l.broker) })
			continue
		}
		if l.stop.Err() != nil || errors.Is(err, net.ErrClosed) {
			return
		}
		wait = min(max(2*wait, 5*time.Millisecond), time.Second)
		l.srv.log.Warn("cannot accept clients, trying again", zap.Stringer("listener", l.ln.Addr()), zap.Duration("in", wait), zap.Error(err))
		select {
		case <-time.After(wait):
		case <-l.stop.Done():
			return
		}
	}
}

func (l *listener) close() {
	l.cancel()
	_ = l.ln.Close() // a second close is all that can fail
}
