package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// row is one line of the table. Ours and theirs are texts with their units; a target is a text, holds says whether it does.
type row struct {
	what, ours, theirs, ratio, target string
	holds                             verdict
}

type verdict int

const (
	informs verdict = iota // no target
	holds
	fails
)

func (v verdict) String() string { return [...]string{"", "holds", "FALLS SHORT"}[v] }

func judge(ok bool) verdict {
	if ok {
		return holds
	}
	return fails
}

type table struct {
	rows  []row
	notes []string
}

func (t *table) add(r row)                    { t.rows = append(t.rows, r) }
func (t *table) note(format string, a ...any) { t.notes = append(t.notes, fmt.Sprintf(format, a...)) }

func (t *table) held() bool {
	return !slices.ContainsFunc(t.rows, func(r row) bool { return r.holds == fails })
}

func (t *table) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tcoordinatord\tKafka\tratio (median [min..max])\ttarget\t")
	for _, r := range t.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.what, r.ours, r.theirs, r.ratio, r.target, r.holds)
	}
	_ = w.Flush()
	for _, n := range t.notes {
		fmt.Fprintln(&b, "-", n)
	}
	return b.String()
}

// spread is a series of figures of the same thing.
type spread []float64

func (s spread) median() float64 {
	c := slices.Sorted(slices.Values(s))
	if len(c)%2 == 1 {
		return c[len(c)/2]
	}
	return (c[len(c)/2-1] + c[len(c)/2]) / 2
}

func (s spread) String() string {
	return fmt.Sprintf("%.3g [%.3g..%.3g]", s.median(), slices.Min(s), slices.Max(s))
}

// over divides pair by pair: the two series were measured in turn.
func (s spread) over(o spread) spread {
	r := make(spread, min(len(s), len(o)))
	for i := range r {
		r[i] = s[i] / o[i]
	}
	return r
}
