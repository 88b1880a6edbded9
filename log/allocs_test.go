//go:build !race

// The race detector makes sync.Pool forget on purpose, so that allocations say nothing.

package log

import (
	"testing"

	"jackdaw/internal/vfs"
	"jackdaw/protocol/record"
)

func TestAppendAll_ClientBatches_AllocateNothing(t *testing.T) {
	f := &fixture{t: t, now: testStart}
	f.m = NewManager(Options{FS: vfs.OS{}, Dirs: []string{t.TempDir()}, Config: func(string) Config { return DefaultConfig() }})
	if err := f.m.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer f.m.Close(t.Context())
	l := f.log()
	f.append(l, f.batch(1, record.BuilderOptions{}))
	list := make([]LeaderAppend, 5)
	for i := range list {
		list[i].Records = f.batch(3, record.BuilderOptions{})
	}
	if n := testing.AllocsPerRun(100, func() {
		for i := range list {
			clear(list[i].Records[:8]) // the base offset
			list[i].Err = nil
		}
		l.AppendAllAsLeader(list, 0, AppendOptions{})
		if list[4].Err != nil {
			t.Fatal(list[4].Err)
		}
	}); n > 0 {
		t.Errorf("%v allocations for five appends", n)
	}
}
