package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Verb is a kind of load.
type Verb string

// The loads.
const (
	// Produce keeps Load.InFlight requests in work on every connection.
	Produce Verb = "produce"
	// Latency sends batches at a fixed rate, whether or not earlier ones have been answered, and measures each from the
	// moment it was due: a broker that stalls is charged for all that it kept waiting.
	Latency Verb = "latency"
	// Fetch reads what Produce left, from the start again and again, and drops it.
	Fetch Verb = "fetch"
)

// Load is what to do. Zero fields take the defaults of Run, but for Acks, whose 0 is Kafka's.
type Load struct {
	Verb Verb
	// Bootstrap is one broker's address, host:port.
	Bootstrap string
	// Direct sends all to Bootstrap without a look at the topic: a Bare server answers there, and no broker.
	Direct bool
	// Topic must exist. Connection i works on partition i modulo their number.
	Topic string
	// Acks is -1, 0 or 1.
	Acks int
	// Codec is none, lz4 or zstd.
	Codec string
	// Records is the number of records of a batch, default 64; ValueBytes their size, default 1024.
	Records, ValueBytes int
	// Conns is the number of connections, default 6; InFlight the requests in work on each, default 5.
	Conns, InFlight int
	// MaxBytes is what one Fetch asks for, default 8 MiB.
	MaxBytes int
	// Rate is Latency's, in batches per second, all connections together; default 300.
	Rate float64
	// For is how long to run, default 10 s.
	For time.Duration
}

// Result is what was reached.
type Result struct {
	// Requests that were answered without an error.
	Requests int64
	// Bytes of record values (of whole batches, in Fetch), as they were before compression.
	Bytes int64
	// Took is the time from the first request to the last answer.
	Took time.Duration
	// Latencies are Latency's, in microseconds; nil for other loads.
	Latencies *hdrhistogram.Histogram
}

// MiBPerSecond is the throughput.
func (r Result) MiBPerSecond() float64 { return float64(r.Bytes) / (1 << 20) / r.Took.Seconds() }

// GiB is the volume.
func (r Result) GiB() float64 { return float64(r.Bytes) / (1 << 30) }

func (l *Load) setDefaults() {
	for _, d := range []struct {
		field *int
		value int
	}{{&l.Records, 64}, {&l.ValueBytes, 1024}, {&l.Conns, 6}, {&l.InFlight, 5}, {&l.MaxBytes, 8 << 20}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if l.Rate == 0 {
		l.Rate = 300
	}
	if l.For == 0 {
		l.For = 10 * time.Second
	}
}

// worker runs one connection's part of a load until the time is up.
type worker func(ctx context.Context, i int, c *conn) (Result, error)

// Run runs a load. Any request that fails is an error: a figure with failures in it means nothing.
func Run(ctx context.Context, l Load) (Result, error) {
	l.setDefaults()
	addrs := []string{l.Bootstrap}
	if !l.Direct {
		var err error
		if addrs, err = leaders(ctx, l.Bootstrap, l.Topic); err != nil {
			return Result{}, err
		}
	}
	batch, err := recordBatch(l.Records, l.ValueBytes, l.Codec)
	if err != nil {
		return Result{}, err
	}
	start := time.Now()
	var work worker
	switch l.Verb {
	case Produce:
		work = l.produce(batch, len(addrs), start.Add(l.For))
	case Latency:
		work = l.latency(batch, len(addrs), start)
	case Fetch:
		work = l.fetch(batch, len(addrs), start.Add(l.For))
	default:
		return Result{}, fmt.Errorf("unknown load %q", l.Verb)
	}
	r, err := l.spread(ctx, addrs, work)
	r.Took = time.Since(start)
	return r, err
}

// spread runs a worker for each connection and adds up what they did.
func (l Load) spread(ctx context.Context, addrs []string, work worker) (Result, error) {
	var (
		mu    sync.Mutex
		total Result
		fail  error
		wg    sync.WaitGroup
	)
	for i := range l.Conns {
		c, err := dial(ctx, addrs[i%len(addrs)])
		if err != nil {
			return Result{}, err
		}
		_ = c.SetDeadline(time.Now().Add(l.For + callTimeout)) // a broken one fails the first read
		wg.Go(func() {
			r, err := work(ctx, i, c)
			_ = c.Close()
			mu.Lock()
			defer mu.Unlock()
			total.add(r)
			fail = errors.Join(fail, err)
		})
	}
	wg.Wait()
	return total, fail
}

func (r *Result) add(o Result) {
	r.Requests += o.Requests
	r.Bytes += o.Bytes
	switch {
	case r.Latencies == nil:
		r.Latencies = o.Latencies
	case o.Latencies != nil:
		r.Latencies.Merge(o.Latencies)
	}
}
