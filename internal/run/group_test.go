package run

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestGroup_OneFails_AllEndAndWaitNamesIt(t *testing.T) {
	cause := errors.New("disk on fire")
	g := New(t.Context(), nil)
	g.Go("cleaner", untilDone)
	g.Go("flusher", func(context.Context) error { return cause })
	err := g.Wait()
	if !errors.Is(err, cause) || err.Error() != "flusher: disk on fire" {
		t.Fatalf("got %v", err)
	}
	if !errors.Is(context.Cause(g.Context()), cause) {
		t.Fatalf("cause: got %v", context.Cause(g.Context()))
	}
}

func TestGroup_Stop_WaitsAndIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(t.Context(), nil)
		done := false
		g.Go("slow", func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Hour) // virtual
			done = true
			return errors.New("cut short")
		})
		g.Stop()
		if !done {
			t.Fatal("Stop returned before the goroutine ended")
		}
		if err := g.Wait(); err != nil {
			t.Fatalf("got %v, want nil", err)
		}
		g.Stop() // idempotent
	})
}

func TestGroup_GoAfterStop_DoesNotRun(t *testing.T) {
	g := New(t.Context(), nil)
	g.Stop()
	g.Go("late", func(context.Context) error { t.Error("ran"); return nil })
	if err := g.Wait(); err != nil {
		t.Fatalf("got %v", err)
	}
}

func TestGroup_ParentEnds_GroupEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := New(ctx, nil)
	g.Go("loop", untilDone)
	cancel()
	if err := g.Wait(); err != nil {
		t.Fatalf("got %v, want nil", err)
	}
}

func TestGroup_Running_NamesWhatHangs(t *testing.T) {
	g := New(t.Context(), nil)
	g.Go("b", untilDone)
	g.Go("a", untilDone)
	g.Go("a", untilDone)
	if got := g.Running(); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("got %v", got)
	}
	g.Stop()
	if got := g.Running(); len(got) != 0 {
		t.Fatalf("after Stop: got %v", got)
	}
}

func TestGroup_StartedFromWithin_IsWaitedFor(t *testing.T) {
	g := New(t.Context(), nil)
	inner := false
	g.Go("outer", func(context.Context) error {
		g.Go("inner", func(context.Context) error { inner = true; return nil })
		return nil
	})
	if err := g.Wait(); err != nil || !inner {
		t.Fatalf("err %v, inner ran %v", err, inner)
	}
}
