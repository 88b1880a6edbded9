package quota

import "time"

// Bucket has tokens that come back at the rate of the limit and are spent by use. It may be overdrawn once: an operation
// of any size is allowed while there are tokens, and the next has to wait. Kafka: TokenBucket; KIP-599.
type Bucket struct {
	tokens float64
	filled time.Time
}

// refill adds what has come back; a full bucket has the limit times all windows.
func (b *Bucket) refill(w Windows, limit float64, now time.Time) {
	most := limit * float64(w.Count) * w.Size.Seconds()
	if b.filled.IsZero() {
		b.tokens = most
	} else {
		b.tokens = min(most, b.tokens+limit*now.Sub(b.filled).Seconds())
	}
	b.filled = now
}

// Delay is how long it takes until the bucket is no longer overdrawn; 0 when it is not.
func (b *Bucket) Delay(w Windows, limit float64, now time.Time) time.Duration {
	b.refill(w, limit, now)
	if b.tokens >= 0 {
		return 0
	}
	return milliseconds(-b.tokens / limit * 1000)
}

// Spend takes tokens out.
func (b *Bucket) Spend(w Windows, limit, tokens float64, now time.Time) {
	b.refill(w, limit, now)
	b.tokens -= tokens
}

// Buckets are the buckets of all who have a quota.
type Buckets struct {
	w   Windows
	all map[Key]*Bucket
}

// NewBuckets returns full buckets.
func NewBuckets(w Windows) *Buckets { return &Buckets{w: w, all: map[Key]*Bucket{}} }

func (b *Buckets) of(k Key) *Bucket {
	x := b.all[k]
	if x == nil {
		x = &Bucket{}
		b.all[k] = x
	}
	return x
}

// TryUse spends tokens unless the bucket is overdrawn already; then the delay says when it is not any more.
func (b *Buckets) TryUse(q Quota, tokens float64, now time.Time) (delay time.Duration) {
	x := b.of(q.Key)
	if delay = x.Delay(b.w, q.Limit, now); delay == 0 {
		x.Spend(b.w, q.Limit, tokens, now)
	}
	return delay
}

// Use spends tokens in any case, and returns how long the user is to be held up.
func (b *Buckets) Use(q Quota, tokens float64, now time.Time) (delay time.Duration) {
	x := b.of(q.Key)
	x.Spend(b.w, q.Limit, tokens, now)
	return x.Delay(b.w, q.Limit, now)
}
