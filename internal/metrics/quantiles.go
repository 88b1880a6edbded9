package metrics

import (
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// shown are the quantiles that Kafka shows.
var shown = [...]float64{0.5, 0.75, 0.95, 0.98, 0.99, 0.999}

// Quantiles are distributions under one name, by labels. Looking one up takes a lock: do it once. Kafka: a Histogram of
// Yammer metrics.
type Quantiles struct {
	desc   *prometheus.Desc
	labels int
	mu     struct {
		sync.RWMutex
		// all has the distributions by their label values, which are joined by NUL.
		all map[string]*Distribution
	}
}

// NewQuantiles makes distributions with the quantiles that Kafka shows, label quantile, and _sum and _count. Quantiles
// are of the last five to ten minutes. reg may be nil.
func NewQuantiles(reg prometheus.Registerer, m MBean, help string, labels ...string) *Quantiles {
	q := &Quantiles{desc: prometheus.NewDesc(m.Gauge(), help, labels, nil), labels: len(labels)}
	q.mu.all = make(map[string]*Distribution)
	if reg != nil {
		reg.MustRegister(q)
	}
	return q
}

// WithLabelValues is the distribution with these labels, as many as NewQuantiles was given.
func (q *Quantiles) WithLabelValues(values ...string) *Distribution {
	if len(values) != q.labels {
		panic("metrics: wrong number of label values for " + q.desc.String())
	}
	key := strings.Join(values, "\x00")
	q.mu.RLock()
	d := q.mu.all[key]
	q.mu.RUnlock()
	if d != nil {
		return d
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if d = q.mu.all[key]; d == nil {
		d = &Distribution{labels: slices.Clone(values)}
		q.mu.all[key] = d
	}
	return d
}

// Describe implements prometheus.Collector.
func (q *Quantiles) Describe(ch chan<- *prometheus.Desc) { ch <- q.desc }

// Collect implements prometheus.Collector.
func (q *Quantiles) Collect(ch chan<- prometheus.Metric) {
	q.mu.RLock()
	defer q.mu.RUnlock()
	now := time.Now()
	for _, d := range q.mu.all {
		ch <- prometheus.MustNewConstSummary(q.desc, d.count.Load(), d.sum(), d.quantiles(now), d.labels...)
	}
}

const (
	// Buckets are 1/16 of a power of two wide, so that a quantile is wrong by 3 % at most, and reach from 2^-14, 60 ns in
	// units of a millisecond, to 2^26, which is most of a day.
	subBits    = 4
	lowestExp  = -14
	highestExp = 26
	buckets    = (highestExp - lowestExp) << subBits
	// turn is how long values go into one window. Quantiles are made of two.
	turn = 5 * time.Minute
)

type window [buckets]atomic.Uint32

// Distribution counts values of one kind, without a lock and without memory of its own until the first one comes. A
// summary of the Prometheus library keeps samples in sorted lists instead, which took a twentieth of the CPU time of a
// broker with small requests.
type Distribution struct {
	labels []string
	count  atomic.Uint64
	// total is the sum of all values, the bits of a float64.
	total    atomic.Uint64
	now, old atomic.Pointer[window]

	mu     sync.Mutex // of turning the windows
	turned time.Time
}

// Observe counts a value.
func (d *Distribution) Observe(v float64) {
	w := d.now.Load()
	if w == nil {
		d.now.CompareAndSwap(nil, new(window))
		w = d.now.Load()
	}
	w[bucket(v)].Add(1)
	d.count.Add(1)
	for {
		was := d.total.Load()
		if d.total.CompareAndSwap(was, math.Float64bits(math.Float64frombits(was)+v)) {
			return
		}
	}
}

// bucket is where a value is counted. What is too small, or no number, is in the first, what is too large in the last.
func bucket(v float64) int {
	const bias, mantissa = 1023, 52
	bits := math.Float64bits(v)
	if v < math.Ldexp(1, lowestExp) || v != v {
		return 0
	}
	return min(int(bits>>(mantissa-subBits))-(bias+lowestExp)<<subBits, buckets-1)
}

// middle is the value that stands for all in a bucket.
func middle(i int) float64 {
	const sub = 1 << subBits
	return math.Ldexp(1+(float64(i%sub)+0.5)/sub, lowestExp+i/sub)
}

func (d *Distribution) sum() float64 { return math.Float64frombits(d.total.Load()) }

// quantiles reads both windows, and turns them when it is time: they turn when somebody looks.
func (d *Distribution) quantiles(now time.Time) map[float64]float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.turned.IsZero() {
		d.turned = now
	}
	var counts [buckets]uint64
	var all uint64
	for _, w := range []*window{d.now.Load(), d.old.Load()} {
		if w == nil {
			continue
		}
		for i := range w {
			n := uint64(w[i].Load())
			counts[i] += n
			all += n
		}
	}
	if now.Sub(d.turned) >= turn && d.now.Load() != nil {
		d.old.Store(d.now.Swap(new(window)))
		d.turned = now
	}
	out := make(map[float64]float64, len(shown))
	for _, q := range shown {
		out[q] = quantile(&counts, all, q)
	}
	return out
}

// quantile is the value that a share q of all is not above; NaN when there is none.
func quantile(counts *[buckets]uint64, all uint64, q float64) float64 {
	if all == 0 {
		return math.NaN()
	}
	rank := uint64(math.Ceil(q * float64(all)))
	for i, n := range counts {
		if n >= rank {
			return middle(i)
		}
		rank -= n
	}
	return middle(buckets - 1)
}
