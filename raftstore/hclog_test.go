package raftstore

import (
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// What a lone voter does to become its own leader is written for debugging; what goes wrong is written as it is.
func TestRaftLinesOfALoneVoter(t *testing.T) {
	t.Parallel()
	for _, lone := range []bool{false, true} {
		core, seen := observer.New(zapcore.DebugLevel)
		log := newHCLog(zap.New(core), lone).With("peer", 2).Named("child")
		log.Warn("heartbeat timeout reached, starting election")
		log.Info("entering leader state")
		log.Warn("failed to contact", "server-id", "node-2")
		log.Error("failed to commit logs")
		log.Log(hclog.Off, "never")

		election, state := zapcore.WarnLevel, zapcore.InfoLevel
		if lone {
			election, state = zapcore.DebugLevel, zapcore.DebugLevel
		}
		var levels []zapcore.Level
		for _, e := range seen.All() {
			levels = append(levels, e.Level)
		}
		require.Equal(t, []zapcore.Level{election, state, zapcore.WarnLevel, zapcore.ErrorLevel}, levels)
	}
}

// A lone voter's start writes what Raft says of its election for debugging only.
func TestLoneStartIsQuiet(t *testing.T) {
	t.Parallel()
	core, seen := observer.New(zapcore.DebugLevel)
	cfg := testConfig(t, t.TempDir())
	cfg.Logger = zap.New(core)
	s, m := open(t, cfg)
	shut(t, s, m)

	said := seen.Filter(func(e observer.LoggedEntry) bool { return e.LoggerName == "raft" })
	require.NotZero(t, said.FilterMessage("heartbeat timeout reached, starting election").Len(), "Raft words it differently now")
	for _, e := range said.All() {
		require.Equal(t, zapcore.DebugLevel, e.Level, e.Message)
	}
}
