package protocol

import "io"

// File is what records are sent from: an open file, read at explicit offsets. Fd is its descriptor for sendfile, with ok
// false for a file that has none.
type File interface {
	io.ReaderAt
	Fd() (fd uintptr, ok bool)
}

// FileRange is a part of a file that must stay as it is until it was sent.
type FileRange struct {
	File File
	Pos  int64
	Len  int
}

// Part is a piece of a response: either bytes or a range of a file.
type Part struct {
	Bytes []byte
	// Range is sent when its File is not nil.
	Range FileRange
}

// Size is the number of bytes of the part.
func (p Part) Size() int {
	if p.Range.File != nil {
		return p.Range.Len
	}
	return len(p.Bytes)
}

// FetchResponse is a Fetch response whose record bytes may still lie in files. Kafka: FetchResponseData.
type FetchResponse struct {
	ThrottleMs int32
	ErrorCode  int16
	SessionID  int32
	Topics     []FetchTopic
	// Nodes are endpoints of the leaders named in CurrentLeader (v16+).
	Nodes []FetchNode
}

// FetchTopic is a topic by name (to v12) or id (from v13).
type FetchTopic struct {
	Topic      string
	TopicID    [16]byte
	Partitions []FetchPartition
}

// FetchPartition is the answer for one partition. Set what is not known to -1: NoFetchPartition does.
type FetchPartition struct {
	Partition        int32
	ErrorCode        int16
	HighWatermark    int64
	LastStableOffset int64
	LogStartOffset   int64
	// Aborted is nil (null on the wire) for read_uncommitted.
	Aborted              []AbortedTransaction
	PreferredReadReplica int32
	// DivergingEpoch (v12+) is written when EndOffset >= 0 or Epoch >= 0, CurrentLeader (v12+) when LeaderID or LeaderEpoch >= 0.
	DivergingEpoch DivergingEpoch
	CurrentLeader  LeaderID
	// Records: a file range, or Bytes if Records.File is nil. Both empty: an empty, not null, field.
	Records FileRange
	Bytes   []byte
}

// AbortedTransaction is a transaction to be skipped by a read_committed consumer.
type AbortedTransaction struct{ ProducerID, FirstOffset int64 }

// DivergingEpoch is where the follower's log parts from the leader's (KIP-595).
type DivergingEpoch struct {
	Epoch     int32
	EndOffset int64
}

// LeaderID is the leader as the answering broker knows it (KIP-951).
type LeaderID struct {
	LeaderID    int32
	LeaderEpoch int32
}

// FetchNode is the endpoint of a leader (KIP-951).
type FetchNode struct {
	NodeID int32
	Host   string
	Port   int32
	Rack   *string
}

// NoFetchPartition is the answer for a partition with an error and nothing known.
func NoFetchPartition(partition int32, code int16) FetchPartition {
	return FetchPartition{
		Partition: partition, ErrorCode: code, HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1,
		PreferredReadReplica: -1, DivergingEpoch: DivergingEpoch{-1, -1}, CurrentLeader: LeaderID{-1, -1},
	}
}
