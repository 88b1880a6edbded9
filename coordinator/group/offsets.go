package group

import (
	"slices"

	"jackdaw/metadata"
)

// offset is a committed offset. Kafka: OffsetAndMetadata.
type offset struct {
	offset      int64
	leaderEpoch int32 // -1 when the client did not say
	metadata    string
	committedMs int64
	// expireMs is set by OffsetCommit 2 to 4 with a retention time, else noTimestamp.
	expireMs int64
	// at is where its record is in the log. Of two, the later record wins, whatever becomes visible first.
	at int64
}

// offsets are the offsets of a group. Kafka: GroupMetadata.offsets and its pending maps.
type offsets struct {
	// committed are visible to all.
	committed map[metadata.TopicPartition]offset
	// writing counts the writes in flight for a partition, deletions among them: the visible offset is about to change.
	writing map[metadata.TopicPartition]int
	// open are offsets of transactions that have not ended, by producer id.
	open map[int64]map[metadata.TopicPartition]offset
}

func (o *offsets) set(tp metadata.TopicPartition, v offset) {
	if o.committed == nil {
		o.committed = map[metadata.TopicPartition]offset{}
	}
	if old, ok := o.committed[tp]; ok && old.at > v.at {
		return
	}
	o.committed[tp] = v
}

// remove forgets the offset of a partition for a tombstone at offset at, and what open transactions wrote before it.
func (o *offsets) remove(tp metadata.TopicPartition, at int64) {
	if v, ok := o.committed[tp]; ok && v.at <= at {
		delete(o.committed, tp)
	}
	for _, byTP := range o.open {
		if v, ok := byTP[tp]; ok && v.at <= at {
			delete(byTP, tp)
		}
	}
}

func (o *offsets) begin(tp metadata.TopicPartition) {
	if o.writing == nil {
		o.writing = map[metadata.TopicPartition]int{}
	}
	o.writing[tp]++
}

func (o *offsets) end(tp metadata.TopicPartition) {
	if o.writing[tp]--; o.writing[tp] <= 0 {
		delete(o.writing, tp)
	}
}

func (o *offsets) addOpen(producerID int64, tp metadata.TopicPartition, v offset) {
	if o.open == nil {
		o.open = map[int64]map[metadata.TopicPartition]offset{}
	}
	byTP := o.open[producerID]
	if byTP == nil {
		byTP = map[metadata.TopicPartition]offset{}
		o.open[producerID] = byTP
	}
	byTP[tp] = v
}

// endTxn makes the offsets of a producer's transaction visible, or drops them: those whose record is before the marker.
// It reports whether the producer has none left.
func (o *offsets) endTxn(producerID, marker int64, commit bool) bool {
	byTP := o.open[producerID]
	for tp, v := range byTP {
		if v.at > marker {
			continue // of the next transaction
		}
		if commit {
			o.set(tp, v)
		}
		delete(byTP, tp)
	}
	if len(byTP) > 0 {
		return false
	}
	delete(o.open, producerID)
	return true
}

// unstable reports whether the visible offset may change without another request: KIP-447.
func (o *offsets) unstable(tp metadata.TopicPartition) bool {
	if o.writing[tp] > 0 {
		return true
	}
	for _, byTP := range o.open {
		if _, ok := byTP[tp]; ok {
			return true
		}
	}
	return false
}

// none reports whether there are no offsets, visible or to come.
func (o *offsets) none() bool {
	return len(o.committed) == 0 && len(o.writing) == 0 && len(o.open) == 0
}

// partitions returns the partitions with a visible offset, in order.
func (o *offsets) partitions() []metadata.TopicPartition {
	tps := make([]metadata.TopicPartition, 0, len(o.committed))
	for tp := range o.committed {
		tps = append(tps, tp)
	}
	slices.SortFunc(tps, metadata.TopicPartition.Compare)
	return tps
}
