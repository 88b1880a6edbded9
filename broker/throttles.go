package broker

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"jackdaw/config"
	"jackdaw/metadata"
	"jackdaw/quota"
)

// throttle is the limit of replication in one direction, or of copying between log directories: which partitions it counts, and how many bytes a second they may use on
// this broker. It implements replication.Throttle. Kafka: ReplicationQuotaManager.
type throttle struct {
	now     func() time.Time
	windows quota.Windows
	// limit is in bytes a second, MaxInt64 for none.
	limit atomic.Int64
	// listed is replaced as a whole; nil while no topic is listed.
	listed atomic.Pointer[map[string]throttled]
	mu     struct {
		sync.Mutex
		rate quota.Rate
	}
}

// throttled are the listed partitions of one topic.
type throttled struct {
	all        bool
	partitions map[int32]struct{}
}

func newThrottle(w config.Windows, limit int64) *throttle {
	t := &throttle{now: time.Now, windows: quota.Windows(w)}
	t.limit.Store(limit)
	return t
}

// Throttled implements replication.Throttle.
func (t *throttle) Throttled(tp metadata.TopicPartition) bool {
	listed := t.listed.Load()
	if listed == nil {
		return false
	}
	l, ok := (*listed)[tp.Topic]
	if !ok || l.all {
		return ok
	}
	_, ok = l.partitions[tp.Partition]
	return ok
}

// Exceeded implements replication.Throttle.
func (t *throttle) Exceeded() bool {
	limit := t.limit.Load()
	if limit == math.MaxInt64 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.rate.SimplePerSecond(t.windows, t.now()) > float64(limit)
}

// Record implements replication.Throttle.
func (t *throttle) Record(bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.rate.Add(t.windows, float64(bytes), t.now())
}

// List replaces what is listed of a topic: "*", or partition:broker pairs of which those of this broker count.
// Kafka: TopicConfigHandler.parseThrottledPartitions.
func (t *throttle) List(topic string, self metadata.BrokerID, values []string) {
	l := throttled{partitions: map[int32]struct{}{}}
	for _, v := range values {
		var p int32
		var id metadata.BrokerID
		switch v = strings.TrimSpace(v); {
		case v == "*":
			l.all = true
		case scanPair(v, &p, &id) && id == self:
			l.partitions[p] = struct{}{}
		}
	}
	for {
		old := t.listed.Load()
		next := map[string]throttled{}
		if old != nil {
			for name, was := range *old {
				next[name] = was
			}
		}
		delete(next, topic)
		if l.all || len(l.partitions) > 0 {
			next[topic] = l
		}
		to := &next
		if len(next) == 0 {
			to = nil
		}
		if old == nil && to == nil || t.listed.CompareAndSwap(old, to) {
			return
		}
	}
}

func scanPair(s string, p *int32, id *metadata.BrokerID) bool {
	n, err := fmt.Sscanf(s, "%d:%d", p, id)
	return n == 2 && err == nil
}
