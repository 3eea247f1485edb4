package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/coordinatord/coordinatord/internal/coordinator"
	"github.com/coordinatord/coordinatord/internal/httpapi"
)

// logEndTimeout bounds how long a group's view waits for Kafka to tell the log ends; without them it has no lag.
const logEndTimeout = 3 * time.Second

// Cluster implements httpapi.Source.
func (p *process) Cluster() httpapi.Cluster {
	c := httpapi.Cluster{NodeID: p.cfg.NodeID}
	if store := p.store.Load(); store != nil {
		s := store.Status()
		c.LeaderID, c.Term = s.LeaderID, s.Term
	}
	// A single node binds no Raft listener; the address is the one it would have.
	c.Nodes = []httpapi.Node{{ID: p.cfg.NodeID, Raft: p.cfg.RaftListen, Bootstrap: p.bootstrap(), Voter: true}}
	return c
}

// Kafka implements httpapi.Source.
func (p *process) Kafka() httpapi.Kafka {
	directory := p.shown.Load()
	if directory == nil {
		return httpapi.Kafka{}
	}
	table, err := directory.Table(), directory.Err()
	k := httpapi.Kafka{ClusterID: table.ClusterID(), Reachable: err == nil && len(table.IDs()) > 0, Brokers: table.IDs()}
	if err != nil {
		k.Error = err.Error()
	}
	return k
}

// Reasons implements httpapi.Source.
func (p *process) Reasons() []string {
	p.mu.Lock()
	phase := p.phase
	p.mu.Unlock()
	if phase != "" {
		return []string{phase}
	}
	if !p.leads.Load() {
		state := "unknown"
		if store := p.store.Load(); store != nil {
			state = store.Status().State
		}
		return []string{fmt.Sprintf("this node does not lead (Raft says %s): group requests are refused", state)}
	}
	return nil
}

// Groups implements httpapi.Source.
func (p *process) Groups(ctx context.Context) ([]httpapi.GroupSummary, error) {
	loop := p.loop.Load()
	if loop == nil {
		return nil, fmt.Errorf("the groups are %w: the daemon is starting", httpapi.ErrUnavailable)
	}
	groups, err := loop.Groups(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	out := make([]httpapi.GroupSummary, len(groups))
	for i, g := range groups {
		out[i] = httpapi.GroupSummary{Group: g.Group, State: g.State, Type: g.Type, ProtocolType: g.ProtocolType}
	}
	return out, nil
}

// Group implements httpapi.Source.
func (p *process) Group(ctx context.Context, name string) (httpapi.Group, bool, error) {
	loop := p.loop.Load()
	if loop == nil {
		return httpapi.Group{}, false, fmt.Errorf("the group is %w: the daemon is starting", httpapi.ErrUnavailable)
	}
	d, ok, err := loop.Group(ctx, name)
	if err != nil || !ok {
		return httpapi.Group{}, false, unavailable(err)
	}
	g := httpapi.Group{
		Group: d.Group, State: d.State, ProtocolType: d.ProtocolType, Protocol: d.Protocol,
		Generation: d.Generation, Leader: d.Leader,
		Members: make([]httpapi.Member, len(d.Members)),
		Offsets: make([]httpapi.Offset, len(d.Offsets)),
	}
	for i := range d.Members {
		g.Members[i] = member(&d.Members[i])
	}
	ends := p.logEnds(ctx, d.Offsets)
	for i, o := range d.Offsets {
		g.Offsets[i] = httpapi.Offset{Topic: o.Topic, Partition: o.Partition, Offset: o.Offset, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata}
		end, known := ends.Lookup(o.Topic, o.Partition)
		if !known || end.Err != nil || end.Offset < 0 {
			g.LagPartial = true
			continue
		}
		lag := max(0, end.Offset-o.Offset) // a commit beyond the end is Kafka's to judge
		g.Offsets[i].LogEnd, g.Offsets[i].Lag = &end.Offset, &lag
		g.Lag += lag
	}
	return g, true, nil
}

func member(m *coordinator.MemberDetail) httpapi.Member {
	out := httpapi.Member{MemberID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost, Assignment: make([]httpapi.TopicPartition, len(m.Assigned))}
	if m.InstanceID != nil {
		out.InstanceID = *m.InstanceID
	}
	for i, a := range m.Assigned {
		out.Assignment[i] = httpapi.TopicPartition{Topic: a.Topic, Partitions: a.Partitions}
	}
	return out
}

// logEnds asks Kafka; what it does not tell within the bound is missing from the answer.
func (p *process) logEnds(ctx context.Context, offsets []coordinator.OffsetDetail) kadm.ListedOffsets {
	seen := make(map[string]bool)
	var names []string
	for _, o := range offsets {
		if !seen[o.Topic] {
			seen[o.Topic] = true
			names = append(names, o.Topic)
		}
	}
	if len(names) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, logEndTimeout)
	defer cancel()
	ends, err := kadm.NewClient(p.directory.Client()).ListEndOffsets(ctx, names...)
	if err != nil && len(ends) == 0 {
		return nil
	}
	return ends
}

func unavailable(err error) error {
	if errors.Is(err, coordinator.ErrNotLeading) || errors.Is(err, coordinator.ErrClosed) {
		return fmt.Errorf("%w: %w", httpapi.ErrUnavailable, err)
	}
	return err
}

// bootstrap is the address that clients are told for the bootstrap listener.
func (p *process) bootstrap() string {
	port := ""
	if server := p.server.Load(); server != nil {
		_, port, _ = net.SplitHostPort(server.Addr().String())
	} else if _, configured, err := net.SplitHostPort(p.cfg.Listen); err == nil {
		port = configured
	}
	return net.JoinHostPort(p.cfg.AdvertiseHost, port)
}
