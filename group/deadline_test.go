package group

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDeadlinesComeInOrder compares the heap with a sorted list, under arming, renewing, shortening and calling off.
func TestDeadlinesComeInOrder(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 5))
		var h deadlines
		all := make([]deadline, 40)
		var now time.Duration
		for range 2000 {
			d := &all[r.IntN(len(all))]
			switch r.IntN(5) {
			case 0:
				h.disarm(d)
				require.Zero(t, d.pos)
			case 1:
				now += time.Duration(r.IntN(3))
				for {
					earliest := min(now+1, earliestOf(all))
					got := h.expired(now)
					if earliest > now {
						require.Nil(t, got)
						break
					}
					require.NotNil(t, got)
					require.Equal(t, earliest, got.due)
				}
			default:
				h.arm(d, now+time.Duration(r.IntN(50)))
			}
			require.NoError(t, h.check())
			if next := h.next(); next != nil {
				require.Equal(t, earliestOf(all), next.due)
			} else {
				require.False(t, slices.ContainsFunc(all, func(d deadline) bool { return d.pos > 0 }))
			}
		}
	}
}

func earliestOf(all []deadline) time.Duration {
	earliest := time.Duration(1 << 62)
	for i := range all {
		if all[i].pos > 0 {
			earliest = min(earliest, all[i].due)
		}
	}
	return earliest
}

func TestDeadlinesOfOneInstantComeInTheOrderOfArming(t *testing.T) {
	var h deadlines
	all := make([]deadline, 20)
	for i := range all {
		h.arm(&all[i], 5)
	}
	for i := range all {
		require.Same(t, &all[i], h.expired(5))
	}
	require.Nil(t, h.expired(5))
}
