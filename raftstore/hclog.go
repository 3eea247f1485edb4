package raftstore

import (
	"fmt"
	"io"
	"log"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// hcLog lets the Raft library log through zap.
type hcLog struct {
	zap     *zap.Logger
	name    string
	lone    bool // a vote of one is no news: its lines are for debugging
	implied []any
}

func newHCLog(z *zap.Logger, lone bool) hclog.Logger {
	return &hcLog{zap: z.Named("raft").WithOptions(zap.AddCallerSkip(2)), name: "raft", lone: lone}
}

// electionLines are what Raft warns of at an election. A node that votes alone elects itself at every start, and again
// when the machine was too busy to let it do so within the timeout.
var electionLines = map[string]bool{
	"heartbeat timeout reached, starting election":  true,
	"Election timeout reached, restarting election": true,
}

// level is what a line of Raft is worth here.
func (h *hcLog) level(l hclog.Level, msg string) zapcore.Level {
	z := zapLevel(l)
	if h.lone && (z == zapcore.InfoLevel || z == zapcore.WarnLevel && electionLines[msg]) {
		return zapcore.DebugLevel
	}
	return z
}

func zapLevel(l hclog.Level) zapcore.Level {
	switch l {
	case hclog.Error:
		return zapcore.ErrorLevel
	case hclog.Warn:
		return zapcore.WarnLevel
	case hclog.NoLevel, hclog.Info:
		return zapcore.InfoLevel
	case hclog.Trace, hclog.Debug, hclog.Off:
		return zapcore.DebugLevel
	}
	return zapcore.DebugLevel
}

func (h *hcLog) Log(level hclog.Level, msg string, args ...any) {
	if level == hclog.Off {
		return
	}
	if e := h.zap.Check(h.level(level, msg), msg); e != nil {
		e.Write(zapFields(args)...)
	}
}

// zapFields turns pairs of key and value into fields.
func zapFields(args []any) []zap.Field {
	fields := make([]zap.Field, 0, len(args)/2+1)
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) {
			fields = append(fields, zap.Any("extra", args[i]))
			break
		}
		key := fmt.Sprint(args[i])
		switch v := args[i+1].(type) {
		case hclog.Format:
			if f, ok := v[0].(string); ok {
				fields = append(fields, zap.String(key, fmt.Sprintf(f, v[1:]...)))
			}
		case error:
			fields = append(fields, zap.NamedError(key, v))
		case fmt.Stringer:
			fields = append(fields, zap.Stringer(key, v))
		default:
			fields = append(fields, zap.Any(key, v))
		}
	}
	return fields
}

func (h *hcLog) Trace(msg string, args ...any) { h.Log(hclog.Trace, msg, args...) }
func (h *hcLog) Debug(msg string, args ...any) { h.Log(hclog.Debug, msg, args...) }
func (h *hcLog) Info(msg string, args ...any)  { h.Log(hclog.Info, msg, args...) }
func (h *hcLog) Warn(msg string, args ...any)  { h.Log(hclog.Warn, msg, args...) }
func (h *hcLog) Error(msg string, args ...any) { h.Log(hclog.Error, msg, args...) }

func (h *hcLog) IsTrace() bool { return false }
func (h *hcLog) IsDebug() bool { return h.zap.Core().Enabled(zapcore.DebugLevel) }
func (h *hcLog) IsInfo() bool  { return h.zap.Core().Enabled(zapcore.InfoLevel) }
func (h *hcLog) IsWarn() bool  { return h.zap.Core().Enabled(zapcore.WarnLevel) }
func (h *hcLog) IsError() bool { return h.zap.Core().Enabled(zapcore.ErrorLevel) }

func (h *hcLog) ImpliedArgs() []any { return h.implied }
func (h *hcLog) Name() string       { return h.name }

func (h *hcLog) With(args ...any) hclog.Logger {
	implied := append(append([]any(nil), h.implied...), args...)
	return &hcLog{zap: h.zap.With(zapFields(args)...), name: h.name, lone: h.lone, implied: implied}
}

func (h *hcLog) Named(name string) hclog.Logger {
	return &hcLog{zap: h.zap.Named(name), name: h.name + "." + name, lone: h.lone, implied: h.implied}
}

func (h *hcLog) ResetNamed(name string) hclog.Logger { return h.Named(name) }

// SetLevel does nothing: the level is zap's.
func (h *hcLog) SetLevel(hclog.Level) {}

func (h *hcLog) GetLevel() hclog.Level {
	if h.IsDebug() {
		return hclog.Debug
	}
	return hclog.Info
}

func (h *hcLog) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return zap.NewStdLog(h.zap)
}

func (h *hcLog) StandardWriter(*hclog.StandardLoggerOptions) io.Writer {
	return zap.NewStdLog(h.zap).Writer()
}
