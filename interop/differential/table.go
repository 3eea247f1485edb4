package differential

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A cell is one API in one version under one numbered line.
type cell struct {
	line    string
	key     int16
	version int16
}

// coverage counts the sequences of every cell.
func coverage(results []Result) map[cell]int {
	n := map[cell]int{}
	for _, r := range results {
		for _, l := range r.Sequence.Lines {
			for _, c := range r.Cells {
				n[cell{l, c[0], c[1]}]++
			}
		}
	}
	return n
}

// allLines are the numbered lines in the order of the reference.
func allLines() []line { return append(slices.Clone(lines), behaviours...) }

// unexplainedCells are cells that have neither a case nor a reason: versions of an API that a line has cases for, and
// lines without any.
func unexplainedCells(n map[cell]int) []string {
	var out []string
	for _, l := range allLines() {
		if l.reason != "" {
			continue
		}
		found := false
		for _, key := range apiOrder {
			have, miss := versionsOf(n, l.id, key)
			found = found || len(have) > 0
			if len(have) > 0 && len(miss) > 0 {
				out = append(out, fmt.Sprintf("%s %s: no case for versions %v", l.id, apiName(key), miss))
			}
		}
		if !found {
			out = append(out, l.id+": no case at all")
		}
	}
	return out
}

// versionsOf splits the served versions of an API into those with a case under a line and those without.
func versionsOf(n map[cell]int, id string, key int16) (have, miss []int16) {
	r := versions[key]
	for v := r[0]; v <= r[1]; v++ {
		if n[cell{id, key, v}] > 0 {
			have = append(have, v)
		} else {
			miss = append(miss, v)
		}
	}
	return have, miss
}

// table prints line × API × version: the number of sequences of each cell, "-" where the reason at the end of the row
// stands for a case.
func (r *report) table() {
	n := coverage(r.results)
	fmt.Fprintln(r.out, "line   API                 cases by version (v:sequences, - for the reason)")
	for _, l := range allLines() {
		fmt.Fprintf(r.out, "%-6s %s\n", l.id, l.title)
		rows := 0
		for _, key := range apiOrder {
			have, miss := versionsOf(n, l.id, key)
			if len(have) == 0 {
				continue
			}
			rows++
			var cells []string
			for v := versions[key][0]; v <= versions[key][1]; v++ {
				if c := n[cell{l.id, key, v}]; c > 0 {
					cells = append(cells, fmt.Sprintf("%d:%d", v, c))
				} else {
					cells = append(cells, fmt.Sprintf("%d:-", v))
				}
			}
			fmt.Fprintf(r.out, "       %-19s %s", apiName(key), strings.Join(cells, " "))
			if len(miss) > 0 {
				fmt.Fprintf(r.out, "   (-: %s)", cmp.Or(l.reason, "NO REASON"))
			}
			fmt.Fprintln(r.out)
		}
		if rows == 0 {
			fmt.Fprintf(r.out, "       no case: %s\n", cmp.Or(l.reason, "NO REASON"))
		}
	}
	for _, u := range unexplainedCells(n) {
		r.holes++
		fmt.Fprintln(r.out, "HOLE", u)
	}
	byAPI := map[int16]int{}
	for c := range n {
		byAPI[c.key]++
	}
	for _, key := range slices.Sorted(maps.Keys(byAPI)) {
		fmt.Fprintf(r.out, "%s: %d cells with a case\n", apiName(key), byAPI[key])
	}
}
