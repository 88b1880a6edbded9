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
		var g sync.WaitGroup
		for i := range others {
			g.Go(func() { nd.produce(t0, -1, fmt.Sprint(i)).want(nil) })
		}
		for l.EndOffset() < 1+others {
			runtime.Gosched() // the others wait for a mutex, which no bubble can wait for
		}
		close(gate)
		g.Wait()
		(<-first).want(nil)
		if n := syncs.Load(); n != 2 {
			t.Errorf("%d appends took %d fsyncs, want 2", 1+others, n)
		}
		nd.wantHW(t0, 1+others)
		armed.Store(false)
	})
}

// BenchmarkAppend_FlushEveryMessage is 16 producers of one partition with flush.messages=1 on the machine's disk: the time
// is that of one acknowledged append, of which many share an fsync.
func BenchmarkAppend_FlushEveryMessage(b *testing.B) {
	for _, producers := range []int{1, 16} {
		b.Run(fmt.Sprintf("producers=%d", producers), func(b *testing.B) {
			cfg := log.DefaultConfig()
			cfg.FlushMessages = 1
			m := benchManagerOf(b, cfg)
			next := atomic.Int64{}
			var g sync.WaitGroup
			b.ResetTimer()
			for range producers {
				g.Go(func() {
					records := batch(strings.Repeat("x", 1<<10))
					for next.Add(1) <= int64(b.N) {
						clear(records[:8])
						m.Append(AppendRequest{Acks: -1, Timeout: time.Second, Entries: []AppendEntry{{TP: t0, Records: records}}}, func([]AppendResult) {})
					}
				})
			}
			g.Wait()
		})
	}
}
