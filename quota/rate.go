package quota

import (
	"math"
	"time"
)

// Windows says over what time rates are measured: Count windows of Size each. Kafka: quota.window.num,
// quota.window.size.seconds.
type Windows struct {
	Count int
	Size  time.Duration
}

// Burst is the most that can be used within all windows at a rate without being held up.
func (w Windows) Burst(limit float64) float64 {
	return limit * float64(w.Count-1) * w.Size.Seconds()
}

// Rate is what has been used in each of the last windows. Kafka: stats.Rate, SampledStat, WindowedSum.
type Rate struct {
	samples []sample // a ring
	current int
}

// sample is one window.
type sample struct {
	start time.Time
	value float64
}

// Add records a use, which may be negative to take one back.
func (r *Rate) Add(w Windows, value float64, now time.Time) {
	if len(r.samples) == 0 {
		r.samples = append(r.samples, sample{start: now})
	}
	if now.Sub(r.samples[r.current].start) >= w.Size {
		r.advance(w, now)
	}
	r.samples[r.current].value += value
}

func (r *Rate) advance(w Windows, now time.Time) {
	r.current = (r.current + 1) % w.Count
	if r.current >= len(r.samples) {
		r.samples = append(r.samples, sample{start: now})
		return
	}
	r.samples[r.current] = sample{start: now}
}

// PerSecond is the rate now, and the time over which it is measured: at least all windows but the one that has just begun.
func (r *Rate) PerSecond(w Windows, now time.Time) (rate float64, over time.Duration) {
	total, oldest := 0.0, now
	for i := range r.samples {
		s := &r.samples[i]
		if now.Sub(s.start) >= time.Duration(w.Count)*w.Size {
			*s = sample{start: now}
		}
		total += s.value
		if s.start.Before(oldest) {
			oldest = s.start
		}
	}
	over = now.Sub(oldest)
	if missing := time.Duration(w.Count-1) - over/w.Size; missing > 0 {
		over += missing * w.Size
	}
	over = max(over, time.Millisecond)
	return total / over.Seconds(), over
}

// SimplePerSecond is the rate now, measured since the oldest use that still counts, or over one window if that is longer. Other
// than PerSecond it allows no burst after a time without use. Kafka: stats.SimpleRate, which replication is measured by.
func (r *Rate) SimplePerSecond(w Windows, now time.Time) float64 {
	total, oldest := 0.0, now
	for i := range r.samples {
		s := &r.samples[i]
		if now.Sub(s.start) >= time.Duration(w.Count)*w.Size {
			*s = sample{start: now}
		}
		total += s.value
		if s.start.Before(oldest) {
			oldest = s.start
		}
	}
	return total / max(now.Sub(oldest), w.Size).Seconds()
}

// Delay is how long nothing may be used until the rate is at the limit again; 0 below it. Kafka: QuotaUtils.throttleTime.
func (r *Rate) Delay(w Windows, limit float64, now time.Time) time.Duration {
	rate, over := r.PerSecond(w, now)
	if rate <= limit {
		return 0
	}
	return milliseconds((rate - limit) / limit * float64(over.Milliseconds()))
}

// milliseconds rounds to whole ones, as delays are told to clients; what is too much for that is the most there is.
func milliseconds(ms float64) time.Duration {
	ms = math.Round(ms)
	if ms > math.MaxInt32 {
		ms = math.MaxInt32
	}
	return time.Duration(ms) * time.Millisecond
}

// Meters are the rates of all who have a quota of one kind.
type Meters struct {
	w     Windows
	rates map[Key]*meter
	swept time.Time
}

type meter struct {
	rate Rate
	used time.Time
}

// idle is how long the rate of somebody who does nothing is kept. Kafka: INACTIVE_SENSOR_EXPIRATION_TIME_SECONDS.
const idle = time.Hour

// NewMeters returns meters that have measured nothing.
func NewMeters(w Windows) *Meters { return &Meters{w: w, rates: map[Key]*meter{}} }

// Windows returns what NewMeters was given.
func (m *Meters) Windows() Windows { return m.w }

// Use records that so much was used, and returns how long the user is to be held up.
func (m *Meters) Use(q Quota, value float64, now time.Time) time.Duration {
	r := m.of(q.Key, now)
	r.Add(m.w, value, now)
	return r.Delay(m.w, q.Limit, now)
}

// Undo takes back what Use has recorded: a consumer that is held up gets nothing.
func (m *Meters) Undo(q Quota, value float64, now time.Time) { m.of(q.Key, now).Add(m.w, -value, now) }

func (m *Meters) of(k Key, now time.Time) *Rate {
	x := m.rates[k]
	if x == nil {
		m.sweep(now)
		x = &meter{}
		m.rates[k] = x
	}
	x.used = now
	return &x.rate
}

// sweep forgets who has done nothing for long. It is called when somebody new comes.
func (m *Meters) sweep(now time.Time) {
	if now.Sub(m.swept) < idle/60 {
		return
	}
	m.swept = now
	for k, x := range m.rates {
		if now.Sub(x.used) > idle {
			delete(m.rates, k)
		}
	}
}
