package suite

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A Pair is one scenario of one client through the daemon and, as the control,
// directly on Kafka. Either may be nil.
type Pair struct{ Daemon, Direct *Result }

// Matrix prints a table of clients and steps and returns how many differences
// are not explained. A cell is
//
//	ok      as it should be (with the seconds it took)
//	DIFF    wrong through the daemon, right on Kafka
//	FAIL    wrong through the daemon, no control was run
//	CONTROL wrong on Kafka: the suite or the client is at fault
//	known   DIFF, explained by docs/divergences.md
//	-       not reached
func Matrix(w io.Writer, pairs []Pair, explained map[string]bool) (int, error) {
	bad := 0
	var notes []string
	for _, kind := range []Kind{Dynamic, Static} {
		rows := slices.DeleteFunc(slices.Clone(pairs), func(p Pair) bool { return p.any().Kind != kind })
		if len(rows) == 0 {
			continue
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "%s\t%s\tread\ttwice\n", kind, strings.Join(kind.Steps(), "\t"))
		for _, p := range rows {
			fmt.Fprintf(t, "%s", p.any().Client)
			for _, step := range kind.Steps() {
				text, isBad, note := p.cell(step, explained)
				fmt.Fprintf(t, "\t%s", text)
				if isBad {
					bad++
				}
				if note != "" {
					notes = append(notes, note)
				}
			}
			v := p.any().Verdict
			fmt.Fprintf(t, "\t%d\t%d\n", v.Records, v.Duplicates)
			for _, d := range p.facts() {
				if !explained[p.any().Client+"/"+string(kind)+"/facts"] {
					bad++
				}
				notes = append(notes, d)
			}
		}
		if err := t.Flush(); err != nil {
			return bad, err
		}
		fmt.Fprintln(w)
	}
	for _, n := range notes {
		fmt.Fprintln(w, n)
	}
	return bad, nil
}

func (p Pair) any() *Result { return cmp.Or(p.Daemon, p.Direct) }

// cell is the text of one cell, whether it counts as a difference, and what
// there is to say about it below the table.
func (p Pair) cell(step string, explained map[string]bool) (text string, bad bool, note string) {
	id := fmt.Sprintf("%s/%s/%s", p.any().Client, p.any().Kind, step)
	state := func(r *Result) (ok, reached bool, err error) {
		if r == nil {
			return true, true, nil
		}
		s, reached := r.Steps[step]
		return reached && s.Err == nil, reached, s.Err
	}
	ok, reached, err := state(p.Daemon)
	controlOK, controlReached, controlErr := state(p.Direct)
	switch {
	case !controlReached, !reached && controlOK:
		return "-", true, ""
	case !controlOK:
		return "CONTROL", true, fmt.Sprintf("%s directly on Kafka: %v", id, controlErr)
	case ok:
		took := cmp.Or(p.Daemon, p.Direct).Steps[step].Took
		return fmt.Sprintf("ok %.1f", took.Seconds()), false, ""
	case explained[id]:
		return "known", false, ""
	case p.Direct == nil:
		return "FAIL", true, fmt.Sprintf("%s: %v", id, err)
	default:
		return "DIFF", true, fmt.Sprintf("%s: %v (on Kafka it is right)", id, err)
	}
}

// facts are the facts that differ.
func (p Pair) facts() []string {
	if p.Daemon == nil || p.Direct == nil {
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.Direct.Facts)) {
		got, ok := p.Daemon.Facts[name]
		if want := p.Direct.Facts[name]; ok && got != want {
			out = append(out, fmt.Sprintf("%s/%s/facts: %s: %s; on Kafka: %s", p.Daemon.Client, p.Daemon.Kind, name, got, want))
		}
	}
	return out
}

// Explained are the differences that a page on divergences explains: every
// `interop:CLIENT/SCENARIO/STEP` or `interop:tools/CASE` in it.
func Explained(file string) (map[string]bool, error) {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	out := map[string]bool{}
	for word := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return strings.ContainsRune(" \t\n`,;()|", r) }) {
		if id, ok := strings.CutPrefix(word, "interop:"); ok {
			out[id] = true
		}
	}
	return out, nil
}

// ToolTable prints how many calls of tools were the same and what differed in
// the others, and returns how many differ without an explanation.
func ToolTable(w io.Writer, cases []ToolCase, explained map[string]bool) int {
	if len(cases) == 0 {
		return 0
	}
	bad, same, known := 0, 0, 0
	for _, c := range cases {
		switch {
		case c.Same():
			same++
		case explained["tools/"+c.ID] && c.Err == nil:
			known++
		default:
			bad++
			fmt.Fprintf(w, "tools/%s:\n", c.ID)
			if c.Err != nil {
				fmt.Fprintf(w, "  %v\n", c.Err)
			}
			fmt.Fprintf(w, "%s\n", difference(c.Direct, c.Daemon))
		}
	}
	fmt.Fprintf(w, "tools: %d calls the same, %d differ as explained, %d differ\n", same, known, bad)
	return bad
}

// difference shows the lines that only one of two outputs has.
func difference(direct, daemon string) string {
	a, b := strings.Split(direct, "\n"), strings.Split(daemon, "\n")
	var out []string
	for _, l := range a {
		if !slices.Contains(b, l) {
			out = append(out, "  Kafka:  "+l)
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) {
			out = append(out, "  daemon: "+l)
		}
	}
	if len(out) == 0 {
		return "  both: " + strings.Join(a, "\n        ")
	}
	return strings.Join(out, "\n")
}

// Summary is one line about a run.
func (r *Result) Summary(target string) string {
	state := "ok"
	for _, s := range r.Kind.Steps() {
		if step, ok := r.Steps[s]; !ok || step.Err != nil {
			state = fmt.Sprintf("failed at %s: %v", s, step.Err)
			break
		}
	}
	return fmt.Sprintf("%-24s %-8s %-7s %4.0f s  %s", r.Client, r.Kind, target, r.Took.Round(time.Second).Seconds(), state)
}
