package cleaner

import (
	"errors"
	"math/rand/v2"
	"testing"

	"jackdaw/internal/vfs"
	"jackdaw/log"
	"jackdaw/metadata"
)

// cleaned returns what the checkpoint says, -1 for nothing.
func (f *fixture) cleaned() int64 {
	f.t.Helper()
	done, err := f.logs.ReadCleanerCheckpoints("/d")
	if err != nil {
		f.t.Fatal(err)
	}
	if offset, ok := done[tp]; ok {
		return offset
	}
	return -1
}

// cleanedLog has a log with a pass behind it.
func cleanedLog(t *testing.T, fsys vfs.FS) *fixture {
	t.Helper()
	f := mustOpen(t, fsys)
	if err := f.workload(rand.New(rand.NewPCG(2, 1)), 40); err != nil {
		t.Fatal(err)
	}
	if !f.c.CleanOnce(t.Context()) || f.cleaned() <= 0 {
		t.Fatal("nothing was cleaned")
	}
	return f
}

// Records that come where cleaned ones were cut are not clean.
func TestCleaner_LogIsCut_CheckpointFollows(t *testing.T) {
	for name, cut := range map[string]func(l *log.Log) error{
		"truncated": func(l *log.Log) error { _, err := l.TruncateTo(l.Segments()[1].Base + 1); return err },
		"restarted": func(l *log.Log) error { return l.TruncateFullyAndStartAt(3) },
	} {
		t.Run(name, func(t *testing.T) {
			f := cleanedLog(t, vfs.NewMem(nil))
			before := f.cleaned()
			if err := cut(f.l); err != nil {
				t.Fatal(err)
			}
			segments := f.l.Segments()
			if got, active := f.cleaned(), segments[len(segments)-1].Base; got != active || got >= before {
				t.Errorf("cleaned up to %d, %d before, want %d, where the active segment begins", got, before, active)
			}
		})
	}
}

// A pass that ends after its log was cut notes nothing.
func TestCleaner_CutDuringAPass_NothingIsNoted(t *testing.T) {
	f := mustOpen(t, vfs.NewMem(nil))
	if err := f.workload(rand.New(rand.NewPCG(2, 1)), 40); err != nil {
		t.Fatal(err)
	}
	j := f.c.take()
	end, err := f.c.newWorker().clean(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.l.TruncateTo(f.l.Segments()[1].Base + 1); err != nil {
		t.Fatal(err)
	}
	f.c.done(j, end, err)
	if got := f.cleaned(); got != -1 {
		t.Errorf("cleaned up to %d, want no note", got)
	}
}

// A topic that is made again has to be cleaned from its start, be it by this run of the broker or the next.
func TestCleaner_TopicMadeAgain_NoCheckpoint(t *testing.T) {
	for _, restart := range []bool{false, true} {
		mem := vfs.NewMem(nil)
		f := cleanedLog(t, mem)
		if err := f.logs.Delete(tp); err != nil {
			t.Fatal(err)
		}
		if restart {
			f = mustOpen(t, mem.KillClone())
		} else if _, err := f.logs.GetOrCreate(tp, metadata.TopicID{}); err != nil {
			t.Fatal(err)
		}
		if got := f.cleaned(); got != -1 {
			t.Errorf("restart %v: the new log is cleaned up to %d", restart, got)
		}
	}
}

// A log that is deleted while it is cleaned is no bad log, and one that is bad is so only until it is deleted.
func TestCleaner_DeletedDuringAPass_NextOfThatNameIsCleaned(t *testing.T) {
	for name, end := range map[string]func(f *fixture, j *job){
		"deleted": func(f *fixture, j *job) {
			if err := f.logs.Delete(tp); err != nil {
				f.t.Fatal(err)
			}
			_, err := f.c.newWorker().clean(f.t.Context(), j)
			if err == nil {
				f.t.Fatal("a deleted log is cleaned")
			}
			f.c.done(j, 0, err)
		},
		"bad": func(f *fixture, j *job) {
			f.c.done(j, 0, errors.New("bad batch"))
			if f.c.uncleanable() != 1 {
				f.t.Fatal("the log is not bad")
			}
			if err := f.logs.Delete(tp); err != nil {
				f.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := mustOpen(t, vfs.NewMem(nil))
			if err := f.workload(rand.New(rand.NewPCG(2, 1)), 40); err != nil {
				t.Fatal(err)
			}
			end(f, f.c.take())
			var err error
			if f.l, err = f.logs.GetOrCreate(tp, metadata.TopicID{7}); err != nil {
				t.Fatal(err)
			}
			if err := f.workload(rand.New(rand.NewPCG(2, 1)), 40); err != nil {
				t.Fatal(err)
			}
			if !f.c.CleanOnce(t.Context()) || f.c.uncleanable() != 0 {
				t.Error("the next topic of that name is not cleaned")
			}
		})
	}
}

// A log that moves is left alone; a pass that was under way notes nothing, since its log was copied before.
func TestCleaner_MovingLog_IsLeftAlone(t *testing.T) {
	f := mustOpen(t, vfs.NewMem(nil), "/d", "/e")
	if err := f.workload(rand.New(rand.NewPCG(2, 1)), 40); err != nil {
		t.Fatal(err)
	}
	j := f.c.take()
	if _, err := f.logs.CreateFuture(tp, "/e"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.c.newWorker().clean(t.Context(), j); !errors.Is(err, log.ErrChanged) {
		t.Errorf("the pass under way: %v", err)
	}
	f.c.done(j, 20, nil)
	if got := f.cleaned(); got != -1 {
		t.Errorf("cleaned up to %d, want no note", got)
	}
	if f.c.CleanOnce(t.Context()) {
		t.Error("a log that moves is cleaned")
	}
	if err := f.logs.DeleteFuture(tp); err != nil {
		t.Fatal(err)
	}
	if !f.c.CleanOnce(t.Context()) || f.cleaned() <= 0 {
		t.Error("a log whose move was given up is not cleaned")
	}
}
