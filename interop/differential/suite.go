package differential

import "strings"

// Suite lists all sequences.
func Suite() []Sequence {
	var out []Sequence
	add := func(s Sequence) adder {
		return func(name, lines string, focus []int16, run func(*Script)) {
			q := s
			q.Name, q.Lines, q.Focus, q.Run = name, strings.Fields(lines), focus, run
			out = append(out, q)
		}
	}
	for _, part := range []func(adder){
		joinSequences, rejoinSequences, staticSequences, syncSequences, heartbeatSequences, leaveSequences,
		commitSequences, fetchSequences, offsetDeleteSequences, adminSequences, findSequences, closeSequences,
		hiddenSequences,
		sizeSequences,
	} {
		part(add(Sequence{Profile: Plain}))
	}
	delaySequences(add(Sequence{Profile: Slow}))
	sweepSequences(add(Sequence{Profile: Slow, Long: true}))
	deletionSequences(add(Sequence{Profile: Plain, Long: true}))
	sessionSequences(add(Sequence{Profile: Plain, Long: true}))
	restartSequences(add(Sequence{Profile: Restart, Long: true}))
	emptyNameSequences(add(Sequence{Profile: Plain, Exclusive: "the group without a name"}))
	return out
}
