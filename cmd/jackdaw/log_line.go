package main

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
)

// formatKafka and formatJSON are the values of jackdaw.log.format.
const (
	formatKafka = "kafka"
	formatJSON  = "json"
)

// loggerKey is the attribute that names the logger at the end of a line; without it componentKey does.
const (
	loggerKey    = "logger"
	componentKey = "component"
)

// newLogger is newLeveledLogger for those who do not change levels.
func newLogger(w io.Writer, format, level string) *slog.Logger {
	lg, _ := newLeveledLogger(w, format, level)
	return lg
}

// lineWriter writes whole lines of several handlers to one stream.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lineWriter) write(line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.w.Write(line)
	return err
}

// lineHandler writes lines in the form of Kafka's log4j layout, so that tools made for Kafka's logs read them:
//
//	[2026-11-29 20:00:00,123] INFO message key=value (component)
type lineHandler struct {
	out    *lineWriter
	name   string // logger or component
	attrs  string // rendered, each with a space before it
	prefix string // of open groups, each with a dot after it
}

// Enabled implements slog.Handler; levelHandler decides before it.
func (h *lineHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	line := make([]byte, 0, 256)
	line = append(line, '[')
	line = r.Time.AppendFormat(line, "2006-01-02 15:04:05,000")
	line = append(line, "] "...)
	line = append(line, r.Level.String()...)
	line = append(line, ' ')
	line = append(line, oneLine(r.Message)...)
	line = append(line, h.attrs...)
	name := h.name
	r.Attrs(func(a slog.Attr) bool {
		line = h.appendAttr(line, &name, h.prefix, a)
		return true
	})
	if name != "" {
		line = append(line, " ("+name+")"...)
	}
	return h.out.write(append(line, '\n'))
}

// WithAttrs implements slog.Handler.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	line := []byte(h.attrs)
	for _, a := range attrs {
		line = next.appendAttr(line, &next.name, h.prefix, a)
	}
	next.attrs = string(line)
	return &next
}

// WithGroup implements slog.Handler.
func (h *lineHandler) WithGroup(name string) slog.Handler {
	next := *h
	if name != "" {
		next.prefix += name + "."
	}
	return &next
}

// appendAttr adds " key=value" to line. A logger's or component's name goes to name instead.
func (h *lineHandler) appendAttr(line []byte, name *string, prefix string, a slog.Attr) []byte {
	v := a.Value.Resolve()
	switch {
	case a.Equal(slog.Attr{}):
		return line
	case prefix == "" && (a.Key == loggerKey || a.Key == componentKey):
		*name = v.String()
		return line
	case v.Kind() == slog.KindGroup:
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range v.Group() {
			line = h.appendAttr(line, name, prefix, inner)
		}
		return line
	}
	line = append(line, ' ')
	line = append(line, prefix...)
	line = append(line, a.Key...)
	line = append(line, '=')
	return append(line, quoteIfNeeded(text(v))...)
}

func text(v slog.Value) string {
	switch v.Kind() {
	case slog.KindTime:
		return v.Time().Format(time.RFC3339Nano)
	case slog.KindDuration:
		return strings.Replace(v.Duration().String(), "\u00b5s", "us", 1) // the log is ASCII
	default:
		return v.String()
	}
}

// quoteIfNeeded quotes values that would blur where they end.
func quoteIfNeeded(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' || r == '=' || r == 0x7f }) {
		return strconv.Quote(s)
	}
	return s
}

// oneLine keeps a message on its line.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\n\r") {
		return s
	}
	return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(s)
}
