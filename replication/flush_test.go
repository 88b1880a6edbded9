package replication

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"jackdaw/internal/run"
	"jackdaw/internal/vfs"
	"jackdaw/log"
)

// While the disk works for the first producer the others append; all of them share the second fsync. Nothing is
// committed, hence visible, before it is on the disk.
func TestAppend_FlushEveryMessage_ProducersShareFsyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, nil)
		defer c.stop()
		c.cfg.FlushMessages = 1
		nd := c.nodes[1]
		gate, syncs := make(chan struct{}), atomic.Int32{}
		var armed atomic.Bool
		nd.shutdown()
		nd.fs = vfs.NewMem(func(op vfs.Op, name string) error {
			if op == vfs.OpSync && strings.HasSuffix(name, ".log") && armed.Load() {
				syncs.Add(1)
				<-gate
			}
			return nil
		})
		nd.start()
		c.create(t0, 1)
		settle(time.Second)
		armed.Store(true)
		first := make(chan *pendingAppend)
		go func() { first <- nd.produce(t0, -1, "first") }()
		synctest.Wait()
		l, ok := nd.logs.Get(t0)
		if !ok || l.EndOffset() != 1 || l.HighWatermark() != 0 {
			t.Fatalf("before the fsync: end %d, high watermark %d, want 1 and 0", l.EndOffset(), l.HighWatermark())
		}
		const others = 9
		var answers []*pendingAppend
		for i := range others { // as one connection does that is read on
			answers = append(answers, nd.produce(t0, int16(1-2*(i%2)), fmt.Sprint(i)))
		}
		synctest.Wait()
		for i, a := range answers {
			if a.answered() {
				t.Errorf("append %d is answered before it is on the disk", i)
			}
		}
		if l.EndOffset() != 1+others || l.HighWatermark() != 0 {
			t.Fatalf("before the fsync: end %d, high watermark %d, want %d and 0", l.EndOffset(), l.HighWatermark(), 1+others)
		}
		close(gate)
		synctest.Wait()
		for _, a := range append(answers, <-first) {
			a.want(nil)
		}
		if n := syncs.Load(); n != 2 {
			t.Errorf("%d appends took %d fsyncs, want 2", 1+others, n)
		}
		nd.wantHW(t0, 1+others)
		armed.Store(false)
	})
}

// BenchmarkAppend_FlushEveryMessage is producers of one partition with flush.messages=1 on the machine's disk: the time
// is that of one acknowledged append, of which many share an fsync, be they of several connections or in flight on one.
func BenchmarkAppend_FlushEveryMessage(b *testing.B) {
	for _, tc := range []struct{ producers, inFlight int }{{1, 1}, {1, 5}, {16, 1}} {
		b.Run(fmt.Sprintf("producers=%d,in-flight=%d", tc.producers, tc.inFlight), func(b *testing.B) {
			cfg := log.DefaultConfig()
			cfg.FlushMessages = 1
			m := benchManagerOf(b, cfg)
			g := run.New(b.Context(), nil)
			g.Go("replicas", m.Run)
			defer g.Stop()
			for m.flushersRunning() == nil {
				runtime.Gosched()
			}
			next := atomic.Int64{}
			var wg sync.WaitGroup
			b.ResetTimer()
			for range tc.producers {
				wg.Go(func() {
					records := batch(strings.Repeat("x", 1<<10))
					window := make(chan struct{}, tc.inFlight)
					for next.Add(1) <= int64(b.N) {
						window <- struct{}{}
						clear(records[:8])
						m.Append(AppendRequest{Acks: -1, Timeout: time.Second, Entries: []AppendEntry{{TP: t0, Records: records}}},
							func([]AppendResult) { <-window })
					}
					for range tc.inFlight {
						window <- struct{}{}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
		})
	}
}
