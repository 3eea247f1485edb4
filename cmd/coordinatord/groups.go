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
		Args:  cobra.MinimumNArgs(1),
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
	if _, err := fmt.Fprintf(a.stdout, "group %s: %s, generation %d, %d members, protocol %s, lag %d%s\n",
		printable(g.Group), g.State, g.Generation, len(g.Members), cmp.Or(printable(g.Protocol), "none"), g.Lag, about); err != nil {
		return err
	}
	members := table{heading: []string{"MEMBER", "INSTANCE", "CLIENT", "HOST", "ASSIGNMENT"}}
	owner := make(map[string]string) // "topic-partition" → member id
	for _, m := range g.Members {
		var parts []string
		for _, t := range m.Assignment {
			parts = append(parts, t.Topic+":"+joinInts(t.Partitions))
			for _, p := range t.Partitions {
				owner[fmt.Sprintf("%s-%d", t.Topic, p)] = m.MemberID
			}
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
	offsets := table{heading: []string{"TOPIC", "PARTITION", "OFFSET", "LOG-END", "LAG", "MEMBER"}}
	for _, o := range g.Offsets {
		offsets.add(o.Topic, o.Partition, o.Offset, optional(o.LogEnd), optional(o.Lag),
			owner[fmt.Sprintf("%s-%d", o.Topic, o.Partition)])
	}
	if len(offsets.rows) == 0 {
		return nil
	}
	return a.printTable(&offsets)
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
		Args:  cobra.MinimumNArgs(1),
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
		return fmt.Errorf("the groups cannot be deleted: %w", unwrapShard(err))
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
