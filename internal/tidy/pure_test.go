package tidy

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// impure are the imports that a pure package may not have: time, chance and the outside world come in as arguments.
var impure = []string{"os", "sync", "sync/atomic", "context", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "testing"}

// impureCalls are the functions of package time that read a clock or wait.
var impureCalls = []string{
	"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc", "time.Tick", "time.NewTimer", "time.NewTicker",
}

// pureNet are the functions of package net that only take strings apart; a pure package may import net for them alone.
var pureNet = []string{"net.JoinHostPort", "net.SplitHostPort", "net.ParseIP"}

func TestPure_Packages_HaveNoClockNoLockNoIO(t *testing.T) {
	tr := load(t)
	for _, f := range tr.files {
		if r, _ := findRoom(f.dir); !r.pure || f.test {
			continue
		}
		for _, path := range f.imports() {
			if slices.Contains(impure, path) {
				t.Errorf("%s: a pure package may not import %s", f.path, path)
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: a pure package starts no goroutine", tr.at(n))
			}
			if s := selector(n); slices.Contains(impureCalls, s) || strings.HasPrefix(s, "net.") && !slices.Contains(pureNet, s) {
				t.Errorf("%s: a pure package may not call %s", tr.at(n), s)
			}
			return true
		})
	}
}

// started lists the files that may hold `go` statements, how many, and why they are not a run.Group.
var started = map[string]struct {
	n   int
	why string
}{
	"internal/run/group.go": {1, "the group itself"},
}

func TestGoroutines_Started_AreListed(t *testing.T) {
	tr := load(t)
	found := map[string]int{}
	for _, f := range tr.files {
		if f.test || outsider(f.dir) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				found[f.path]++
				if found[f.path] > started[f.path].n {
					t.Errorf("%s: start goroutines with run.Group.Go, or give the reason in internal/tidy", tr.at(n))
				}
			}
			return true
		})
	}
	for path, s := range started {
		if found[path] < s.n {
			t.Errorf("%s: %d go statements are allowed and %d are there: shorten the list", path, s.n, found[path])
		}
	}
}
