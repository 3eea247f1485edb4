package differential

import (
	"fmt"
	"strings"
)

// compare fills in the differences between the two recordings of a result. known holds the ids that
// docs/divergences.md defines.
func compare(r *Result, known map[string]bool) {
	add := func(st Step, a, b, why string) {
		r.Differences = append(r.Differences, Difference{Step: st.Label, Request: st.Request, A: a, B: b, Why: why})
	}
	for i := range max(len(r.A), len(r.B)) {
		switch {
		case i >= len(r.A):
			add(r.B[i], "(the sequence had ended)", render(r.B[i]), "one side went on")
			return
		case i >= len(r.B):
			add(r.A[i], render(r.A[i]), "(the sequence had ended)", "one side went on")
			return
		}
		a, b := r.A[i], r.B[i]
		if a.Divergence != "" {
			if !known[a.Divergence] {
				add(a, a.outcome(), b.outcome(), a.Divergence+" is not in docs/divergences.md")
			} else if a.outcome() != a.Want || b.outcome() != b.Want {
				add(a, a.outcome(), b.outcome(), fmt.Sprintf("%s says %q and %q", a.Divergence, a.Want, b.Want))
			}
			if a.Want != b.Want {
				r.Explained[a.Divergence]++
			}
			continue
		}
		if same(a, b) {
			continue
		}
		fa, fb := onlyDifferent(a, b)
		add(a, fa, fb, "")
		if a.Kind != b.Kind {
			// What follows depends on this answer; it would only repeat the news.
			return
		}
	}
}

func same(a, b Step) bool {
	if a.Kind != b.Kind || a.Label != b.Label || len(a.Fields) != len(b.Fields) {
		return false
	}
	for i := range a.Fields {
		if a.Fields[i] != b.Fields[i] {
			return false
		}
	}
	return true
}

// onlyDifferent renders two steps, leaving out the fields in which they agree when both are answers of one shape.
func onlyDifferent(a, b Step) (string, string) {
	if a.Kind != b.Kind || len(a.Fields) != len(b.Fields) {
		return render(a), render(b)
	}
	var sa, sb []string
	for i := range a.Fields {
		if a.Fields[i] != b.Fields[i] {
			sa = append(sa, a.Fields[i].Path+"="+a.Fields[i].Value)
			sb = append(sb, b.Fields[i].Path+"="+b.Fields[i].Value)
		}
	}
	return strings.Join(sa, " "), strings.Join(sb, " ")
}

func render(st Step) string {
	if st.Kind != "answer" {
		if len(st.Fields) == 0 {
			return st.Kind
		}
		return st.Kind + ": " + renderFields(st.Fields)
	}
	return renderFields(st.Fields)
}

func renderFields(fields []Field) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(f.Path + "=" + f.Value)
	}
	return b.String()
}
