package raftstore

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		os.Exit(runChild(spec))
	}
	goleak.VerifyTestMain(m)
}

func logStores(t *testing.T, f func(t *testing.T, kind string)) {
	for _, kind := range []string{LogStoreBBolt, LogStoreWAL} {
		t.Run(kind, func(t *testing.T) { f(t, kind) })
	}
}

func TestRestartKeepsEverything(t *testing.T) {
	logStores(t, func(t *testing.T, kind string) {
		cfg := testConfig(t, t.TempDir())
		cfg.LogStore = kind
		var want map[string][]byte
		for round := range 3 {
			s, m := open(t, cfg)
			require.Equal(t, uint64(round*40), m.count())
			if round > 0 {
				require.Equal(t, want, m.state())
			}
			var wg sync.WaitGroup
			for i := range 40 {
				wg.Go(func() { m.mustDo(t, s, fmt.Sprintf("k%d=%d", i, round)) })
			}
			wg.Wait()
			want = m.state()
			shut(t, s, m)
		}
	})
}

func TestProposeRefuses(t *testing.T) {
	cfg := testConfig(t, t.TempDir())
	cfg.QueueBytes = 1000
	s, m := open(t, cfg)
	require.ErrorIs(t, m.propose(s, string(make([]byte, 1001)), nil), ErrTooLarge)
	m.mustDo(t, s, "a=1")
	require.NoError(t, s.Close(context.Background()))
	require.ErrorIs(t, m.propose(s, "a=2", nil), ErrClosed)
	done := make(chan error, 1)
	s.Confirm(func(err error) { done <- err })
	require.ErrorIs(t, <-done, ErrClosed)
	require.Empty(t, m.complaints())
}
