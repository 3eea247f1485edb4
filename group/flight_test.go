package group

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFlightsLandOnceInAnyOrder lets flights land in a random order, more than once, and with tokens never given.
func TestFlightsLandOnceInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := flights{first: 1, next: 1}
	open := make(map[Token]ReqID)
	given := []Token{0, 1 << 60}
	for i := range 5000 {
		if r.IntN(2) == 0 || len(open) > 300 {
			token := given[len(given)-1-r.IntN(min(len(given), 400))]
			landed := f.land(token)
			req, ok := open[token]
			require.Equal(t, ok, landed.kind != flightDone)
			require.Equal(t, req, landed.req)
			delete(open, token)
			continue
		}
		place, token := f.add()
		place.kind, place.req = flightCommit, ReqID(i+1)
		open[token] = ReqID(i + 1)
		given = append(given, token)
	}
	n := 0
	f.each(func(*flight) { n++ })
	require.Len(t, open, n)
	f.forget()
	for token := range open {
		require.Equal(t, flightDone, f.land(token).kind)
	}
	require.LessOrEqual(t, len(f.ring), 8192)
}
