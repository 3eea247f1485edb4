package suite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/coordinatord/coordinatord/interop/member"
)

// An entry is one line of one process.
type entry struct {
	at     int64  // Microseconds since 1970: the driver's time, or that of reading.
	member string // The name of the process; every process has another one.
	line   member.Line
}

// A journal holds what the members of one group printed, in the order in which
// it was read, and lets a scenario wait for what it wants to see.
type journal struct {
	mu      sync.Mutex
	entries []entry
	changed chan struct{} // Closed and replaced at every entry.
}

func newJournal() *journal { return &journal{changed: make(chan struct{})} }

func (j *journal) add(e entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, e)
	close(j.changed)
	j.changed = make(chan struct{})
}

// mark is a position in the journal: what is added later comes after it.
func (j *journal) mark() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.entries)
}

// since returns what came after a mark, and a channel that is closed when
// there is more.
func (j *journal) since(mark int) ([]entry, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.entries[mark:len(j.entries):len(j.entries)], j.changed
}

// wait returns once enough says nil for what came after mark; else the last
// thing it said when ctx is done or one of the processes ended.
func (j *journal) wait(ctx context.Context, mark int, enough func([]entry) error) error {
	for {
		entries, changed := j.since(mark)
		err := enough(entries)
		if err == nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return err
		}
	}
}

// steady is how many records in a row of a partition one member must have
// printed to count as its owner.
const steady = 3

// owners says who reads each partition at the end of entries: the member that
// printed the last records of it, steady of them.
func owners(entries []entry) map[int32]string {
	owner, run := map[int32]string{}, map[int32]int{}
	for _, e := range entries {
		if e.line.Event != "record" {
			continue
		}
		p := e.line.Partition
		if owner[p] == e.member {
			run[p]++
		} else {
			owner[p], run[p] = e.member, 1
		}
	}
	maps.DeleteFunc(owner, func(p int32, _ string) bool { return run[p] < steady })
	return owner
}

// shared says whether all partitions are read by exactly the members, evenly
// if asked, otherwise each by at least one.
func shared(entries []entry, members []string, even bool) error {
	have := owners(entries)
	if len(have) < Partitions {
		return fmt.Errorf("records of only %d of %d partitions arrive: %v", len(have), Partitions, have)
	}
	parts := map[string]int{}
	for _, m := range have {
		parts[m]++
	}
	for _, m := range members {
		if n := parts[m]; n == 0 || even && n != Partitions/len(members) {
			return fmt.Errorf("%s reads %d of %d partitions: %v", m, n, Partitions, have)
		}
	}
	if len(parts) != len(members) {
		return fmt.Errorf("others than %v read partitions: %v", members, have)
	}
	return nil
}

// moves counts the assigned and revoked lines of a member.
func moves(entries []entry, name string) int {
	n := 0
	for _, e := range entries {
		if e.member == name && (e.line.Event == "assigned" || e.line.Event == "revoked") {
			n++
		}
	}
	return n
}

// A verdict is what a journal shows of a whole run.
type verdict struct {
	Records    int      // How many records were printed.
	Duplicates int      // How many of them had been printed before.
	Faults     []string // What breaks a promise, at most maxFaults of them.
}

const maxFaults = 10

// judge checks a whole run against the records that are in the topic: offsets
// [0, ends[p]) of each partition. What the client is known to do wrong on Kafka
// is forgiven: as many records may be missing, commits may come late.
//
//   - Every record was printed by someone.
//   - A member that prints offset n of a partition prints n+1 next, or has
//     been given the partition anew. Then it begins at a committed offset: not
//     below what the last acknowledged commit said (that commit was lost), and
//     not above the first record that nobody had printed (that one was
//     skipped). The last commit need not be the highest: some clients commit
//     what they had read of a partition after they lost it.
func (j *journal) judge(ends map[int32]int64, forgiven int, stale bool) verdict {
	entries, _ := j.since(0)
	// Lines of different processes are read in an order of its own.
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, byTime)

	var v verdict
	fault := func(format string, args ...any) {
		if len(v.Faults) < maxFaults {
			v.Faults = append(v.Faults, fmt.Sprintf(format, args...))
		}
	}
	type reader struct {
		member    string
		partition int32
	}
	next := map[reader]int64{}         // What a member reads next if it goes on.
	done := map[int32]int64{}          // Records below are printed.
	acked := map[int32]int64{}         // Commits that were acknowledged.
	seen := map[int32]map[int64]bool{} // By partition and offset.
	for p := range ends {
		seen[p] = map[int64]bool{}
	}
	for _, e := range entries {
		switch e.line.Event {
		case "committed":
			maps.Copy(acked, e.line.Offsets)
		case "record":
			p, o := e.line.Partition, e.line.Offset
			r := reader{e.member, p}
			if n, ok := next[r]; !ok || n != o {
				if o < acked[p] && !stale {
					fault("%s begins partition %d at %d though %d was committed", e.member, p, o, acked[p])
				}
				if o > done[p] && o-done[p] > int64(forgiven) {
					fault("%s begins partition %d at %d, skipping from %d", e.member, p, o, done[p])
				}
			}
			next[r] = o + 1
			done[p] = max(done[p], o+1)
			v.Records++
			if seen[p] == nil {
				fault("%s got a record of partition %d, which is not in the topic", e.member, p)
				continue
			}
			if seen[p][o] {
				v.Duplicates++
			}
			seen[p][o] = true
		}
	}
	for _, p := range slices.Sorted(maps.Keys(ends)) {
		if missing := ends[p] - int64(len(seen[p])); missing > 0 {
			if missing <= int64(forgiven) {
				forgiven -= int(missing)
				continue
			}
			o := int64(0)
			for seen[p][o] {
				o++
			}
			fault("%d of %d records of partition %d were never seen, %d the first", missing, ends[p], p, o)
		}
	}
	return v
}

// resumed says whether the first record of each partition since the mark is
// the one at the given offset.
func resumed(entries []entry, at map[int32]int64) error {
	first := map[int32]int64{}
	for _, e := range entries {
		if _, ok := first[e.line.Partition]; !ok && e.line.Event == "record" {
			first[e.line.Partition] = e.line.Offset
		}
	}
	for p, want := range at {
		if got, ok := first[p]; !ok || got != want {
			return fmt.Errorf("partition %d: committed %d, the first record was %d (any: %v)", p, want, got, ok)
		}
	}
	return nil
}

// save writes the journal to a file, for who looks for the cause of a fault.
func (j *journal) save(file string) error {
	entries, _ := j.since(0)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for _, e := range entries {
		if err := enc.Encode(struct {
			At     int64
			Member string
			Line   member.Line
		}{e.at, e.member, e.line}); err != nil {
			return err
		}
	}
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// timeOf is when a line happened, as far as known.
func timeOf(l member.Line) int64 {
	if l.Time != 0 {
		return l.Time
	}
	return time.Now().UnixMicro()
}

func byTime(a, b entry) int { return cmp.Compare(a.at, b.at) }
