package main

import (
	"cmp"
	"fmt"
	"strings"
)

// operatorSentence drops a package's name from an error that is for the operator.
func operatorSentence(err error) error {
	text := strings.ReplaceAll(err.Error(), "raftstore: ", "")
	if text == err.Error() {
		return err
	}
	return fmt.Errorf("%s", text) //nolint:err113 // the words are all that is left to use
}

func (a *app) printInspection(f *inspectFlags, out *inspection) error {
	if f.output == formatJSON {
		return a.printJSON(out)
	}
	cluster := out.ClusterID
	if cluster == "" {
		cluster = "not known yet"
	}
	if _, err := fmt.Fprintf(a.stdout, "node %d, Kafka cluster %s, format %d, log in %s\nstate from %s at index %d, term %d; with the log after it: %d\n",
		out.NodeID, printable(cluster), out.Format, out.LogStore, out.Source, out.Index, out.Term, out.Applied); err != nil {
		return err
	}
	for _, fault := range out.Faults {
		if _, err := fmt.Fprintln(a.stdout, "passed over:", printable(fault)); err != nil {
			return err
		}
	}
	if len(out.Snapshots) > 0 {
		t := table{heading: []string{"SNAPSHOT", "INDEX", "TERM", "BYTES"}}
		for _, s := range out.Snapshots {
			t.add(s.ID, s.Index, s.Term, s.Bytes)
		}
		if err := a.printTable(&t); err != nil {
			return err
		}
	}
	switch {
	case f.entries:
		return a.printEntries(out.Entries)
	case f.group != "":
		return a.printInspectedGroup(&out.Groups[0])
	}
	groups := table{heading: []string{"GROUP", "STATE", "GENERATION", "MEMBERS", "OFFSETS", "SINCE"}}
	for i := range out.Groups {
		g := &out.Groups[i]
		groups.add(g.Group, g.State, g.Generation, len(g.Members), len(g.Offsets), g.Since)
	}
	if err := a.printTable(&groups); err != nil {
		return err
	}
	topics := table{heading: []string{"TOPIC", "ID", "PARTITIONS"}}
	for _, t := range out.Topics {
		topics.add(t.Topic, t.ID, t.Partitions)
	}
	return a.printTable(&topics)
}

func (a *app) printEntries(entries []inspectEntry) error {
	t := table{heading: []string{"INDEX", "TERM", "TYPE", "TIME", "COMMAND"}}
	for _, e := range entries {
		if len(e.Commands) == 0 {
			t.add(e.Index, e.Term, e.Type, e.Time, "")
		}
		for _, c := range e.Commands {
			t.add(e.Index, e.Term, e.Type, e.Time, c)
		}
	}
	return a.printTable(&t)
}

func (a *app) printInspectedGroup(g *inspectGroup) error {
	if _, err := fmt.Fprintf(a.stdout, "group %s: %s since %s, generation %d, sequence %d, protocol %s\n",
		printable(g.Group), g.State, g.Since, g.Generation, g.Sequence, cmp.Or(printable(g.Protocol), "none")); err != nil {
		return err
	}
	members := table{heading: []string{"MEMBER", "INSTANCE", "CLIENT", "HOST", "SESSION-MS", "REBALANCE-MS"}}
	for _, m := range g.Members {
		members.add(m.MemberID, m.InstanceID, m.ClientID, m.Host, m.SessionTimeoutMs, m.RebalanceTimeoutMs)
	}
	offsets := table{heading: []string{"TOPIC", "PARTITION", "OFFSET", "EPOCH", "COMMITTED", "METADATA"}}
	for _, o := range g.Offsets {
		offsets.add(o.Topic, o.Partition, o.Offset, o.LeaderEpoch, o.Committed, o.Metadata)
	}
	for _, t := range []*table{&members, &offsets} {
		if len(t.rows) == 0 {
			continue
		}
		if err := a.printTable(t); err != nil {
			return err
		}
	}
	return nil
}
