package budget

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestBudget_Spent_WaitsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		if err := b.Reserve(t.Context(), 80); err != nil {
			t.Fatal(err)
		}
		order := make(chan int64, 2)
		for _, n := range []int64{90, 20} {
			go func() {
				if err := b.Reserve(t.Context(), n); err != nil {
					t.Error(err)
				}
				order <- n
			}()
			synctest.Wait()
		}
		if b.TryReserve(20) {
			t.Error("who waits was overtaken")
		}
		b.Release(80)
		synctest.Wait()
		if first := <-order; first != 90 || b.InUse() != 90 {
			t.Errorf("first is %d, %d in use", first, b.InUse())
		}
		b.Release(90)
		if second := <-order; second != 20 || b.InUse() != 20 {
			t.Errorf("second is %d, %d in use", second, b.InUse())
		}
	})
}

func TestBudget_LargerThanAll_WaitsToBeAlone(t *testing.T) {
	b := New(100)
	if !b.TryReserve(500) || b.TryReserve(1) {
		t.Error("takes all of it")
	}
	b.Release(500)
	if !b.TryReserve(100) || b.InUse() != 100 {
		t.Error("gives all of it back")
	}
}

func TestBudget_ContextEnds_NothingTaken(t *testing.T) {
	b := New(10)
	if !b.TryReserve(10) {
		t.Fatal("empty budget")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Reserve(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	b.Release(10)
	if b.InUse() != 0 || !b.TryReserve(10) {
		t.Errorf("%d in use", b.InUse())
	}
}

func TestBudget_Unbounded_NeverWaits(t *testing.T) {
	b := New(0)
	if err := b.Reserve(t.Context(), 1<<60); err != nil || b.InUse() != 1<<60 {
		t.Errorf("%v, %d in use", err, b.InUse())
	}
	b.Release(1 << 60)
}
