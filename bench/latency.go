package bench

import (
	"context"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// latency sends at l.Rate from start on. Connection i is due an equal part of a period after connection i-1.
func (l Load) latency(batch []byte, partitions int, start time.Time) worker {
	each := time.Duration(float64(time.Second) * float64(l.Conns) / l.Rate)
	n := int(l.For / each)
	return func(_ context.Context, i int, c *conn) (r Result, err error) {
		one := l.produceFrame(i%partitions, batch)
		due := func(k int) time.Time {
			return start.Add(time.Duration(k)*each + each*time.Duration(i)/time.Duration(l.Conns))
		}
		var sender sync.WaitGroup
		sender.Go(func() {
			for k := range n {
				time.Sleep(time.Until(due(k)))
				if _, err := c.Write(one); err != nil {
					return // the reader sees it, too
				}
			}
		})
		defer sender.Wait()
		r.Latencies = hdrhistogram.New(1, int64(callTimeout/time.Microsecond), 3)
		var buf []byte
		for k := range n {
			if buf, err = l.produced(c, buf); err != nil {
				_ = c.Close() // ends the sender
				return r, err
			}
			_ = r.Latencies.RecordValue(int64(time.Since(due(k)) / time.Microsecond)) // the deadline keeps it in range
			r.Requests++
		}
		r.Bytes = r.Requests * int64(l.Records*l.ValueBytes)
		return r, nil
	}
}
