package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// lineOf logs one record at a fixed time and returns the line.
func lineOf(t *testing.T, build func(*slog.Logger) *slog.Logger, level slog.Level, msg string, args ...any) string {
	t.Helper()
	var buf bytes.Buffer
	lg := build(newLogger(&buf, formatKafka, "debug"))
	r := slog.NewRecord(time.Date(2026, 11, 29, 20, 0, 0, 123_900_000, time.UTC), level, msg, 0)
	r.Add(args...)
	if err := lg.Handler().Handle(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func same(lg *slog.Logger) *slog.Logger { return lg }

func TestLineHandler_Records_InKafkasForm(t *testing.T) {
	for _, tc := range []struct {
		name  string
		build func(*slog.Logger) *slog.Logger
		level slog.Level
		msg   string
		args  []any
		want  string
	}{
		{"a message alone", same, slog.LevelInfo, "hello", nil, "[2026-11-29 20:00:00,123] INFO hello"},
		{
			"a component", func(lg *slog.Logger) *slog.Logger { return lg.With("component", "fetcher", "leader", 3) }, slog.LevelWarn, "refused",
			[]any{"topic", "t", "err", errors.New("no luck")},
			`[2026-11-29 20:00:00,123] WARN refused leader=3 topic=t err="no luck" (fetcher)`,
		},
		{
			"the logger's name wins when it is given later", func(lg *slog.Logger) *slog.Logger { return lg.With("component", "a") }, slog.LevelInfo,
			"[KafkaServer id=1] started",
			[]any{"logger", "kafka.server.KafkaServer"},
			"[2026-11-29 20:00:00,123] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)",
		},
		{
			"groups", func(lg *slog.Logger) *slog.Logger { return lg.WithGroup("g").With("a", 1) }, slog.LevelError, "m",
			[]any{slog.Group("h", "b", 2), "logger", "x"},
			"[2026-11-29 20:00:00,123] ERROR m g.a=1 g.h.b=2 g.logger=x",
		},
		{
			"what needs quotes", same, slog.LevelDebug, "two\nlines",
			[]any{"a", "", "b", "x y", "c", "p=q", "d", "l1\nl2", "e", 1500 * time.Millisecond, "f", 2500 * time.Nanosecond},
			`[2026-11-29 20:00:00,123] DEBUG two\nlines a="" b="x y" c="p=q" d="l1\nl2" e=1.5s f=2.5us`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := lineOf(t, tc.build, tc.level, tc.msg, tc.args...); got != tc.want+"\n" {
				t.Fatalf("got  %swant %s", got, tc.want)
			}
		})
	}
}

func TestNewLogger_Levels_Filter(t *testing.T) {
	for level, want := range map[string]int{"debug": 4, "info": 3, "warn": 2, "error": 1, "nonsense": 3} {
		var buf bytes.Buffer
		lg := newLogger(&buf, formatKafka, level)
		lg.Debug("a")
		lg.Info("b")
		lg.Warn("c")
		lg.Error("d")
		if got := strings.Count(buf.String(), "\n"); got != want {
			t.Errorf("%s: %d lines, want %d", level, got, want)
		}
	}
}

func TestNewLogger_JSON_IsJSON(t *testing.T) {
	var buf bytes.Buffer
	newLogger(&buf, formatJSON, "info").Info("hello", "component", "x")
	var got map[string]any
	if err := json.Unmarshal(buf.Bytes(), &got); err != nil || got["msg"] != "hello" || got["component"] != "x" {
		t.Fatalf("got %v, %v", got, err)
	}
}
