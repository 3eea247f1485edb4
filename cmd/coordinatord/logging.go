package main

import (
	"io"
	"sync"
	"time"

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
	return loggerTo(newEncoder(format), level, &lockedWriter{w: w})
}

// startLog is newLogger for a daemon: whoever reads w may stand still. The queue is to be closed at the end.
func startLog(format, level string, w io.Writer) (*zap.Logger, *logQueue) {
	encoder := newEncoder(format)
	queue := newLogQueue(w, func(dropped uint64) []byte {
		e := zapcore.Entry{Level: zapcore.WarnLevel, Time: time.Now(), Message: "lines of the log were dropped, because it was not read as fast as it was written"}
		line, err := encoder.EncodeEntry(e, []zapcore.Field{zap.Uint64("dropped", dropped)})
		if err != nil {
			return nil
		}
		return line.Bytes()
	})
	return loggerTo(encoder, level, queue), queue
}

func loggerTo(encoder zapcore.Encoder, level string, w zapcore.WriteSyncer) *zap.Logger {
	lvl, err := zapcore.ParseLevel(level)
	if err != nil {
		lvl = zapcore.InfoLevel
	}
	return zap.New(zapcore.NewCore(encoder, w, lvl), zap.ErrorOutput(w))
}

func newEncoder(format string) zapcore.Encoder {
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	enc.EncodeDuration = zapcore.StringDurationEncoder
	if format == "json" {
		enc.TimeKey = "time"
		return zapcore.NewJSONEncoder(enc)
	}
	enc.EncodeTime = zapcore.TimeEncoderOfLayout("2006-01-02T15:04:05.000Z07:00")
	enc.EncodeLevel = zapcore.CapitalLevelEncoder
	return zapcore.NewConsoleEncoder(enc)
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
