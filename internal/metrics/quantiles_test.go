package metrics

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestQuantiles_Values_AreWithinThreePercent(t *testing.T) {
	d := &Distribution{}
	for i := 1; i <= 10_000; i++ {
		d.Observe(float64(i) / 100) // 0.01 to 100
	}
	for q, got := range d.quantiles(time.Now()) {
		if want := q * 100; math.Abs(got-want) > 0.035*want {
			t.Errorf("quantile %v: got %v, want %v", q, got, want)
		}
	}
	if d.count.Load() != 10_000 || math.Abs(d.sum()-500_050) > 1 {
		t.Errorf("count %d, sum %v", d.count.Load(), d.sum())
	}
}

func TestBucket_AnyValue_IsInRange(t *testing.T) {
	for _, v := range []float64{0, -1, 1e-300, math.NaN(), math.Inf(-1), math.Inf(1), 1e300, 0.00006, 6e7, 1} {
		if i := bucket(v); i < 0 || i >= buckets {
			t.Errorf("%v: bucket %d of %d", v, i, buckets)
		}
	}
	for i := range buckets {
		if got := bucket(middle(i)); got != i {
			t.Fatalf("middle of %d is in %d", i, got)
		}
	}
}

func TestQuantiles_OldValues_AreForgotten(t *testing.T) {
	d, now := &Distribution{}, time.Now()
	if !math.IsNaN(d.quantiles(now)[0.5]) {
		t.Error("a quantile of nothing")
	}
	d.Observe(1000)
	for range 3 { // seen, seen as old, gone
		now = now.Add(turn)
		if len(d.quantiles(now)) != len(shown) {
			t.Fatal("quantiles are missing")
		}
		d.Observe(1)
	}
	if got := d.quantiles(now)[0.999]; got > 2 {
		t.Errorf("got %v, want about 1", got)
	}
	if d.count.Load() != 4 {
		t.Errorf("count %d, want 4: it never falls", d.count.Load())
	}
}

func TestQuantiles_Registered_LookLikeASummary(t *testing.T) {
	reg := prometheus.NewRegistry()
	q := NewQuantiles(reg, MBean{"kafka.network", "RequestMetrics", "TotalTimeMs"}, "Time.", "request")
	q.WithLabelValues("Fetch").Observe(3)
	first, second := q.WithLabelValues("Fetch"), q.WithLabelValues("Fetch")
	if first != second {
		t.Error("a distribution is made twice")
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	s := families[0].GetMetric()[0].GetSummary()
	if s.GetSampleCount() != 1 || s.GetSampleSum() != 3 || len(s.GetQuantile()) != len(shown) {
		t.Errorf("got %v", s)
	}
}

func TestObserve_Allocs_None(t *testing.T) {
	d := &Distribution{}
	d.Observe(1)
	if n := testing.AllocsPerRun(1000, func() { d.Observe(0.3) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkObserve(b *testing.B) {
	d := NewQuantiles(nil, MBean{"a", "b", "c"}, "Help.").WithLabelValues()
	for b.Loop() {
		d.Observe(0.3)
	}
}
