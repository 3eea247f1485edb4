package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// TestLogReaderThatStandsStill: a line never waits for the reader, and what was dropped is counted and told.
func TestLogReaderThatStandsStill(t *testing.T) {
	r, w := io.Pipe() // takes nothing until it is read
	log, queue := startLog("json", "info", w)
	written := make(chan struct{})
	const lines = 3000
	go func() {
		defer close(written)
		for i := range lines {
			log.Info("line", zap.Int("n", i), zap.String("pad", strings.Repeat("x", 1000)))
		}
	}()
	select {
	case <-written:
	case <-time.After(10 * time.Second):
		t.Fatal("the log waits for its reader")
	}
	dropped := queue.dropped.Load()
	require.Positive(t, dropped)
	require.Less(t, dropped, uint64(lines))

	read := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		read <- string(b)
	}()
	require.NoError(t, log.Sync())
	log.Error("the last line")
	queue.close()
	require.NoError(t, w.Close())
	got := strings.Split(strings.TrimSpace(<-read), "\n")
	require.Len(t, got, lines-int(dropped)+2)
	told := 0
	for i, line := range got {
		var e struct {
			Msg     string
			N       int
			Dropped int
		}
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		switch {
		case e.Dropped > 0:
			told += e.Dropped
		case i < len(got)-1:
			require.Equal(t, i, e.N, "the oldest are kept, in their order")
		default:
			require.Equal(t, "the last line", e.Msg)
		}
	}
	require.Equal(t, int(dropped), told)
}

// TestLogIsFlushed: what was logged is there when close returns, and a reader that takes nothing delays it by a bound.
func TestLogIsFlushed(t *testing.T) {
	out := &buffer{}
	log, queue := startLog("console", "info", out)
	for i := range 100 {
		log.Info(fmt.Sprint("line ", i))
	}
	queue.close()
	require.Equal(t, 100, strings.Count(out.String(), "\n"))

	r, w := io.Pipe()
	log, queue = startLog("console", "info", w)
	log.Info("nobody reads this")
	began := time.Now()
	queue.close()
	require.Less(t, time.Since(began), 10*logFlushTimeout)
	require.NoError(t, r.Close()) // lets the goroutine go
}
