package main

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
)

// Kafka has a level above error and one below debug.
const (
	levelFatal = slog.LevelError + 4
	levelTrace = slog.LevelDebug - 4
)

// rootLogger is the name of the level that all loggers have without one of their own.
const rootLogger = "root"

var levelNames = map[slog.Level]string{
	levelFatal: "FATAL", slog.LevelError: "ERROR", slog.LevelWarn: "WARN", slog.LevelInfo: "INFO", slog.LevelDebug: "DEBUG", levelTrace: "TRACE",
}

// levels are the levels of loggers by name; it implements broker.LogLevels. A logger is known once it was made.
type levels struct {
	own atomic.Pointer[map[string]slog.Level] // never changed, only replaced; has root
	mu  struct {
		sync.Mutex
		known map[string]bool
	}
}

func newLevels(root slog.Level) *levels {
	l := &levels{}
	l.own.Store(&map[string]slog.Level{rootLogger: root})
	l.mu.known = map[string]bool{rootLogger: true}
	return l
}

func (l *levels) level(logger string) slog.Level {
	own := *l.own.Load()
	if level, ok := own[logger]; ok {
		return level
	}
	return own[rootLogger]
}

func (l *levels) know(logger string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.known[logger] = true
}

// Levels implements broker.LogLevels.
func (l *levels) Levels() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]string, len(l.mu.known))
	for name := range l.mu.known {
		out[name] = levelNames[l.level(name)]
	}
	return out
}

// SetLevel implements broker.LogLevels.
func (l *levels) SetLevel(logger, level string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := maps.Clone(*l.own.Load())
	delete(own, logger)
	for value, name := range levelNames {
		if name == level {
			own[logger] = value
		}
	}
	l.own.Store(&own)
}

// levelHandler lets through what the level of its logger permits.
type levelHandler struct {
	slog.Handler
	levels *levels
	logger string
	group  bool
}

// newLeveledLogger writes lines of the given form to w, from the given level up; the levels can be changed later. Unknown
// values mean Kafka's form and INFO.
func newLeveledLogger(w io.Writer, format, level string) (*slog.Logger, *levels) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		least = slog.LevelInfo
	}
	l := newLevels(least)
	var inner slog.Handler = &lineHandler{out: &lineWriter{w: w}}
	if format == formatJSON {
		inner = slog.NewJSONHandler(w, &slog.HandlerOptions{Level: levelTrace})
	}
	return slog.New(&levelHandler{Handler: inner, levels: l, logger: rootLogger}), l
}

// Enabled implements slog.Handler.
func (h *levelHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.levels.level(h.logger)
}

// WithAttrs implements slog.Handler.
func (h *levelHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.Handler = h.Handler.WithAttrs(attrs)
	for _, a := range attrs {
		if !h.group && (a.Key == loggerKey || a.Key == componentKey) {
			next.logger = a.Value.Resolve().String()
			h.levels.know(next.logger)
		}
	}
	return &next
}

// WithGroup implements slog.Handler.
func (h *levelHandler) WithGroup(name string) slog.Handler {
	next := *h
	next.Handler = h.Handler.WithGroup(name)
	next.group = h.group || name != ""
	return &next
}
