package log

import (
	"jackdaw/metadata"
)

// Origin says who appends through AppendAsLeader; it decides what is checked. Kafka: AppendOrigin.
type Origin int8

// Origins.
const (
	// Client is a Produce request: one batch, no control records, sequences checked.
	Client Origin = iota
	// Coordinator is the group or transaction coordinator: markers allowed, only the epoch of a producer is checked.
	Coordinator
	// Replication is data that a leader has validated already.
	Replication
)

// AppendOptions qualifies AppendAsLeader.
type AppendOptions struct {
	Origin Origin
	// AllowZstd is false for Produce versions below 7, which may not carry zstd. It counts only with Origin Client.
	AllowZstd bool
	// OldFormats is true for Produce versions below 3, which may carry message sets of format 0 and 1. They are stored in
	// format 2. It counts only with Origin Client.
	OldFormats bool
	// VerifiedOnly takes a transactional batch only in a transaction that has batches here, or after ConfirmVerification.
	// Else the error is InvalidTxnState.
	VerifiedOnly bool
	// LaterFlush leaves the flush that flush.messages asks for to the caller: see AppendInfo.FlushTo.
	LaterFlush bool
}

// RecordError names one bad record of a refused batch. Kafka: ProduceResponse.RecordError.
type RecordError struct {
	// Index is the position of the record in the batch, from 0.
	Index   int32
	Message string
}

// AppendInfo describes an append that was made, or a duplicate that was recognized. Kafka: LogAppendInfo.
type AppendInfo struct {
	FirstOffset int64
	LastOffset  int64
	// LogAppendTime is in Unix ms, -1 with CreateTime.
	LogAppendTime  int64
	LogStartOffset int64
	// Duplicate is set when nothing was written, because the producer's batch is in the log already; the offsets are
	// those of the first copy.
	Duplicate bool
	// FlushTo is up to where the caller has to call Log.FlushTo before anybody is told of the append, 0 for nowhere.
	FlushTo int64
	// RecordErrors is filled only together with an error.
	RecordErrors []RecordError
	NumRecords   int64
	// Bytes is what was written to the segment.
	Bytes int
	// Converted tells that the records came in an old message format.
	Converted bool
	// MaxTimestamp is the largest timestamp written, -1 when there is none.
	MaxTimestamp int64
	// LeaderEpoch is that of the last batch.
	LeaderEpoch metadata.LeaderEpoch
}

// EpochEnd answers "where does this leader epoch end": the epoch found and its exclusive end offset.
type EpochEnd struct {
	Epoch     metadata.LeaderEpoch
	EndOffset int64
}

// TimestampOffset is a record found by time.
type TimestampOffset struct {
	Timestamp int64
	Offset    int64
	// Epoch is the leader epoch that wrote the record, NoEpoch when it is not known.
	Epoch metadata.LeaderEpoch
}

// AbortedTxn tells a read_committed consumer to skip the records of a producer from FirstOffset to its next abort marker.
type AbortedTxn struct {
	ProducerID  int64
	FirstOffset int64
}

// ProducerState is one active producer, for DescribeProducers.
type ProducerState struct {
	ProducerID       int64
	ProducerEpoch    int16
	LastSequence     int32
	LastTimestamp    int64
	CoordinatorEpoch int32
	// CurrentTxnStart is -1 without an open transaction.
	CurrentTxnStart int64
}
