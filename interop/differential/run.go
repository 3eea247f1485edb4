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
	Plays       int // more than one when the script's own schedule slipped
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

func playBoth(seq Sequence, pair Pair, locks *sync.Map, known map[string]bool) Result {
	const tries = 4
	for try := 1; ; try++ {
		r, slow := playOnce(seq, try, pair, locks, known)
		r.Plays = try
		if !slow {
			return r
		}
		if try == tries {
			r.Mismatches = append(r.Mismatches, fmt.Sprintf("the machine is too slow for this sequence, tried %d times", try))
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
		if st.Mismatch != "" {
			r.Mismatches = append(r.Mismatches, st.Label+": "+st.Mismatch)
		}
		if strings.HasPrefix(st.Kind, "stopped") {
			r.Mismatches = append(r.Mismatches, st.Kind)
		}
	}
	compare(&r, known)
	return r, slowA || slowB
}
