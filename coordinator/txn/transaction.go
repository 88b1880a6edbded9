package txn

import (
	"maps"
	"math"
	"slices"
	"time"

	"jackdaw/coordinator"
	"jackdaw/metadata"
)

// What stands where there is no producer, and no time.
const (
	noProducerID  = int64(-1)
	noEpoch       = int16(-1)
	noTimestamp   = int64(-1)
	lastGoodEpoch = math.MaxInt16 - 1 // from here on the next producer gets a new id
)

// values are what a record holds of a transactional id, and a little more.
type values struct {
	state      State
	producerID int64
	epoch      int16
	// lastProducerID and lastEpoch are what the producer had before a bump that it asked for with them: so that it may ask
	// again if the answer is lost (KIP-360). They are not stored, and -1 after a load.
	lastProducerID int64
	lastEpoch      int16
	timeout        time.Duration
	// partitions of the transaction; shared between versions, so it is never changed in place.
	partitions map[metadata.TopicPartition]bool
	// start and updated are in ms; start is -1 before the first transaction.
	start, updated int64
}

// transaction is one transactional id. Kafka: TransactionMetadata.
type transaction struct {
	id string
	values
	// pending is the change whose record is in flight, nil when there is none.
	pending *change
	// markers is the Seq of the Markers that are being written.
	markers uint64
	// unmarked are the partitions that wait for those markers.
	unmarked map[metadata.TopicPartition]bool
	// retry is when the record that completes the transaction is to be tried again; zero when it is not.
	retry time.Time
}

// change is the tag of a write: what becomes of a transactional id, and who waits for it.
type change struct {
	x      *transaction
	to     values
	ticket coordinator.Ticket
	// committed is the answer when it is.
	committed any
	// init says that the caller expects an InitResult.
	init bool
	// dead removes the id.
	dead bool
}

// exhausted reports whether the epochs of a producer id are used up. Kafka: TransactionMetadata.isEpochExhausted.
func exhausted(epoch int16) bool { return epoch >= lastGoodEpoch }

// withPartitions returns the values with more partitions, in an open transaction. Kafka: prepareAddPartitions.
func (v values) withPartitions(tps []metadata.TopicPartition, now int64) values {
	if v.state.idle() {
		v.start = now
	}
	v.state, v.updated = Ongoing, now
	all := make(map[metadata.TopicPartition]bool, len(v.partitions)+len(tps))
	maps.Copy(all, v.partitions)
	for _, tp := range tps {
		all[tp] = true
	}
	v.partitions = all
	return v
}

// decided returns the values with the outcome of the transaction. Kafka: prepareAbortOrCommit.
func (v values) decided(commit bool, now int64) values {
	v.state, v.updated = PrepareAbort, now
	if commit {
		v.state = PrepareCommit
	}
	return v
}

// fenced returns the values of a transaction that is aborted against the will of its producer, which a higher epoch shuts
// out. Nobody is told that epoch. Kafka: prepareFenceProducerEpoch.
func (v values) fenced(now int64) values {
	v.epoch++
	v.lastEpoch = noEpoch
	return v.decided(false, now)
}

// completed returns the values when all markers are written. Kafka: prepareComplete.
func (v values) completed(now int64) values {
	if v.state == PrepareCommit {
		v.state = CompleteCommit
	} else {
		v.state = CompleteAbort
	}
	v.partitions, v.updated = nil, now
	return v
}

// sorted returns the partitions in order.
func (v *values) sorted() []metadata.TopicPartition { return inOrder(v.partitions) }

func inOrder(set map[metadata.TopicPartition]bool) []metadata.TopicPartition {
	tps := slices.Collect(maps.Keys(set))
	slices.SortFunc(tps, metadata.TopicPartition.Compare)
	return tps
}

// contains reports whether all of tps are in the transaction.
func (v *values) contains(tps []metadata.TopicPartition) bool {
	return !slices.ContainsFunc(tps, func(tp metadata.TopicPartition) bool { return !v.partitions[tp] })
}
