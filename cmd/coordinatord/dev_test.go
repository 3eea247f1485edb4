package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Records and committed offsets survive kill -9: the group resumes where it was.
func TestDevResumesAfterKill(t *testing.T) {
	t.Parallel()
	dir, p := t.TempDir(), freePorts(t, 2)
	args := append([]string{"dev", "--data-dir", dir, "--topics", "orders:3"}, p.args()...)
	d := start(t, args...)
	require.Equal(t, fmt.Sprintf("127.0.0.1:%d", p.listen), d.bootstrap)
	produce(t, d.bootstrap, "orders", 0, 40)
	produce(t, d.bootstrap, "created-on-first-use", 0, 5)
	seen := make(map[string]int)
	for _, v := range consumeGroup(t, d.bootstrap, "g1", "orders", 25) {
		seen[v]++
	}
	d.kill()

	d = start(t, args...)
	produce(t, d.bootstrap, "orders", 40, 60)
	for _, v := range consumeGroup(t, d.bootstrap, "g1", "orders", 35) {
		seen[v]++
	}
	require.Len(t, seen, 60)
	for v, times := range seen {
		require.Equal(t, 1, times, v)
	}
	require.Len(t, consumeGroup(t, d.bootstrap, "g2", "created-on-first-use", 5), 5)

	d.awaitEmpty("g1")
	status, body := d.get("/v1/groups/g1")
	require.Equal(t, http.StatusOK, status, body)
	var g struct {
		State   string
		Lag     int64
		Members []any
		Offsets []struct{ Offset, LogEnd int64 }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &g))
	require.Equal(t, "Empty", g.State)
	require.Zero(t, g.Lag)
	require.Empty(t, g.Members)
	require.Len(t, g.Offsets, 3)
	require.Equal(t, 0, d.terminate())
}

// A producer that lives on through kill -9 of the daemon and its stand-in goes on, and each acknowledged record is there
// once and in its order.
func TestDevProducerGoesOnAfterKill(t *testing.T) {
	t.Parallel()
	dir, p := t.TempDir(), freePorts(t, 1)
	args := append([]string{"dev", "--data-dir", dir, "--topics", "orders:1"}, p.args()...)
	d := start(t, args...)
	producer := kafkaClient(t, d.bootstrap)
	const rounds, each = 3, 20
	for round := range rounds {
		if round > 0 {
			d.kill()
			d = start(t, args...)
		}
		for i := range each {
			r := &kgo.Record{Topic: "orders", Value: fmt.Append(nil, round*each+i)}
			require.NoError(t, producer.ProduceSync(testContext(t), r).FirstErr(), "round %d", round)
		}
	}
	want := make([]string, rounds*each)
	for i := range want {
		want[i] = fmt.Sprint(i)
	}
	require.Equal(t, want, consumeGroup(t, d.bootstrap, "g", "orders", len(want)))
}
