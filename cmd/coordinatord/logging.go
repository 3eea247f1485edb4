package main

import (
	"io"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func checkLogging(format, level string) error {
	if format != "console" && format != "json" {
		return usagef("--log-format: %q is neither console nor json", format)
	}
	if l, err := zapcore.ParseLevel(level); err != nil || level == "" || l > zapcore.ErrorLevel {
		return usagef("--log-level: %q is not debug, info, warn or error", level)
	}
	return nil
}

// newLogger writes one line per entry to w. The format and the level have been checked.
func newLogger(format, level string, w io.Writer) *zap.Logger {
	lvl, err := zapcore.ParseLevel(level)
	if err != nil {
		lvl = zapcore.InfoLevel
	}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	enc.EncodeDuration = zapcore.StringDurationEncoder
	var encoder zapcore.Encoder
	if format == "json" {
		enc.TimeKey = "time"
		encoder = zapcore.NewJSONEncoder(enc)
	} else {
		enc.EncodeTime = zapcore.TimeEncoderOfLayout("2006-01-02T15:04:05.000Z07:00")
		enc.EncodeLevel = zapcore.CapitalLevelEncoder
		encoder = zapcore.NewConsoleEncoder(enc)
	}
	return zap.New(zapcore.NewCore(encoder, &lockedWriter{w: w}, lvl), zap.ErrorOutput(&lockedWriter{w: w}))
}

// lockedWriter makes each entry one write.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (l *lockedWriter) Sync() error { return nil }
