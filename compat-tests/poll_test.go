//go:build compat

package compat

import (
	"context"
	"sync"
	"testing"
	"time"
)

// waitGroup runs things beside the test.
type waitGroup struct{ sync.WaitGroup }

// poll keeps a group member polling until stop is closed, so that it takes part in rebalances. Records are not expected.
func (w *waitGroup) poll(t *testing.T, m *franzMember, stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(t.Context())
	w.Go(func() {
		<-stop
		cancel()
	})
	w.Go(func() {
		for ctx.Err() == nil {
			round, done := context.WithTimeout(ctx, 200*time.Millisecond)
			if n := m.PollFetches(round).NumRecords(); n > 0 {
				t.Errorf("%d committed records came again", n)
			}
			m.AllowRebalance()
			done()
		}
	})
}
