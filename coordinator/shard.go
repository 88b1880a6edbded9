package coordinator

import (
	"time"

	"jackdaw/protocol/record"
)

// Ticket names a request that waits for an answer. It is unique within a loaded shard. NoTicket when nobody waits.
type Ticket uint64

// NoTicket is the ticket of an operation without a caller; a Reply to it goes nowhere.
const NoTicket Ticket = 0

// Record is a record to be written. A nil Value is a tombstone.
type Record struct {
	Key, Value []byte
}

// Write is one batch to be appended: all of its records, or none.
type Write struct {
	Records []Record
	// Timestamp of the records, in ms.
	Timestamp int64
	// Producer is nil for a plain batch. Offset commits carry one even without a transaction: ids -1 and sequence 0, as
	// Kafka writes them (captures of __consumer_offsets).
	Producer *record.Producer
	// Transactional batches take effect with the producer's marker.
	Transactional bool
	// Tag is the shard's own note of what the write is. It comes back with Appended, Rejected, Late and Committed.
	Tag any
}

// Reply answers the request of a ticket. A ticket is answered at most once; the second reply, and one to a caller that has
// gone, are dropped.
type Reply struct {
	To   Ticket
	Body any
}

// Effects is what an operation of a shard asks for. Writes are appended in order, then Replies go out, then Outside is
// handed on. The zero value asks for nothing.
type Effects struct {
	Writes  []Write
	Replies []Reply
	// Outside are requests to other machines (transaction markers). Options.Outside gets them.
	Outside []any
}

// LogRecord is a record of the partition as it is read at load. Key and Value are good until Load returns.
type LogRecord struct {
	Offset    int64
	Timestamp int64 // ms
	// ProducerID and ProducerEpoch are -1 without a producer.
	ProducerID    int64
	ProducerEpoch int16
	Transactional bool
	Key, Value    []byte
}

// Marker is the end of a transaction, as read at load.
type Marker struct {
	Offset        int64
	ProducerID    int64
	ProducerEpoch int16
	Commit        bool
}

// Shard is the state machine of one partition. All methods are called by one goroutine; now never goes back by much.
//
// At load: Load and LoadMarker for each record in the order of the log, then Loaded once. Then operations, which are
// functions given to Runtime.Call, and for each Write either Rejected, or Appended and later Committed, with Late in
// between when that takes long. Writes are committed in the order they were appended.
type Shard interface {
	// Load applies a record. An error means that it is not understood; it is logged and the record skipped.
	Load(r LogRecord) error
	// LoadMarker applies the end of a transaction.
	LoadMarker(m Marker)
	// Loaded ends the load: timers begin.
	Loaded(now time.Time) Effects

	// Appended tells that the write is in the log, its first record at offset. It is not committed yet.
	Appended(now time.Time, tag any, offset int64)
	// Rejected tells that the write is not in the log and never will be.
	Rejected(now time.Time, tag any, err error) Effects
	// Late tells that the write is in the log, but was not committed in time or may never be: its request is to be
	// answered with the error now. Called at most once for a write.
	Late(now time.Time, tag any, err error) Effects
	// Committed tells that the high watermark has passed the write.
	Committed(now time.Time, tag any) Effects

	// Deadline is when Tick wants to be called next; the zero time when never.
	Deadline() time.Time
	// Tick runs what is due.
	Tick(now time.Time) Effects
}
