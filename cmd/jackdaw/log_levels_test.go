package main

import (
	"bytes"
	"strings"
	"testing"

	"jackdaw/broker"
)

var _ broker.LogLevels = (*levels)(nil)

func TestLevels_OneLogger_IsChangedAlone(t *testing.T) {
	var buf bytes.Buffer
	root, l := newLeveledLogger(&buf, formatKafka, "info")
	fetcher, other := root.With("component", "fetcher", "leader", 3), root.With("component", "controller")
	l.SetLevel("fetcher", "DEBUG")
	fetcher.Debug("yes")
	other.Debug("no")
	root.Debug("no")
	l.SetLevel("fetcher", "ERROR")
	fetcher.Warn("no")
	l.SetLevel("fetcher", "")
	fetcher.Info("yes")
	fetcher.Debug("no")
	l.SetLevel(rootLogger, "FATAL")
	fetcher.Error("no")
	if got := buf.String(); strings.Count(got, "yes") != 2 || strings.Contains(got, "no") {
		t.Errorf("logged:\n%s", got)
	}
	want := map[string]string{"root": "FATAL", "fetcher": "FATAL", "controller": "FATAL"}
	for name, level := range l.Levels() {
		if want[name] != level {
			t.Errorf("%s is %s, want %s", name, level, want[name])
		}
	}
	if len(l.Levels()) != len(want) {
		t.Errorf("levels %v", l.Levels())
	}
}
