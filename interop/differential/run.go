package differential

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"
)

// A Sequence is one script and what it is for.
type Sequence struct {
	Name    string
	Profile Profile
	Lines   []string // numbered lines of the behaviour reference
	Focus   []int16  // the APIs of which the lines speak
	// Exclusive names something that two plays on one broker may not share, e.g. the group with the empty name.
	Exclusive string
	// Long sequences wait more than they work; they do not count among the parallel ones.
	Long bool
	Run  func(*Script)
}

// A Pair is the two targets of one profile.
type Pair struct{ A, B *Target }

// A Result is one sequence played against both targets.
type Result struct {
	Sequence    Sequence
	A, B        []Step
	Cells       [][2]int16 // API and version of the focus that were sent
	Differences []Difference
	Mismatches  []string // where target A (Kafka) is not what the reference says
	Explained   map[string]int
	Took        time.Duration
	Plays       int  // see playBoth
	unfit       bool // Kafka was not as the reference says
}

// A Difference is one step at which the targets differ and no divergence explains it.
type Difference struct {
	Step    string
	Request []Field
	A, B    string
	Why     string
}

// Run plays sequences, at most parallel at a time (each against both targets), and hands every result to done.
func Run(ctx context.Context, seqs []Sequence, pairs map[Profile]Pair, parallel int, known map[string]bool, done func(Result)) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		slots = make(chan struct{}, parallel)
		locks sync.Map
	)
	for _, seq := range seqs {
		if !seq.Long {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				wg.Wait()
				return
			}
		}
		wg.Go(func() {
			if !seq.Long {
				defer func() { <-slots }()
			}
			r := playBoth(seq, pairs[seq.Profile], &locks, known)
			mu.Lock()
			defer mu.Unlock()
			done(r)
		})
	}
	wg.Wait()
}

// playBoth plays a sequence against both targets. It plays again, with new groups, when the script itself was late or
// when Kafka was not as the reference says: on a loaded machine a broker may stall past a timer, and such a play says
// nothing about the daemon. What is always so comes back at every try and is reported.
func playBoth(seq Sequence, pair Pair, locks *sync.Map, known map[string]bool) Result {
	const tries = 4
	for try := 1; ; try++ {
		r, slow := playOnce(seq, try, pair, locks, known)
		r.Plays = try
		again := slow || r.unfit
		if seq.Profile == Restart {
			again = false // there is one restart only
		}
		if !again {
			return r
		}
		if try == tries {
			if slow {
				r.Mismatches = append(r.Mismatches, fmt.Sprintf("the machine is too slow for this sequence, tried %d times", try))
			}
			return r
		}
	}
}

func playOnce(seq Sequence, try int, pair Pair, locks *sync.Map, known map[string]bool) (Result, bool) {
	start := time.Now()
	var wg sync.WaitGroup
	var a, b *Script
	var slowA, slowB bool
	one := func(t *Target, into **Script, slow *bool) {
		// Both prefixes have the same length, so that both sides send the same number of bytes.
		h := fnv.New32a()
		_, _ = h.Write([]byte(seq.Name))
		s := newScript(t, fmt.Sprintf("%s-%s-%d-%08x", t.Side, strings.ReplaceAll(seq.Name, "/", "."), try, h.Sum32()))
		*into = s
		if seq.Exclusive != "" {
			l, _ := locks.LoadOrStore(t.Broker+" "+seq.Exclusive+fmt.Sprint(t.Daemon), &sync.Mutex{})
			l.(*sync.Mutex).Lock()
			defer l.(*sync.Mutex).Unlock()
		}
		_, *slow = s.play(seq.Run)
	}
	wg.Go(func() { one(pair.A, &a, &slowA) })
	wg.Go(func() { one(pair.B, &b, &slowB) })
	wg.Wait()
	r := Result{Sequence: seq, A: a.steps, B: b.steps, Took: time.Since(start), Explained: map[string]int{}}
	for cell := range a.cells {
		for _, k := range seq.Focus {
			if cell[0] == k {
				r.Cells = append(r.Cells, cell)
			}
		}
	}
	for _, st := range a.steps {
		if why := st.unfit(); why != "" {
			r.Mismatches = append(r.Mismatches, why)
			r.unfit = true
		}
	}
	for _, st := range b.steps {
		// The second Kafka of a self-check is no better.
		r.unfit = r.unfit || (!pair.B.Daemon && st.unfit() != "")
	}
	compare(&r, known)
	return r, slowA || slowB
}

// unfit says in which way a step is not what the sequence needs to exercise its lines, "" if it is.
func (st *Step) unfit() string {
	switch {
	case st.Mismatch != "":
		return st.Label + ": " + st.Mismatch
	case strings.HasPrefix(st.Kind, "stopped"):
		return st.Kind
	}
	return ""
}
