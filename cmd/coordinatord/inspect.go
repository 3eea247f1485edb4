package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/coordinatord/coordinatord/group"
	"github.com/coordinatord/coordinatord/protocol"
	"github.com/coordinatord/coordinatord/raftstore"
)

// inspectFlags say what of a data directory is shown.
type inspectFlags struct {
	dir     string
	group   string
	entries bool
	inUse   bool
	output  format
}

func (a *app) inspectCommand() *cobra.Command {
	f := inspectFlags{output: formatText}
	cmd := &cobra.Command{
		Use:   "inspect --data-dir DIR",
		Short: "Read the data directory of a daemon that does not run",
		Long: `Reads a data directory without changing it: what it says of itself, and the groups
as the next start would find them, from the copy of the state and the log after it.
A directory that a daemon holds is refused; with --in-use its newest snapshot, which
may be old, is read.`,
		Args: cobra.NoArgs,
		RunE: a.body(func(*cobra.Command, []string) error {
			if f.dir == "" {
				return usagef("--data-dir: a directory to read is required")
			}
			if f.entries && f.group != "" {
				return usagef("--entries and --group contradict one another")
			}
			if f.entries && f.inUse {
				return usagef("--entries and --in-use contradict one another: the log of a directory in use cannot be read")
			}
			return a.inspect(&f)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.dir, "data-dir", "", "the daemon's data directory")
	fs.StringVar(&f.group, "group", "", "show this group's members and offsets")
	fs.BoolVar(&f.entries, "entries", false, "show the log's entries after the copy instead of the groups")
	fs.BoolVar(&f.inUse, "in-use", false, "read the newest snapshot of a directory that a daemon holds")
	for _, name := range []string{"group", "entries", "in-use"} {
		_ = fs.SetAnnotation(name, commandLineOnly, []string{"yes"})
	}
	registerOutput(cmd, &f.output)
	return cmd
}

// inspection is what inspect prints as JSON.
type inspection struct {
	NodeID    uint64            `json:"node_id"`
	ClusterID string            `json:"cluster_id"`
	Format    int               `json:"format"`
	LogStore  string            `json:"log_store"`
	Source    string            `json:"source"` // what the state was read from
	Index     uint64            `json:"index"`  // of the last entry that it holds
	Term      uint64            `json:"term"`
	Applied   uint64            `json:"applied"` // with the log after it
	Faults    []string          `json:"faults,omitempty"`
	Snapshots []inspectSnapshot `json:"snapshots"`
	Groups    []inspectGroup    `json:"groups,omitempty"`
	Topics    []inspectTopic    `json:"topics,omitempty"`
	Entries   []inspectEntry    `json:"entries,omitempty"`
}

type inspectSnapshot struct {
	ID    string `json:"id"`
	Index uint64 `json:"index"`
	Term  uint64 `json:"term"`
	Bytes int64  `json:"bytes"`
}

type inspectTopic struct {
	Topic      string `json:"topic"`
	ID         string `json:"id"` // hexadecimal
	Partitions int32  `json:"partitions"`
}

type inspectGroup struct {
	Group        string          `json:"group"`
	State        string          `json:"state"` // Kafka's word
	Sequence     uint64          `json:"sequence"`
	Generation   int32           `json:"generation"`
	ProtocolType string          `json:"protocol_type"`
	Protocol     string          `json:"protocol"`
	Leader       string          `json:"leader"`
	Since        string          `json:"since"` // when the state was entered
	Members      []inspectMember `json:"members"`
	Offsets      []inspectOffset `json:"offsets"`
}

type inspectMember struct {
	MemberID           string `json:"member_id"`
	InstanceID         string `json:"instance_id,omitempty"`
	ClientID           string `json:"client_id"`
	Host               string `json:"host"`
	SessionTimeoutMs   int32  `json:"session_timeout_ms"`
	RebalanceTimeoutMs int32  `json:"rebalance_timeout_ms"`
	AssignmentBytes    int    `json:"assignment_bytes"`
}

type inspectOffset struct {
	Topic       string `json:"topic"`
	TopicID     string `json:"topic_id"`
	Partition   int32  `json:"partition"`
	Offset      int64  `json:"offset"`
	LeaderEpoch int32  `json:"leader_epoch"`
	Metadata    string `json:"metadata,omitempty"`
	Committed   string `json:"committed"`
}

type inspectEntry struct {
	Index    uint64   `json:"index"`
	Term     uint64   `json:"term"`
	Type     string   `json:"type"`
	Time     string   `json:"time,omitempty"`
	Commands []string `json:"commands,omitempty"`
}

func (a *app) inspect(f *inspectFlags) (err error) {
	var opts []raftstore.ReaderOption
	if f.inUse {
		opts = append(opts, raftstore.ReadInUse())
	}
	r, err := raftstore.OpenReader(f.dir, opts...)
	if err != nil {
		return operatorSentence(err)
	}
	defer func() {
		if cerr := r.Close(); err == nil && cerr != nil {
			err = operatorSentence(cerr)
		}
	}()
	id := r.Identity()
	out := inspection{
		NodeID: id.NodeID, ClusterID: id.ClusterID, Format: id.Format, LogStore: id.LogStore,
		Source: r.Source(), Index: r.Index(), Term: r.Term(), Applied: r.Index(), Snapshots: []inspectSnapshot{},
	}
	for _, fault := range r.Faults() {
		out.Faults = append(out.Faults, fault.Error())
	}
	for _, s := range r.Snapshots() {
		out.Snapshots = append(out.Snapshots, inspectSnapshot{ID: s.ID, Index: s.Index, Term: s.Term, Bytes: s.Size})
	}
	if f.entries {
		if err := out.readEntries(r); err != nil {
			return operatorSentence(err)
		}
		return a.printInspection(f, &out)
	}
	if err := out.readState(r, f); err != nil {
		return operatorSentence(err)
	}
	if f.group != "" && len(out.Groups) == 0 {
		return fmt.Errorf("there is no group %s in %s", printable(f.group), f.dir)
	}
	return a.printInspection(f, &out)
}

// readState reads the values of the copy, and lets a machine say what the log after it changes.
func (out *inspection) readState(r *raftstore.Reader, f *inspectFlags) error {
	m := group.New(group.DefaultConfig())
	groups, topics := make(map[string]inspectGroup), make(map[string]inspectTopic)
	keep := func(key group.Key, rec group.Record) {
		switch rec := rec.(type) {
		case *group.GroupImage:
			groups[key.Name] = inspectedGroup(rec)
		case *group.TopicUpsert:
			topics[key.Name] = inspectTopic{rec.Name, fmt.Sprintf("%x", rec.ID), rec.Partitions}
		case nil:
			if key.Kind == group.KindGroup {
				delete(groups, key.Name)
			} else {
				delete(topics, key.Name)
			}
		}
	}
	err := r.Values(func(k, v []byte) error {
		key, err := protocol.DecodeKey(k)
		if err != nil {
			return err
		}
		rec, err := protocol.DecodeRecord(v)
		if err != nil {
			return fmt.Errorf("the value of %q: %w", key.Name, err)
		}
		keep(key, rec)
		m.Apply(rec)
		return nil
	})
	if err == nil && !f.inUse {
		err = out.applyLog(r, m)
	}
	if err != nil {
		return err
	}
	m.TakeDirty(keep)
	for _, name := range sortedKeys(groups) {
		if f.group == "" || f.group == name {
			out.Groups = append(out.Groups, groups[name])
		}
	}
	if f.group == "" {
		for _, name := range sortedKeys(topics) {
			out.Topics = append(out.Topics, topics[name])
		}
	}
	return nil
}

func (out *inspection) applyLog(r *raftstore.Reader, m *group.Machine) error {
	return r.Entries(func(e raftstore.LogEntry) error {
		out.Applied = e.Index
		if e.Envelope == nil {
			return nil
		}
		for i, cmd := range e.Envelope.Commands {
			rec, err := protocol.DecodeRecord(cmd)
			if err != nil {
				return fmt.Errorf("entry %d, command %d: %w", e.Index, i, err)
			}
			m.Apply(rec)
		}
		return nil
	})
}

var stateNames = map[group.Phase]string{
	group.PhaseEmpty: "Empty", group.PhaseCompleting: "CompletingRebalance", group.PhaseStable: "Stable",
}

func inspectedGroup(g *group.GroupImage) inspectGroup {
	out := inspectGroup{
		Group: g.Meta.Group, State: stateNames[g.Meta.Phase], Sequence: g.Meta.Sequence, Generation: g.Meta.Generation,
		ProtocolType: g.Meta.ProtocolType, Protocol: g.Meta.Protocol, Leader: g.Meta.Leader, Since: millisText(g.Meta.StateTime),
		Members: []inspectMember{}, Offsets: []inspectOffset{},
	}
	for _, m := range g.Meta.Members {
		member := inspectMember{
			MemberID: m.MemberID, ClientID: m.Client.ID, Host: m.Client.Host,
			SessionTimeoutMs: m.SessionTimeout, RebalanceTimeoutMs: m.RebalanceTimeout, AssignmentBytes: len(m.Assignment),
		}
		if m.InstanceID != nil {
			member.InstanceID = *m.InstanceID
		}
		out.Members = append(out.Members, member)
	}
	for _, t := range g.Topics {
		for _, p := range t.Partitions {
			out.Offsets = append(out.Offsets, inspectOffset{
				Topic: t.Name, TopicID: fmt.Sprintf("%x", t.ID), Partition: p.Partition, Offset: p.Offset,
				LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, Committed: millisText(p.CommitTime),
			})
		}
	}
	return out
}

func millisText(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

func (out *inspection) readEntries(r *raftstore.Reader) error {
	return r.Entries(func(e raftstore.LogEntry) error {
		entry := inspectEntry{Index: e.Index, Term: e.Term, Type: e.Type}
		if e.Envelope != nil {
			entry.Time = millisText(e.Envelope.Time.UnixMilli())
			for _, cmd := range e.Envelope.Commands {
				rec, err := protocol.DecodeRecord(cmd)
				if err != nil {
					return fmt.Errorf("entry %d: %w", e.Index, err)
				}
				entry.Commands = append(entry.Commands, recordText(rec))
			}
		}
		out.Entries = append(out.Entries, entry)
		out.Applied = e.Index
		return nil
	})
}

// recordText is a record in a line.
func recordText(rec group.Record) string {
	switch r := rec.(type) {
	case *group.OffsetCommit:
		n := 0
		for _, t := range r.Topics {
			n += len(t.Partitions)
		}
		return fmt.Sprintf("OffsetCommit group=%q generation=%d member=%q topics=%d partitions=%d", r.Group, r.Guard.Generation, r.Guard.MemberID, len(r.Topics), n)
	case *group.OffsetDelete:
		return fmt.Sprintf("OffsetDelete group=%q topics=%d expired=%t", r.Group, len(r.Topics), r.Expired)
	case *group.GroupMeta:
		return fmt.Sprintf("GroupMeta group=%q sequence=%d state=%s generation=%d members=%d", r.Group, r.Sequence, stateNames[r.Phase], r.Generation, len(r.Members))
	case *group.GroupDelete:
		return fmt.Sprintf("GroupDelete group=%q", r.Group)
	case *group.TopicUpsert:
		return fmt.Sprintf("TopicUpsert topic=%q id=%x partitions=%d", r.Name, r.ID, r.Partitions)
	case *group.TopicDrop:
		return fmt.Sprintf("TopicDrop topic=%q id=%x", r.Name, r.ID)
	case *group.GroupImage:
		return fmt.Sprintf("GroupImage group=%q", r.Meta.Group)
	}
	return fmt.Sprintf("%T", rec)
}
