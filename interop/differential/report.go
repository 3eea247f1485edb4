package differential

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// A report collects results and prints them as they come.
type report struct {
	out         io.Writer
	verbose     bool
	results     []Result
	differences int
	mismatches  int
	holes       int // cells of the table with neither a case nor a reason
}

func (r *report) add(res Result) {
	r.results = append(r.results, res)
	if r.verbose {
		fmt.Fprintf(r.out, "=== %s (%v)\n", res.Sequence.Name, res.Took.Round(time.Millisecond))
		for _, st := range res.A {
			fmt.Fprintf(r.out, "  %s\n    request %s\n    kafka   %s\n", st.Label, renderFields(st.Request), render(st))
		}
	}
	for _, m := range res.Mismatches {
		r.mismatches++
		fmt.Fprintf(r.out, "MISMATCH %s: Kafka: %s\n", res.Sequence.Name, m)
	}
	for _, d := range res.Differences {
		r.differences++
		fmt.Fprintf(r.out, "DIFFERENCE %s (lines %v)\n  step    %s\n  request %s\n  kafka   %s\n  other   %s\n",
			res.Sequence.Name, res.Sequence.Lines, d.Step, renderFields(d.Request), d.A, d.B)
		if d.Why != "" {
			fmt.Fprintf(r.out, "  why     %s\n", d.Why)
		}
	}
}

func (r *report) summary(took time.Duration) {
	explained := map[string]int{}
	different := map[string]bool{}
	again := 0
	for _, res := range r.results {
		again += res.Plays - 1
		for id, n := range res.Explained {
			explained[id] += n
		}
		if len(res.Differences) > 0 {
			different[res.Sequence.Name] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(explained)) {
		fmt.Fprintf(r.out, "explained by %s: %d\n", id, explained[id])
	}
	if again > 0 {
		fmt.Fprintf(r.out, "%d plays were repeated because the script was late or Kafka not as expected\n", again)
	}
	if r.mismatches > 0 {
		fmt.Fprintf(r.out, "%d steps where Kafka is not what the sequence expects\n", r.mismatches)
	}
	fmt.Fprintf(r.out, "%d sequences, %d unexplained differences (in %d sequences), %v\n",
		len(r.results), r.differences, len(different), took.Round(time.Second))
}
