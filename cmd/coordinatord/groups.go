package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/coordinatord/coordinatord/internal/httpapi"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func (a *app) groupsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "groups",
		Short: "List, describe, delete and reset consumer groups",
		Args:  cobra.NoArgs,
		RunE: a.body(func(*cobra.Command, []string) error {
			return usagef("groups needs one of list, describe, delete, reset-offsets")
		}),
	}
	cmd.AddCommand(a.groupsListCommand(), a.groupsDescribeCommand(), a.groupsDeleteCommand(), a.groupsResetCommand())
	return cmd
}

// someGroups refuses a command line that names no group.
func someGroups(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("name at least one GROUP")
	}
	return nil
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (a *app) groupsListCommand() *cobra.Command {
	var c clientFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the groups",
		Args:  cobra.NoArgs,
		RunE: a.body(func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), c.timeout)
			defer cancel()
			var list httpapi.Groups
			if err := c.get(ctx, "/v1/groups", &list, ""); err != nil {
				return err
			}
			if c.output == formatJSON {
				return a.printJSON(list)
			}
			t := table{heading: []string{"GROUP", "STATE", "TYPE", "PROTOCOL-TYPE"}}
			for _, g := range list.Groups {
				t.add(g.Group, g.State, g.Type, g.ProtocolType)
			}
			return a.printTable(&t)
		}),
	}
	c.httpFlags(cmd)
	return cmd
}

func (a *app) groupsDescribeCommand() *cobra.Command {
	var c clientFlags
	cmd := &cobra.Command{
		Use:   "describe GROUP...",
		Short: "Show members, offsets and lag of groups",
		Args:  someGroups,
		RunE: a.body(func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), c.timeout)
			defer cancel()
			groups := make([]httpapi.Group, len(args))
			for i, name := range args {
				if err := c.get(ctx, "/v1/groups/"+url.PathEscape(name), &groups[i], "there is no group "+printable(name)); err != nil {
					return err
				}
			}
			if c.output == formatJSON {
				return a.printJSON(groups)
			}
			for i := range groups {
				if i > 0 {
					fmt.Fprintln(a.stdout)
				}
				if err := a.printGroup(&groups[i]); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	c.httpFlags(cmd)
	return cmd
}

func (a *app) printGroup(g *httpapi.Group) error {
	about := ""
	if g.LagPartial {
		about = " (at least: some log ends are not known)"
	}
	if _, err := fmt.Fprintf(a.stdout, "group %s: %s, generation %d, %s, protocol %s, lag %d%s\n",
		printable(g.Group), g.State, g.Generation, counted(len(g.Members), "member"), cmp.Or(printable(g.Protocol), "none"), g.Lag, about); err != nil {
		return err
	}
	members := table{heading: []string{"MEMBER", "INSTANCE", "CLIENT", "HOST", "ASSIGNMENT"}}
	for _, m := range g.Members {
		var parts []string
		for _, t := range m.Assignment {
			parts = append(parts, t.Topic+":"+joinInts(t.Partitions))
		}
		id := m.MemberID
		if m.MemberID == g.Leader {
			id += " (leader)"
		}
		members.add(id, m.InstanceID, m.ClientID, m.Host, strings.Join(parts, " "))
	}
	if len(members.rows) > 0 {
		if err := a.printTable(&members); err != nil {
			return err
		}
	}
	if t := offsetTable(g); len(t.rows) > 0 {
		return a.printTable(t)
	}
	return nil
}

// offsetTable has a row for every partition that has a committed offset or an owner, by topic and partition.
func offsetTable(g *httpapi.Group) *table {
	type partition struct {
		topic string
		id    int32
	}
	type row struct {
		at     partition
		cells  [3]string // offset, log end, lag
		member string
	}
	rows := make(map[partition]row)
	for _, o := range g.Offsets {
		at := partition{o.Topic, o.Partition}
		rows[at] = row{at: at, cells: [3]string{strconv.FormatInt(o.Offset, 10), optional(o.LogEnd), optional(o.Lag)}}
	}
	for _, m := range g.Members {
		for _, t := range m.Assignment {
			for _, p := range t.Partitions {
				at := partition{t.Topic, p}
				r := rows[at]
				r.at, r.member = at, m.MemberID
				rows[at] = r
			}
		}
	}
	sorted := slices.SortedFunc(maps.Values(rows), func(a, b row) int {
		return cmp.Or(cmp.Compare(a.at.topic, b.at.topic), cmp.Compare(a.at.id, b.at.id))
	})
	t := &table{heading: []string{"TOPIC", "PARTITION", "OFFSET", "LOG-END", "LAG", "MEMBER"}}
	for _, r := range sorted {
		t.add(r.at.topic, r.at.id, r.cells[0], r.cells[1], r.cells[2], r.member)
	}
	return t
}

func optional(n *int64) string {
	if n == nil {
		return "?"
	}
	return strconv.FormatInt(*n, 10)
}

// joinInts writes 0,1,2,5 as 0-2,5.
func joinInts(ns []int32) string {
	ns = slices.Clone(ns)
	slices.Sort(ns)
	var parts []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, strconv.Itoa(int(ns[i])))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", ns[i], ns[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

func (a *app) groupsDeleteCommand() *cobra.Command {
	var c clientFlags
	cmd := &cobra.Command{
		Use:   "delete GROUP...",
		Short: "Delete groups that have no members, with their offsets",
		Args:  someGroups,
		RunE: a.body(func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), c.timeout)
			defer cancel()
			return a.deleteGroups(ctx, &c, args)
		}),
	}
	c.kafkaFlags(cmd)
	return cmd
}

// deletion is one line of what delete did.
type deletion struct {
	Group   string `json:"group"`
	Deleted bool   `json:"deleted"`
	Error   string `json:"error,omitempty"`
}

func (a *app) deleteGroups(ctx context.Context, c *clientFlags, names []string) error {
	admin, err := c.admin()
	if err != nil {
		return err
	}
	defer admin.Close()
	resps, err := admin.DeleteGroups(ctx, names...)
	if err != nil && len(resps) == 0 {
		return fmt.Errorf("the groups cannot be deleted: %w", c.refused(err))
	}
	results := make([]deletion, 0, len(names))
	failed := false
	for _, name := range names {
		d := deletion{Group: name}
		r, ok := resps[name]
		switch {
		case !ok:
			d.Error = "the daemon did not answer"
		case r.Err != nil:
			d.Error = groupError(r.Err)
		default:
			d.Deleted = true
		}
		failed = failed || !d.Deleted
		results = append(results, d)
	}
	if c.output == formatJSON {
		err = a.printJSON(results)
	} else {
		t := table{heading: []string{"GROUP", "DELETED", "REASON"}}
		for _, d := range results {
			t.add(d.Group, d.Deleted, d.Error)
		}
		err = a.printTable(&t)
	}
	if err == nil && failed {
		err = errReported
	}
	return err
}

// unwrapShard returns the first cause of an error that several brokers have a part in.
func unwrapShard(err error) error {
	if shards, ok := errors.AsType[*kadm.ShardErrors](err); ok && len(shards.Errs) > 0 {
		err = shards.Errs[0].Err
	}
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
