package replication

import (
	"time"

	"jackdaw/log"
	"jackdaw/metadata"
)

// LeaderHint is the leader of a partition as this broker knows it, for the answers that carry it (KIP-951).
type LeaderHint struct {
	ID    metadata.BrokerID
	Epoch metadata.LeaderEpoch
}

// noLeader is the hint where nothing is to be said.
var noLeader = LeaderHint{ID: metadata.NoBroker, Epoch: metadata.NoEpoch}

// AppendEntry is the data for one partition. Records is patched in place and not kept.
type AppendEntry struct {
	TP      metadata.TopicPartition
	Records []byte
	// Err, when set, is the answer for the partition; nothing is appended.
	Err error
}

// AppendRequest is a Produce request, or a write of a coordinator.
type AppendRequest struct {
	// Acks is 0, 1 or -1 (all of the ISR).
	Acks    int16
	Timeout time.Duration
	Origin  log.Origin
	// AllowZstd is false for Produce versions below 7.
	AllowZstd bool
	// OldFormats is true for Produce versions below 3.
	OldFormats bool
	// VerifiedOnly refuses transactional batches whose transaction was not verified: see BeginVerification.
	VerifiedOnly bool
	// Epoch is looked at with log.Coordinator only: the leader epoch in which the coordinator loaded the partition, or
	// NoEpoch. If this broker has lost the leadership since, be it that it has it again, the append is refused with
	// NOT_LEADER_OR_FOLLOWER.
	Epoch   metadata.LeaderEpoch
	Entries []AppendEntry

	// laterFlush lets the disk work after the append, without the caller.
	laterFlush bool
}

// AppendResult is the answer for one entry, in the order of the request.
type AppendResult struct {
	TP metadata.TopicPartition
	// Info is valid when Err is nil or NOT_ENOUGH_REPLICAS_AFTER_APPEND; its RecordErrors are with any error.
	Info log.AppendInfo
	Err  error
	// CurrentLeader is filled with NOT_LEADER_OR_FOLLOWER only.
	CurrentLeader LeaderHint
}

// FetchPartition asks for the records of one partition.
type FetchPartition struct {
	// TP has an empty topic when TopicID is not known here.
	TP      metadata.TopicPartition
	TopicID metadata.TopicID
	Offset  int64
	// CurrentLeaderEpoch is NoEpoch for no check.
	CurrentLeaderEpoch metadata.LeaderEpoch
	// LastFetchedEpoch is the epoch of the last record that the fetcher has, NoEpoch when it does not tell.
	LastFetchedEpoch metadata.LeaderEpoch
	// LogStartOffset is that of a follower, -1 otherwise.
	LogStartOffset int64
	MaxBytes       int32
	// Err, when set, is the answer for the partition; nothing is read.
	Err error
}

// FetchRequest is a Fetch by a consumer or a follower.
type FetchRequest struct {
	// Replica is NoBroker for a consumer, -2 for a debugging consumer, which may read up to the log end on any replica.
	Replica metadata.BrokerID
	// ReplicaEpoch is the broker epoch of a follower, -1 when it does not tell (KIP-903).
	ReplicaEpoch       int64
	MaxWait            time.Duration
	MinBytes, MaxBytes int32
	ReadCommitted      bool
	// AnyReplica lets a consumer read from this broker as a follower (Fetch v11 and later, KIP-392); Rack is the consumer's.
	AnyReplica bool
	Rack       string
	// HardMaxBytes makes the limits hold for the first batch too (Fetch v0-v2).
	HardMaxBytes bool
	Partitions   []FetchPartition
}

// FetchResult is the answer for one partition, in the order of the request. The receiver must release Records.
type FetchResult struct {
	TP      metadata.TopicPartition
	TopicID metadata.TopicID
	Err     error
	// HighWatermark, LastStableOffset and LogStartOffset are -1 with an error, but for OFFSET_OUT_OF_RANGE.
	HighWatermark, LastStableOffset, LogStartOffset int64
	// Aborted is nil unless the request is read_committed.
	Aborted []log.AbortedTxn
	Records log.Records
	// Offset is the offset that was asked for.
	Offset int64
	// TooSmall tells that there are records, but the hard limit is smaller than the first batch.
	TooSmall bool
	// PreferredReadReplica is NoBroker unless the consumer should go elsewhere; there are no records then.
	PreferredReadReplica metadata.BrokerID
	// Diverging is set when the follower's log parts from ours at or before its fetch offset; there are no records then.
	Diverging *log.EpochEnd
	// CurrentLeader is filled with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH only.
	CurrentLeader LeaderHint
}

// ListOffsetQuery asks for the offset of a timestamp.
type ListOffsetQuery struct {
	TP metadata.TopicPartition
	// Replica is NoBroker for a client, -2 for a debugging one that may ask any replica.
	Replica            metadata.BrokerID
	ReadCommitted      bool
	CurrentLeaderEpoch metadata.LeaderEpoch
	// Timestamp is in Unix ms, or one of the constants below.
	Timestamp int64
}

// Special timestamps of ListOffsets.
const (
	LatestTimestamp        int64 = -1
	EarliestTimestamp      int64 = -2
	MaxTimestamp           int64 = -3
	EarliestLocalTimestamp int64 = -4
	LatestTieredTimestamp  int64 = -5
)

// EpochQuery asks where a leader epoch ends.
type EpochQuery struct {
	TP                 metadata.TopicPartition
	CurrentLeaderEpoch metadata.LeaderEpoch
	LeaderEpoch        metadata.LeaderEpoch
}

// PartitionState is what a LeaderAndIsr request says about one partition.
type PartitionState struct {
	metadata.LeaderAndISR
	TP metadata.TopicPartition
	// TopicID is zero below LeaderAndIsr v5.
	TopicID  metadata.TopicID
	Replicas []metadata.BrokerID
	// Adding and Removing are the two sides of a reassignment.
	Adding, Removing []metadata.BrokerID
	IsNew            bool
}

// StopReplica is what a StopReplica request says about one partition.
type StopReplica struct {
	TP metadata.TopicPartition
	// LeaderEpoch is NoEpoch below StopReplica v3 and EpochDuringDelete while the topic is deleted: both skip the check.
	LeaderEpoch metadata.LeaderEpoch
	Delete      bool
}
