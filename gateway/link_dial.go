package gateway

import (
	"context"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/coordinatord/coordinatord/wire"
)

// Connect implements wire.Upstream.
func (l *link) Connect(h wire.Header, answered bool) error {
	if l.nc != nil && l.pending.Load() == 0 {
		if err := l.check(); err != nil {
			return err
		}
	}
	if l.nc == nil {
		if err := l.dial(h); err != nil {
			return err
		}
	}
	if l.standIn && ofBroker(h.Key) {
		return errStandIn
	}
	if answered {
		l.unacked = false
		l.pending.Add(1)
	} else {
		l.unacked = true
	}
	return nil
}

// check lets go of a connection that the broker has closed, or that leads to a stand-in when it is time to look for the
// port's own broker. Nothing is pending on it.
func (l *link) check() error {
	now := time.Now()
	if now.Sub(l.checked) < lookAgain {
		return nil
	}
	l.checked = now
	if !l.stands() {
		if l.login != nil && l.login.begun() {
			return errLostLogin
		}
		if l.unacked {
			return errLostProduce
		}
		l.drop()
		return nil
	}
	if l.standIn && l.srv.dials.due(l.ownAddr()) {
		if nc, err := l.dialTo(l.ownAddr()); err == nil {
			l.drop()
			return l.adopt(nc, false)
		}
	}
	return nil
}

func (l *link) ownAddr() string {
	addr, _ := l.srv.dir.Table().Upstream(l.broker)
	return addr
}

// stands asks the socket whether the broker has closed it. Bytes that wait there would be an answer that nobody asked for.
func (l *link) stands() bool {
	if l.raw == nil {
		return true
	}
	open := false
	// Control and not Read, which would fail on a deadline that an earlier response has left behind.
	err := l.raw.Control(func(fd uintptr) { open = silent(fd) })
	return err == nil && open
}

func (l *link) drop() {
	_ = l.nc.Close() // the broker has closed it, or nothing is pending on it
	l.rd.Release()
	l.wr.Release()
	l.mu.Lock()
	l.nc = nil
	l.count(false)
	l.mu.Unlock()
	l.standIn = false
	l.raw, l.rd, l.wr, l.unacked = nil, nil, nil, false
}

// count keeps the number of links with stand-ins right; l.mu is held.
func (l *link) count(is bool) {
	if l.counted != is {
		l.counted = is
		if is {
			l.srv.standIns.Add(1)
		} else {
			l.srv.standIns.Add(-1)
		}
	}
}

// dial connects to the port's broker or, on the bootstrap port, to any. While the port's broker cannot be reached another
// one stands in: it has the same Metadata, and what only a leader may do it refuses with Kafka's own errors, in the right
// form. Not so where the client must log in, which it could not repeat on the way back.
func (l *link) dial(h wire.Header) error {
	ctx, done := l.dialling()
	defer done()
	if l.broker < 0 {
		addr, err := l.srv.dir.Bootstrap(ctx)
		if err != nil {
			return err
		}
		return l.open(ctx, addr, false)
	}
	addr, err := l.srv.dir.Wait(ctx, l.broker)
	if err != nil {
		return err
	}
	if err = l.open(ctx, addr, false); err == nil || l.login != nil || ofBroker(h.Key) {
		return err
	}
	other, berr := l.srv.dir.Bootstrap(ctx)
	if berr != nil || other == "" || other == addr || l.open(ctx, other, true) != nil {
		return err
	}
	return nil
}

// ofBroker says whether a request concerns the very broker that it is sent to, so that no other may answer it.
func ofBroker(key int16) bool { return slices.Contains(brokerKeys, kmsg.Key(key)) }

var brokerKeys = []kmsg.Key{
	kmsg.AlterReplicaLogDirs, kmsg.DescribeLogDirs, kmsg.DescribeConfigs, kmsg.AlterConfigs, kmsg.IncrementalAlterConfigs,
}

// dialling returns a context that ends with the link.
func (l *link) dialling() (context.Context, func()) {
	ctx, cancel := context.WithTimeout(l.srv.ctx, l.srv.cfg.DialTimeout+defaultHold)
	l.mu.Lock()
	l.cancel = cancel
	if l.closed {
		cancel()
	}
	l.mu.Unlock()
	return ctx, cancel
}

func (l *link) open(ctx context.Context, addr string, standIn bool) error {
	nc, err := l.srv.dials.dial(ctx, addr)
	if err != nil {
		return err
	}
	return l.adopt(nc, standIn)
}

func (l *link) dialTo(addr string) (net.Conn, error) {
	ctx, done := l.dialling()
	defer done()
	return l.srv.dials.dial(ctx, addr)
}

func (l *link) adopt(nc net.Conn, standIn bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = nc.Close() // never used
		return net.ErrClosed
	}
	l.nc, l.checked, l.standIn = nc, time.Now(), standIn
	l.count(standIn)
	l.raw = nil
	if sc, ok := nc.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			l.raw = raw
		}
	}
	l.rd = wire.NewReader(nc, l.flushClient)
	l.wr = wire.NewWriter(nc, l.srv.cfg.UpstreamWriteTimeout)
	return nil
}
