package suite

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/coordinatord/coordinatord/interop/member"
)

// played makes a journal of lines such as "A 0:7" (A read offset 7 of
// partition 0), "A 0<8" (its commit of 8 was acknowledged), "A +" (assigned).
func played(t *testing.T, script string) *journal {
	t.Helper()
	j := newJournal()
	at := int64(0)
	for line := range strings.FieldsFuncSeq(script, func(r rune) bool { return r == ',' || r == '\n' }) {
		at++
		name, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		l := member.Line{}
		switch {
		case what == "+":
			l.Event = "assigned"
		case strings.Contains(what, ":"):
			l.Event = "record"
			l.Partition, l.Offset = numbers(t, what, ":")
		default:
			p, o := numbers(t, what, "<")
			l.Event, l.Offsets = "committed", map[int32]int64{p: o}
		}
		j.add(entry{at: at, member: name, line: l})
	}
	return j
}

func numbers(t *testing.T, text, by string) (int32, int64) {
	t.Helper()
	a, b, ok := strings.Cut(text, by)
	if !ok || len(a) != 1 || len(b) != 1 {
		t.Fatalf("cannot read %q", text)
	}
	return int32(a[0] - '0'), int64(b[0] - '0')
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name, script string
		forgiven     int
		stale        bool
		duplicates   int
		fault        string // Part of the first fault; empty: none.
	}{
		{name: "one reads all", script: "A 0:0, A 0:1, A 0<2, A 0:2"},
		{name: "the next owner begins at the commit", script: "A 0:0, A 0:1, A 0<2, B 0:2"},
		{name: "the next owner repeats what was not committed", script: "A 0:0, A 0<1, A 0:1, A 0:2, B 0:1, B 0:2", duplicates: 2},
		{name: "a commit may arrive without being acknowledged", script: "A 0:0, A 0:1, B 0:2"},
		{name: "a member rewinds to its commit after a rebalance", script: "A 0:0, A 0<1, A 0:1, A +, A 0:1, A 0:2", duplicates: 1},
		{name: "an acknowledged commit is lost", script: "A 0:0, A 0:1, A 0<2, B 0:1, B 0:2", duplicates: 1, fault: "B begins partition 0 at 1 though 2 was committed"},
		{name: "all commits are lost", script: "A 0:0, A 0:1, A 0:2, A 0<3, B 0:0", duplicates: 1, fault: "B begins partition 0 at 0 though 3 was committed"},
		{name: "a later lower commit counts", script: "A 0:0, A 0:1, A 0<2, A 0<1, B 0:1, B 0:2", duplicates: 1},
		{name: "a record is skipped at a hand-over", script: "A 0:0, A 0<1, B 0:2", fault: "B begins partition 0 at 2, skipping from 1"},
		{name: "a record is skipped in the middle", script: "A 0:0, A 0:2", fault: "A begins partition 0 at 2, skipping from 1"},
		{name: "skipped and read later is still skipped", script: "A 0:0, B 0:2, A 0:1", fault: "B begins partition 0 at 2, skipping from 1"},
		{name: "the tail is missing", script: "A 0:0, A 0:1", fault: "1 of 3 records of partition 0 were never seen, 2 the first"},
		{name: "nothing is read", script: "A +", fault: "3 of 3 records of partition 0 were never seen, 0 the first"},
		{name: "a partition that is not there", script: "A 0:0, A 0:1, A 0:2, A 5:0", fault: "partition 5, which is not in the topic"},
		{name: "one record is forgiven", script: "A 0:0, B 0:2", forgiven: 1},
		{name: "two are more than one", script: "B 0:2", forgiven: 1, fault: "B begins partition 0 at 2, skipping from 0"},
		{name: "a stale client may repeat", script: "A 0:0, A 0:1, A 0<2, B 0:1, B 0:2", stale: true, duplicates: 1},
		{name: "a stale client may not skip", script: "A 0:0, B 0:2", stale: true, fault: "skipping"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := played(t, c.script).judge(map[int32]int64{0: 3}, c.forgiven, c.stale)
			switch {
			case c.fault == "" && len(v.Faults) > 0:
				t.Errorf("faults where there are none: %q", v.Faults)
			case c.fault != "" && (len(v.Faults) == 0 || !strings.Contains(v.Faults[0], c.fault)):
				t.Errorf("want the fault %q, got %q", c.fault, v.Faults)
			}
			if v.Duplicates != c.duplicates {
				t.Errorf("%d duplicates, want %d", v.Duplicates, c.duplicates)
			}
		})
	}
}

func TestJudgeGoesByTheTimeOfTheDrivers(t *testing.T) {
	j := newJournal()
	// B's line is read first though A printed before.
	j.add(entry{at: 2, member: "B", line: member.Line{Event: "record", Offset: 1}})
	j.add(entry{at: 1, member: "A", line: member.Line{Event: "record", Offset: 0}})
	if v := j.judge(map[int32]int64{0: 2}, 0, false); len(v.Faults) > 0 {
		t.Errorf("faults: %q", v.Faults)
	}
}

func TestSharedWantsEveryPartitionWithExactlyTheMembers(t *testing.T) {
	read := func(owner map[int32]string) []entry {
		var out []entry
		for p := range int32(Partitions) {
			for o := range int64(steady) {
				if owner[p] != "" {
					out = append(out, entry{member: owner[p], line: member.Line{Event: "record", Partition: p, Offset: o}})
				}
			}
		}
		return out
	}
	even := map[int32]string{0: "A", 1: "A", 2: "A", 3: "B", 4: "B", 5: "B"}
	uneven := map[int32]string{0: "A", 1: "A", 2: "A", 3: "A", 4: "A", 5: "B"}
	partial := map[int32]string{0: "A", 1: "A", 2: "A", 3: "B", 4: "B"}
	for _, c := range []struct {
		name    string
		entries []entry
		members []string
		even    bool
		want    bool
	}{
		{"even", read(even), []string{"A", "B"}, true, true},
		{"uneven", read(uneven), []string{"A", "B"}, true, false},
		{"uneven is allowed", read(uneven), []string{"A", "B"}, false, true},
		{"a partition is read by nobody", read(partial), []string{"A", "B"}, false, false},
		{"somebody else reads", read(even), []string{"A"}, false, false},
		{"somebody does not read", read(even), []string{"A", "B", "C"}, false, false},
		{"not yet steady", read(even)[1:], []string{"A", "B"}, true, false},
		{"nothing", nil, []string{"A"}, true, false},
	} {
		if err := shared(c.entries, c.members, c.even); (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestWaitEndsWithWhatIsMissing(t *testing.T) {
	j := newJournal()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := j.wait(ctx, 0, func(entries []entry) error { return shared(entries, []string{"A"}, true) })
	if err == nil || !strings.Contains(err.Error(), "0 of 6 partitions") {
		t.Errorf("the error does not say what is missing: %v", err)
	}
	// What comes while waiting is seen.
	go func() {
		for p := range int32(Partitions) {
			for o := range int64(steady) {
				j.add(entry{member: "A", line: member.Line{Event: "record", Partition: p, Offset: o}})
			}
		}
	}()
	if err := j.wait(t.Context(), 0, func(entries []entry) error { return shared(entries, []string{"A"}, true) }); err != nil {
		t.Error(err)
	}
}

func TestResumedIsAtTheCommit(t *testing.T) {
	at := map[int32]int64{0: 3}
	for script, want := range map[string]bool{"A 0:3": true, "A 0:3, A 0:2": true, "A 0:2, A 0:3": false, "A 0:4": false, "A +": false} {
		entries, _ := played(t, script).since(0)
		if err := resumed(entries, at); (err == nil) != want {
			t.Errorf("%q: %v", script, err)
		}
	}
}
