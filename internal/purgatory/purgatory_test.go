package purgatory

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testOp completes when ready is set, and counts its ends.
type testOp struct {
	ready              atomic.Bool
	looks              atomic.Int64
	completed, expired atomic.Int64
	onComplete         func()
	at                 time.Time // of the end
}

func (o *testOp) TryComplete() bool { o.looks.Add(1); return o.ready.Load() }
func (o *testOp) Complete() {
	o.at = time.Now()
	o.completed.Add(1)
	if o.onComplete != nil {
		o.onComplete()
	}
}
func (o *testOp) Expire() { o.at = time.Now(); o.expired.Add(1) }

func (o *testOp) ended(t *testing.T, completed, expired int64) {
	t.Helper()
	if c, e := o.completed.Load(), o.expired.Load(); c != completed || e != expired {
		t.Fatalf("completed %d times and expired %d times, want %d and %d", c, e, completed, expired)
	}
}

// start runs the purgatory's clock until the returned function is called.
func start[K comparable](t *testing.T, p *Purgatory[K]) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = p.Run(ctx) })
	return func() { cancel(); wg.Wait() }
}

func (p *Purgatory[K]) assertEmpty(t *testing.T) {
	t.Helper()
	n := 0
	for i := range p.lists {
		n += len(p.lists[i].mu.waiters)
	}
	if n != 0 || p.Waiting() != 0 || len(p.timers.mu.heap) != 0 {
		t.Fatalf("left behind: %d lists, %d waiting, %d timers", n, p.Waiting(), len(p.timers.mu.heap))
	}
}

func TestWatch_ConditionHolds_CompletesInline(t *testing.T) {
	p := New[string]("Test")
	op := &testOp{}
	op.ready.Store(true)
	if !p.Watch(op, time.Now().Add(time.Hour), "a") {
		t.Fatal("not completed")
	}
	op.ended(t, 1, 0)
	p.assertEmpty(t)
}

func TestCheck_ConditionHolds_CompletesOnceUnderAllKeys(t *testing.T) {
	p := New[string]("Test")
	op, other := &testOp{}, &testOp{}
	p.Watch(op, time.Now().Add(time.Hour), "a", "b")
	p.Watch(other, time.Now().Add(time.Hour), "b")
	if n := p.Check("a"); n != 0 || p.Waiting() != 2 {
		t.Fatalf("completed %d, waiting %d", n, p.Waiting())
	}
	op.ready.Store(true)
	if n := p.Check("b"); n != 1 {
		t.Fatalf("completed %d, want 1", n)
	}
	if n := p.Check("a", "b"); n != 0 {
		t.Fatalf("completed %d again", n)
	}
	op.ended(t, 1, 0)
	other.ended(t, 0, 0)
	other.ready.Store(true)
	p.Check("b")
	p.assertEmpty(t)
}

func TestCheck_ManyKeys_LooksOnce(t *testing.T) {
	p := New[int]("Test")
	op := &testOp{}
	p.Watch(op, time.Now().Add(time.Hour), 1, 2, 3)
	before := op.looks.Load()
	p.Check(1, 2, 3)
	if n := op.looks.Load() - before; n != 1 {
		t.Fatalf("looked %d times, want 1", n)
	}
}

func TestRun_Deadline_ExpiresInOrderOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New[int]("Test")
		stop := start(t, p)
		begin := time.Now()
		ops := map[time.Duration]*testOp{}
		for _, d := range []time.Duration{3 * time.Second, time.Second, 0, 2 * time.Second} {
			ops[d] = &testOp{}
			p.Watch(ops[d], begin.Add(d), 1)
		}
		time.Sleep(10 * time.Second) // virtual
		for d, op := range ops {
			op.ended(t, 0, 1)
			if got := op.at.Sub(begin); got != d {
				t.Errorf("expired after %v, want %v", got, d)
			}
		}
		p.assertEmpty(t)
		stop()
	})
}

func TestRun_CompletedBefore_DoesNotExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New[int]("Test")
		stop := start(t, p)
		op := &testOp{}
		p.Watch(op, time.Now().Add(time.Second), 1)
		op.ready.Store(true)
		p.Check(1)
		time.Sleep(time.Minute) // virtual
		op.ended(t, 1, 0)
		p.assertEmpty(t)
		stop()
	})
}

func TestRun_NoKeys_WaitsForItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New[int]("Test")
		stop := start(t, p)
		op := &testOp{}
		p.Watch(op, time.Now().Add(time.Second))
		time.Sleep(time.Minute) // virtual
		op.ended(t, 0, 1)
		stop()
	})
}

func TestComplete_MayCallThePurgatory(t *testing.T) {
	p := New[int]("Test")
	first, second := &testOp{}, &testOp{}
	first.onComplete = func() { second.ready.Store(true); p.Check(1) }
	p.Watch(first, time.Now().Add(time.Hour), 1)
	p.Watch(second, time.Now().Add(time.Hour), 1)
	first.ready.Store(true)
	p.Check(1)
	first.ended(t, 1, 0)
	second.ended(t, 1, 0)
	p.assertEmpty(t)
}

// TestPurgatory_ManyAtATime_EachEndsOnce lets events, deadlines and arrivals race.
func TestPurgatory_ManyAtATime_EachEndsOnce(t *testing.T) {
	p := New[int]("Test")
	stop := start(t, p)
	const n = 2000
	ops := make([]testOp, n)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range ops {
			p.Watch(&ops[i], time.Now().Add(time.Duration(i%3)*time.Millisecond), i%7, 7+i%5)
		}
	})
	for g := range 2 {
		wg.Go(func() {
			for i := range ops {
				ops[i].ready.Store(true)
				p.Check(i%7, 7+i%5)
				if g == 1 {
					p.Check(7 + i%5)
				}
			}
		})
	}
	wg.Wait()
	for p.Waiting() > 0 {
		for k := range 12 {
			p.Check(k)
		}
	}
	stop()
	for i := range ops {
		if sum := ops[i].completed.Load() + ops[i].expired.Load(); sum != 1 {
			t.Fatalf("operation %d ended %d times", i, sum)
		}
	}
	p.assertEmpty(t)
}

func BenchmarkCheck_NobodyWaits(b *testing.B) {
	p := New[int]("Test")
	for b.Loop() {
		p.Check(1)
	}
}

func BenchmarkWatchAndCheck(b *testing.B) {
	p := New[int]("Test")
	deadline := time.Now().Add(time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		op := &testOp{}
		p.Watch(op, deadline, 1)
		op.ready.Store(true)
		p.Check(1)
	}
}
