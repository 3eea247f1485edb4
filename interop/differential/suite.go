package differential

import "strings"

// Suite lists all sequences.
func Suite() []Sequence {
	var out []Sequence
	in := func(p Profile, exclusive string) adder {
		return func(name, lines string, focus []int16, run func(*Script)) {
			out = append(out, Sequence{
				Name: name, Profile: p, Lines: strings.Fields(lines), Focus: focus, Exclusive: exclusive, Run: run,
			})
		}
	}
	plain := in(Plain, "")
	for _, part := range []func(adder){
		joinSequences, rejoinSequences, staticSequences, syncSequences, heartbeatSequences, leaveSequences,
		commitSequences, fetchSequences, offsetDeleteSequences, adminSequences, findSequences, closeSequences,
	} {
		part(plain)
	}
	emptyNameSequences(in(Plain, "the group without a name"))
	return out
}
