package broker

import (
	"context"
	"errors"
	"sync"
	"testing"
)

func TestProducerIDs_ManyCallers_NeverTheSameID(t *testing.T) {
	var blocks int64
	p := &producerIDs{allocate: func(context.Context) (int64, int32, error) {
		blocks++ // the callers share one flight
		return blocks * 1000, 10, nil
	}}
	const callers, each = 8, 50
	got := make([][]int64, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for range each {
				id, err := p.Next(t.Context())
				if err != nil {
					t.Error(err)
				}
				got[i] = append(got[i], id)
			}
		})
	}
	wg.Wait()
	seen := map[int64]bool{}
	for _, ids := range got {
		for _, id := range ids {
			if seen[id] {
				t.Fatalf("id %d was handed out twice", id)
			}
			seen[id] = true
		}
	}
}

func TestProducerIDs_AllocationFails_NextCallAsksAgain(t *testing.T) {
	fail := errors.New("no controller")
	p := &producerIDs{allocate: func(context.Context) (int64, int32, error) {
		if err := fail; err != nil {
			fail = nil
			return 0, 0, err
		}
		return 5000, 1000, nil
	}}
	if _, err := p.Next(t.Context()); err == nil {
		t.Fatal("no error from a failed allocation")
	}
	if id, err := p.Next(t.Context()); id != 5000 || err != nil {
		t.Fatalf("got %d, %v, want 5000", id, err)
	}
}
