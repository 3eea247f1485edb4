package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

const (
	// refreshSpacing bounds how often failed dials and clients' answers can make the daemon look at the cluster.
	refreshSpacing = 250 * time.Millisecond
	// sayAgain is the pause between two log lines about one thing that stays wrong.
	sayAgain = 5 * time.Minute
	// versionAsks bounds how many brokers are asked for their versions at once.
	versionAsks = 4
)

var errKafkaAway = errors.New("no answer from Kafka")

// ClusterMismatchError says that the brokers belong to another cluster than the daemon's state.
type ClusterMismatchError struct {
	Known string // the cluster.id that the daemon's state belongs to
	Found string // the cluster.id that the brokers name
}

// Error implements error.
func (e *ClusterMismatchError) Error() string {
	return fmt.Sprintf("the brokers belong to the Kafka cluster %q, but the state is of %q", e.Found, e.Known)
}

// run looks at the cluster at once, then at every interval and whenever it is asked to. At the intervals, and when Kafka
// is back, it looks at everything; when it is asked to, at the brokers only, so that clients whose dials fail cannot make
// it ask every broker all the time.
func (d *Directory) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var lastFull time.Time
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-d.kick:
		}
		began := time.Now()
		full := failures > 0 || began.Sub(lastFull) >= d.cfg.Refresh
		if err := d.refresh(ctx, full); err != nil {
			failures++
		} else {
			failures = 0
			if full {
				lastFull = began
			}
		}
		if !pause(ctx, refreshSpacing) {
			return
		}
		delay := max(0, d.cfg.Refresh-time.Since(lastFull))
		if failures > 0 {
			delay = min(d.cfg.Refresh, 250*time.Millisecond<<min(failures, 5))
		}
		timer.Reset(delay)
	}
}

// pause waits for d; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// refresh looks once: at the brokers, then at what each supports and the topics that are known. Unless it is a full look,
// only brokers that are new or moved are asked what they support, and topics are left alone.
func (d *Directory) refresh(ctx context.Context, full bool) error {
	changed, err := d.refreshBrokers(ctx)
	d.mu.Lock()
	failedBefore := d.lastErr != nil
	d.lastErr = err
	d.seen = d.seen || err == nil
	d.mu.Unlock()
	if err != nil {
		d.wake()
		// The first failure is said, then one in a while: the reason changes from broker to broker.
		if again := d.sometimes(errKafkaAway); (again || !failedBefore) && ctx.Err() == nil {
			d.log.Warn("cannot look at the Kafka cluster; what is known of it stays in use", zap.Error(err))
		}
		return err
	}
	if failedBefore {
		d.log.Info("the Kafka cluster answers again")
	}
	// Those who wait for a broker need its address only, so they are woken before the versions are asked for.
	d.wake()
	if d.refreshVersions(ctx, full) {
		changed = true
	}
	if full {
		d.topics.refresh(ctx)
	}
	if d.topics.takeChanged() {
		changed = true
	}
	if changed && d.cfg.OnChange != nil {
		d.cfg.OnChange()
	}
	return nil
}

// wake wakes those who wait for the end of a look.
func (d *Directory) wake() {
	d.mu.Lock()
	close(d.news)
	d.news = make(chan struct{})
	d.mu.Unlock()
}

// refreshBrokers asks for the live brokers and puts them into a new table.
func (d *Directory) refreshBrokers(ctx context.Context) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // Empty is none; nil would be all.
	resp, err := req.RequestWith(ctx, d.client)
	if err != nil {
		return false, fmt.Errorf("ask Kafka for its brokers: %w", err)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return false, fmt.Errorf("ask Kafka for its brokers: %w", err)
	}
	return d.apply(resp)
}

// apply replaces the table by what a Metadata answer says.
func (d *Directory) apply(resp *kmsg.MetadataResponse) (changed bool, err error) {
	if len(resp.Brokers) == 0 {
		// A broker that has just started may not know of anyone yet. That is no reason to forget all brokers.
		return false, errors.New("ask Kafka for its brokers: the answer names none")
	}
	old := d.Table()
	clusterID := ""
	if resp.ClusterID != nil {
		clusterID = *resp.ClusterID
	}
	if old.clusterID != "" && clusterID != old.clusterID {
		return false, &ClusterMismatchError{Known: old.clusterID, Found: clusterID}
	}
	live := make([]broker, 0, len(resp.Brokers))
	for i := range resp.Brokers {
		b := &resp.Brokers[i]
		if b.Host == "" || b.Port < 1 || b.Port > 65535 {
			d.log.Warn("Kafka names a broker without a usable address", zap.Int32("broker", b.NodeID), zap.String("host", b.Host), zap.Int32("port", b.Port))
			continue
		}
		nb := broker{id: b.NodeID, host: b.Host, port: b.Port, addr: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))}
		if b.Rack != nil {
			nb.rack = *b.Rack
		}
		live = append(live, nb)
		if _, ok := d.cfg.Ports.Port(b.NodeID); !ok {
			d.warnNoPort(b.NodeID)
		}
	}
	if len(live) == 0 {
		return false, errors.New("ask Kafka for its brokers: none has a usable address")
	}
	table := newTable(d.cfg.Ports, clusterID, resp.ControllerID, live, old)
	if table.same(old) {
		return false, nil
	}
	d.table.Store(table)
	d.logChanges(old, table)
	return true, nil
}

func (d *Directory) logChanges(old, table *Table) {
	for _, id := range table.ids {
		is := table.brokers[id]
		_, port, _ := table.Advertised(id)
		fields := []zap.Field{zap.Int32("broker", id), zap.String("upstream", is.addr), zap.Int32("port", port)}
		switch was, ok := old.brokers[id]; {
		case !ok:
			d.log.Info("broker is live", fields...)
		case was.addr != is.addr:
			d.log.Info("broker moved", append(fields, zap.String("was", was.addr))...)
		}
	}
	for _, id := range old.ids {
		if _, ok := table.brokers[id]; !ok {
			d.log.Info("broker is gone from the cluster's metadata", zap.Int32("broker", id), zap.String("upstream", old.brokers[id].addr))
		}
	}
}

// warnNoPort says, at most once in a while for each id, that a broker cannot be reached through the daemon.
func (d *Directory) warnNoPort(id int32) {
	if !d.sometimes(id) {
		return
	}
	p := d.cfg.Ports
	d.log.Error("a broker id is outside the port range: clients cannot reach the broker, and its partitions have no leader for them; widen the range of broker ports",
		zap.Int32("broker", id), zap.Int32("first_id", p.FirstID), zap.Int32("last_id", p.LastID()))
}

// sometimes is true when what has not been said in the last minutes. It keeps clients from filling the log.
func (d *Directory) sometimes(what any) bool {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, ok := d.said[what]; ok && now.Sub(at) < sayAgain {
		return false
	}
	if len(d.said) >= 1024 {
		clear(d.said)
	}
	d.said[what] = now
	return true
}

// refreshVersions asks the live brokers what they support: all of them, or those at addresses that have not been asked.
func (d *Directory) refreshVersions(ctx context.Context, all bool) (changed bool) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	table := d.Table()
	// A broker that was away is asked again, since it may have been upgraded meanwhile.
	maps.DeleteFunc(d.asked, func(id int32, addr string) bool { return table.brokers[id].addr != addr })
	var ids []int32
	for _, id := range table.ids {
		if _, ok := d.asked[id]; all || !ok {
			ids = append(ids, id)
		}
	}
	answers := make([]*kmsg.ApiVersionsResponse, len(ids))
	var group errgroup.Group
	group.SetLimit(versionAsks)
	for i, id := range ids {
		group.Go(func() error {
			req := kmsg.NewPtrApiVersionsRequest()
			req.ClientSoftwareName, req.ClientSoftwareVersion = softwareName, softwareVersion
			resp, err := req.RequestWith(ctx, d.client.Broker(int(id)))
			if err == nil {
				err = kerr.ErrorForCode(resp.ErrorCode)
			}
			if err != nil { // What the broker said last stays.
				d.log.Debug("cannot ask a broker for its versions", zap.Int32("broker", id), zap.Error(err))
				return nil
			}
			answers[i] = resp
			return nil
		})
	}
	_ = group.Wait() // No function returns an error.
	for i, id := range ids {
		if answers[i] == nil {
			continue
		}
		d.asked[id] = table.brokers[id].addr
		if d.versions.put(id, answers[i]) {
			changed = true
		}
	}
	return changed
}
