package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// resetFlags say which offsets go where.
type resetFlags struct {
	clientFlags
	topics    []string
	allTopics bool

	toEarliest, toLatest bool
	toOffset, shiftBy    int64
	toDatetime           string

	execute, dryRun bool
}

// The targets, of which exactly one is given.
var resetTargets = []string{"to-earliest", "to-latest", "to-offset", "to-datetime", "shift-by"}

func (a *app) groupsResetCommand() *cobra.Command {
	var f resetFlags
	cmd := &cobra.Command{
		Use:   "reset-offsets GROUP (--topic T... | --all-topics) --to-...",
		Short: "Move the committed offsets of a group that has no members",
		Long: `Shows where the offsets would go, and moves them with --execute. A target outside
the log is moved to its nearer end. A group that has members is refused: their next
commit would undo the reset.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("name one GROUP")
			}
			return nil
		},
		RunE: a.body(func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
			defer cancel()
			return a.resetOffsets(ctx, &f, cmd, args[0])
		}),
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&f.topics, "topic", nil, "topic, or topic:0,1,2 for some of its partitions; can be repeated")
	fs.BoolVar(&f.allTopics, "all-topics", false, "every topic that the group has offsets of")
	fs.BoolVar(&f.toEarliest, "to-earliest", false, "to the start of the log")
	fs.BoolVar(&f.toLatest, "to-latest", false, "to the end of the log")
	fs.Int64Var(&f.toOffset, "to-offset", 0, "to this offset")
	fs.StringVar(&f.toDatetime, "to-datetime", "", "to the first record at or after this time, such as 2026-01-31T15:04:05Z")
	fs.Int64Var(&f.shiftBy, "shift-by", 0, "by this many records from the committed offset, negative: back")
	fs.BoolVar(&f.dryRun, "dry-run", false, "only show (the default)")
	fs.BoolVar(&f.execute, "execute", false, "commit the new offsets")
	for _, name := range append([]string{"topic", "all-topics", "dry-run", "execute"}, resetTargets...) {
		_ = fs.SetAnnotation(name, commandLineOnly, []string{"yes"})
	}
	f.kafkaFlags(cmd)
	return cmd
}

func (f *resetFlags) check(cmd *cobra.Command) error {
	var given []string
	for _, name := range resetTargets {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	switch {
	case len(given) == 0:
		return usagef("one of --%s is needed", strings.Join(resetTargets, ", --"))
	case len(given) > 1:
		return usagef("%s contradict one another", strings.Join(given, " and "))
	case f.allTopics && len(f.topics) > 0:
		return usagef("--all-topics and --topic contradict one another")
	case !f.allTopics && len(f.topics) == 0:
		return usagef("--topic or --all-topics is needed")
	case f.execute && f.dryRun:
		return usagef("--execute and --dry-run contradict one another")
	case cmd.Flags().Changed("to-offset") && f.toOffset < 0:
		return usagef("--to-offset: an offset is at least 0")
	case cmd.Flags().Changed("to-earliest") && !f.toEarliest:
		return usagef("--to-earliest: it is given or left out")
	case cmd.Flags().Changed("to-latest") && !f.toLatest:
		return usagef("--to-latest: it is given or left out")
	case cmd.Flags().Changed("to-datetime"):
		_, err := parseTime(f.toDatetime)
		return err
	}
	return nil
}

// move is one partition's change.
type move struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Current   *int64 `json:"current"` // null: nothing committed
	New       int64  `json:"new"`
	LogStart  int64  `json:"log_start"`
	LogEnd    int64  `json:"log_end"`
	Note      string `json:"note,omitempty"`
}

// resetReport is what reset-offsets prints as JSON.
type resetReport struct {
	Group    string `json:"group"`
	Executed bool   `json:"executed"`
	Moves    []move `json:"moves"`
}

func (a *app) resetOffsets(ctx context.Context, f *resetFlags, cmd *cobra.Command, group string) error {
	admin, err := f.admin()
	if err != nil {
		return err
	}
	defer admin.Close()
	if err := f.refuseMembers(ctx, admin, group); err != nil {
		return err
	}
	current, err := admin.FetchOffsets(ctx, group)
	if err != nil {
		return fmt.Errorf("the offsets of group %s cannot be read: %w", printable(group), unwrapShard(err))
	}
	wanted, err := f.partitions(ctx, admin, group, current)
	if err != nil {
		return err
	}
	moves, err := f.plan(ctx, admin, cmd, wanted, current)
	if err != nil {
		return err
	}
	if f.execute {
		if err := commitMoves(ctx, admin, group, moves); err != nil {
			return err
		}
	}
	if f.output == formatJSON {
		return a.printJSON(resetReport{group, f.execute, moves})
	}
	t := table{heading: []string{"TOPIC", "PARTITION", "CURRENT", "NEW", "LOG-START", "LOG-END", "NOTE"}}
	for _, m := range moves {
		from := "-"
		if m.Current != nil {
			from = strconv.FormatInt(*m.Current, 10)
		}
		t.add(m.Topic, m.Partition, from, m.New, m.LogStart, m.LogEnd, m.Note)
	}
	if err := a.printTable(&t); err != nil {
		return err
	}
	if !f.execute {
		_, err = fmt.Fprintln(a.stdout, "Nothing has been changed; --execute does it.")
	}
	return err
}

// refuseMembers returns an error for a group that has members.
func (f *resetFlags) refuseMembers(ctx context.Context, admin *kadm.Client, group string) error {
	described, err := admin.DescribeGroups(ctx, group)
	if err != nil {
		return fmt.Errorf("group %s cannot be looked up: %w", printable(group), f.refused(err))
	}
	g := described[group]
	switch {
	case errors.Is(g.Err, kerr.GroupIDNotFound):
		return nil // offsets can be set before the first member comes
	case g.Err != nil:
		return fmt.Errorf("group %s cannot be looked up: %s", printable(group), groupError(g.Err))
	case g.State != "Empty" && g.State != "Dead":
		return fmt.Errorf("group %s has %s (%s): stop its members first, their next commit would undo the reset", printable(group), counted(len(g.Members), "member"), g.State)
	}
	return nil
}

// partitions resolves --topic and --all-topics.
func (f *resetFlags) partitions(ctx context.Context, admin *kadm.Client, group string, current kadm.OffsetResponses) (kadm.TopicsSet, error) {
	set := make(kadm.TopicsSet)
	if f.allTopics {
		current.Each(func(o kadm.OffsetResponse) { set.Add(o.Topic, o.Partition) })
		if len(set) == 0 {
			return nil, fmt.Errorf("group %s has no committed offsets: name the topics with --topic", printable(group))
		}
		return set, nil
	}
	for _, arg := range f.topics {
		name, list, some := cutPartitions(arg)
		details, err := admin.ListTopics(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("topic %s cannot be looked up: %w", printable(name), unwrapShard(err))
		}
		d, ok := details[name]
		if !ok || errors.Is(d.Err, kerr.UnknownTopicOrPartition) {
			return nil, fmt.Errorf("there is no topic %s", printable(name))
		}
		if d.Err != nil {
			return nil, fmt.Errorf("topic %s cannot be looked up: %w", printable(name), d.Err)
		}
		if !some {
			for p := range d.Partitions {
				set.Add(name, p)
			}
			continue
		}
		for s := range strings.SplitSeq(list, ",") {
			n, err := strconv.ParseInt(s, 10, 32)
			if err != nil || n < 0 {
				return nil, usagef("--topic: %q is not topic:partition,...", arg)
			}
			if _, ok := d.Partitions[int32(n)]; !ok {
				return nil, fmt.Errorf("topic %s has no partition %d", printable(name), n)
			}
			set.Add(name, int32(n))
		}
	}
	return set, nil
}

// cutPartitions splits topic:0,1; a topic's name has no colon.
func cutPartitions(arg string) (name, list string, some bool) { return strings.Cut(arg, ":") }

func (f *resetFlags) plan(ctx context.Context, admin *kadm.Client, cmd *cobra.Command, wanted kadm.TopicsSet, current kadm.OffsetResponses) ([]move, error) {
	topics := wanted.Topics()
	starts, err := listed(admin.ListStartOffsets(ctx, topics...))
	if err != nil {
		return nil, fmt.Errorf("the starts of the logs cannot be read: %w", err)
	}
	ends, err := listed(admin.ListEndOffsets(ctx, topics...))
	if err != nil {
		return nil, fmt.Errorf("the ends of the logs cannot be read: %w", err)
	}
	target := ends
	switch {
	case f.toEarliest:
		target = starts
	case cmd.Flags().Changed("to-datetime"):
		at, err := parseTime(f.toDatetime)
		if err != nil {
			return nil, err
		}
		if target, err = listed(admin.ListOffsetsAfterMilli(ctx, at.UnixMilli(), topics...)); err != nil {
			return nil, fmt.Errorf("the offsets of that time cannot be read: %w", err)
		}
	}
	var moves []move
	for _, t := range wanted.Sorted() {
		for _, p := range t.Partitions {
			start, ok1 := starts.Lookup(t.Topic, p)
			end, ok2 := ends.Lookup(t.Topic, p)
			if !ok1 || !ok2 {
				return nil, fmt.Errorf("partition %s-%d is gone from Kafka: leave it out", printable(t.Topic), p)
			}
			m := move{Topic: t.Topic, Partition: p, LogStart: start.Offset, LogEnd: end.Offset}
			if o, ok := current.Lookup(t.Topic, p); ok && o.At >= 0 {
				m.Current = &o.At
			}
			switch {
			case cmd.Flags().Changed("to-offset"):
				m.New = f.toOffset
			case cmd.Flags().Changed("shift-by"):
				if m.Current == nil {
					return nil, fmt.Errorf("--shift-by: nothing is committed for %s-%d", printable(t.Topic), p)
				}
				m.New = shift(*m.Current, f.shiftBy)
			default:
				m.New = end.Offset // of a time after the last record
				if o, ok := target.Lookup(t.Topic, p); ok && o.Offset >= 0 {
					m.New = o.Offset
				}
			}
			m.clamp()
			moves = append(moves, m)
		}
	}
	return moves, nil
}

func (m *move) clamp() {
	switch {
	case m.New < m.LogStart:
		m.New, m.Note = m.LogStart, fmt.Sprintf("%d is before the log", m.New)
	case m.New > m.LogEnd:
		m.New, m.Note = m.LogEnd, fmt.Sprintf("%d is past the log", m.New)
	}
}

// shift adds without wrapping around.
func shift(at, by int64) int64 {
	sum := at + by
	switch {
	case by > 0 && sum < at:
		return 1<<63 - 1
	case by < 0 && sum > at:
		return 0
	}
	return sum
}

func listed(offsets kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
	if err == nil {
		err = offsets.Error()
	}
	if err != nil {
		return nil, unwrapShard(err)
	}
	return offsets, nil
}

// parseTime takes RFC 3339, and the form of Kafka's own tool, which has no zone and means UTC.
func parseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.000", "2006-01-02T15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("--to-datetime: %q is not a time such as 2026-01-31T15:04:05Z", s)
}

func commitMoves(ctx context.Context, admin *kadm.Client, group string, moves []move) error {
	offsets := make(kadm.Offsets)
	for _, m := range moves {
		offsets.AddOffset(m.Topic, m.Partition, m.New, -1)
	}
	resps, err := admin.CommitOffsets(ctx, group, offsets)
	if err == nil {
		err = resps.Error()
	}
	if err != nil {
		return fmt.Errorf("the new offsets of group %s are not committed: %s", printable(group), groupError(unwrapShard(err)))
	}
	return nil
}

// groupError says what a coordinator's code means to the operator.
func groupError(err error) string {
	switch {
	case errors.Is(err, kerr.NonEmptyGroup):
		return "the group has members"
	case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.RebalanceInProgress), errors.Is(err, kerr.IllegalGeneration):
		return "the group has got members meanwhile"
	case errors.Is(err, kerr.GroupIDNotFound):
		return "there is no such group"
	}
	if k, ok := errors.AsType[*kerr.Error](err); ok {
		return k.Message + ": " + k.Description
	}
	return err.Error()
}
