package load

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuantilesAreExactToThreePercent(t *testing.T) {
	var l Latencies
	for i := 1; i <= 100_000; i++ {
		l.Record(time.Duration(i) * time.Microsecond)
	}
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99, 0.999} {
		want := q * 100_000
		require.InEpsilon(t, want, float64(l.Quantile(q).Microseconds()), 0.035, "quantile %v", q)
	}
	require.Equal(t, 100*time.Millisecond, l.Quantile(1))
	require.Equal(t, uint64(100_000), l.Count())
}

func TestBucketsDoNotOverlap(t *testing.T) {
	for us := int64(1); us < 1<<20; us++ {
		d := time.Duration(us) * time.Microsecond
		if i := bucket(d); d > upper(i) || i > 1 && d <= upper(i-1) {
			t.Fatalf("%v lies in bucket %d, which ends at %v", d, i, upper(i))
		}
	}
}
