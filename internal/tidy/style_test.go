package tidy

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestPackages_Each_HasItsDoc(t *testing.T) {
	tr := load(t)
	documented := map[string]bool{}
	for _, f := range tr.files {
		if path.Base(f.path) == "doc.go" && f.syntax.Doc != nil {
			documented[f.dir] = true
		}
	}
	for _, f := range tr.files {
		if !documented[f.dir] {
			documented[f.dir] = true // once
			t.Errorf("%s: no doc.go with a package comment", f.dir)
		}
		if base := path.Base(f.dir); slices.Contains([]string{"util", "utils", "common", "types", "helpers"}, base) {
			t.Errorf("%s: a package is named after one idea", f.dir)
		}
	}
}

// fresh lists the files outside of main that may make a context of their own, and why.
var fresh = map[string]string{
	"broker/stop.go":             "a stop outlives the context whose end began it",
	"broker/wiring.go":           "called back by the log, which has no context; bounded by the session time-out",
	"zkstore/zkserver/server.go": "binding a port does not wait",
}

// A fresh context has no deadline and no owner, so only main and tests make one.
func TestContexts_Background_OnlyInMain(t *testing.T) {
	tr := load(t)
	for _, f := range tr.files {
		if f.test || fresh[f.path] != "" || strings.HasPrefix(f.dir, "cmd/") || outsider(f.dir) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if s := selector(n); s == "context.Background" || s == "context.TODO" {
				t.Errorf("%s: %s outside of main", tr.at(n), s)
			}
			return true
		})
	}
}

// Sleeping tests are slow on a fast machine and wrong on a slow one. Bubbles of synctest may sleep: their time is virtual.
func TestTests_Sleep_OnlyInBubbles(t *testing.T) {
	tr := load(t)
	for _, f := range tr.files {
		if !f.test || slices.Contains(f.imports(), "testing/synctest") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if selector(n) == "time.Sleep" {
				t.Errorf("%s: time.Sleep in a test", tr.at(n))
			}
			return true
		})
	}
}

func TestComments_Text_IsASCII(t *testing.T) {
	tr := load(t)
	for _, f := range tr.files {
		for _, g := range f.syntax.Comments {
			for _, c := range g.List {
				if i := strings.IndexFunc(c.Text, func(r rune) bool { return r > 126 }); i >= 0 {
					t.Errorf("%s: %q in a comment", tr.at(c), []rune(c.Text[i:])[0])
				}
			}
		}
	}
}
