package gateway

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = time.Second
)

// dials opens connections to brokers. An address that has just failed is not tried again for a moment: with thousands of
// clients behind a port, a broker that is down must not cost each of them a time-out for each request.
type dials struct {
	dir     *Directory
	timeout time.Duration

	mu     sync.Mutex
	failed map[string]failure
}

type failure struct {
	err   error
	until time.Time
	wait  time.Duration
}

func (d *dials) dial(ctx context.Context, addr string) (net.Conn, error) {
	d.mu.Lock()
	f, bad := d.failed[addr]
	d.mu.Unlock()
	if bad && time.Now().Before(f.until) {
		return nil, f.err
	}
	start := time.Now()
	dialer := net.Dialer{Timeout: d.timeout, KeepAliveConfig: keepAlive}
	nc, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil && ctx.Err() != nil {
		return nil, err // the client has gone, which says nothing about the broker
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		delete(d.failed, addr)
		setUserTimeout(nc)
		return nc, nil
	}
	err = fmt.Errorf("broker at %s: %w", addr, err)
	// A broker that refuses at once is tried again soon; one that swallows the attempt costs those who wait behind it, the
	// own keys of the same connection too, at most every other moment.
	wait := min(max(2*f.wait, minBackoff), maxBackoff)
	wait = max(wait, time.Since(start))
	if d.failed == nil {
		d.failed = map[string]failure{}
	}
	d.failed[addr] = failure{err: err, wait: wait, until: time.Now().Add(wait)}
	d.dir.Failed(addr)
	return nil, err
}

// due says whether an address may be dialled now.
func (d *dials) due(addr string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return addr != "" && !time.Now().Before(d.failed[addr].until)
}
