package load

import (
	"math"
	"math/bits"
	"time"
)

// subBuckets is the number of buckets in each power of two: figures are exact to about 3 %.
const subBuckets = 32

// Latencies is a histogram of durations from 1 µs up. The zero value is ready for use.
type Latencies struct {
	counts [40 * subBuckets]uint64
	n      uint64
	max    time.Duration
}

// Record adds one duration.
func (l *Latencies) Record(d time.Duration) {
	l.counts[bucket(d)]++
	l.n++
	l.max = max(l.max, d)
}

// Add adds all of o.
func (l *Latencies) Add(o *Latencies) {
	for i, c := range o.counts {
		l.counts[i] += c
	}
	l.n += o.n
	l.max = max(l.max, o.max)
}

// Count returns how many durations were recorded.
func (l *Latencies) Count() uint64 { return l.n }

// Max returns the longest duration.
func (l *Latencies) Max() time.Duration { return l.max }

// Quantile returns the duration that the share q of all does not exceed.
func (l *Latencies) Quantile(q float64) time.Duration {
	want := uint64(math.Ceil(q * float64(l.n)))
	var seen uint64
	for i, c := range l.counts {
		if seen += c; seen >= want && c > 0 {
			return min(upper(i), l.max)
		}
	}
	return l.max
}

func bucket(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 1))
	if us < subBuckets {
		return int(us)
	}
	shift := bits.Len64(us) - bits.Len64(subBuckets)
	return min((shift+1)*subBuckets+int(us>>shift)-subBuckets, len(Latencies{}.counts)-1)
}

func upper(i int) time.Duration {
	if i < subBuckets {
		return time.Duration(i) * time.Microsecond
	}
	shift := i/subBuckets - 1
	us := uint64(i%subBuckets+subBuckets+1)<<shift - 1
	return time.Duration(us) * time.Microsecond
}
