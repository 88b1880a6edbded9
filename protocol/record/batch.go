package record

import (
	"encoding/binary"
	"hash/crc32"
)

// Positions of the fields of a batch of format 2. Kafka: DefaultRecordBatch.
const (
	posBaseOffset      = 0
	posLength          = 8
	posLeaderEpoch     = 12
	posMagic           = 16
	posCRC             = 17
	posAttributes      = 21
	posLastOffsetDelta = 23
	posBaseTimestamp   = 27
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posCount           = 57
)

const (
	// LogOverhead is the size in bytes of what precedes every batch or old message: base offset and length. The length
	// does not count it. Kafka: Records.LOG_OVERHEAD.
	LogOverhead = 12
	// HeaderSize is the size in bytes of the header of a batch of format 2. Kafka: DefaultRecordBatch.RECORD_BATCH_OVERHEAD.
	HeaderSize = 61

	// NoTimestamp stands where a batch or message has no timestamp. Kafka: RecordBatch.NO_TIMESTAMP.
	NoTimestamp = int64(-1)
	// NoProducerID is the producer id of a batch of a producer that is not idempotent.
	NoProducerID = int64(-1)
	// NoProducerEpoch goes with NoProducerID.
	NoProducerEpoch = int16(-1)
	// NoSequence is the base sequence of a batch without sequence: plain producers, and control batches.
	NoSequence = int32(-1)
)

const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
	attrDeleteHorizon = 0x40
)

// TimestampType says who set the timestamps of a batch. Kafka: TimestampType.
type TimestampType int8

const (
	// CreateTime means that the producer set them.
	CreateTime TimestampType = iota
	// LogAppendTime means the leader's clock at the append, one for the whole batch.
	LogAppendTime
)

// castagnoli is the polynomial of CRC-32C; the table is never written to.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is one whole record batch: header and records, as it lies in a log and travels on the wire. Its methods read
// and write the bytes in place. A Batch from Next with Magic 2 is at least HeaderSize long; with Magic 0 or 1 it is one
// entry of an old message set, and only BaseOffset, Length, Size, Magic and SetBaseOffset are of use: see MessageSet.
// Kafka: DefaultRecordBatch.
type Batch []byte

// Next splits the first batch off p. ErrShort means that p ends before the batch does: a log ends so after a crash, and
// a fetch that was cut by size. A *CorruptError means that no batch can begin here. rest is nil when err is not.
func Next(p []byte) (b Batch, rest []byte, err error) {
	if len(p) < posMagic+1 {
		return nil, nil, ErrShort
	}
	length := int64(int32(binary.BigEndian.Uint32(p[posLength:])))
	magic := int8(p[posMagic])
	if err := checkLength(magic, length); err != nil {
		return nil, nil, err
	}
	if int64(len(p)) < LogOverhead+length {
		return nil, nil, ErrShort
	}
	n := LogOverhead + int(length)
	return Batch(p[:n:n]), p[n:], nil
}

// checkLength tells whether a batch of this format can have this length.
func checkLength(magic int8, length int64) error {
	switch magic {
	case 0:
		if length < messageV0Min {
			return &CorruptError{Reason: "length below the smallest message of format 0", Value: length}
		}
	case 1:
		if length < messageV1Min {
			return &CorruptError{Reason: "length below the smallest message of format 1", Value: length}
		}
	case 2:
		if length < HeaderSize-LogOverhead {
			return &CorruptError{Reason: "length below the header's", Value: length}
		}
	default:
		return &CorruptError{Reason: "unknown magic", Value: int64(magic)}
	}
	return nil
}

func (b Batch) i16(pos int) int16 { return int16(binary.BigEndian.Uint16(b[pos:])) }
func (b Batch) i32(pos int) int32 { return int32(binary.BigEndian.Uint32(b[pos:])) }
func (b Batch) i64(pos int) int64 { return int64(binary.BigEndian.Uint64(b[pos:])) }

// BaseOffset is the offset of the first record, also when compaction has removed that record.
func (b Batch) BaseOffset() int64 { return b.i64(posBaseOffset) }

// LastOffset is the offset of the last record, also when compaction has removed that record.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) }

// NextOffset is the first offset after the batch.
func (b Batch) NextOffset() int64 { return b.LastOffset() + 1 }

// LastOffsetDelta is the offset of the last record relative to BaseOffset.
func (b Batch) LastOffsetDelta() int32 { return b.i32(posLastOffsetDelta) }

// Length is the length field: the bytes that follow it.
func (b Batch) Length() int32 { return b.i32(posLength) }

// Size is the size of the whole batch in bytes.
func (b Batch) Size() int { return len(b) }

// LeaderEpoch is the epoch of the leader that appended the batch, -1 before that.
func (b Batch) LeaderEpoch() int32 { return b.i32(posLeaderEpoch) }

// Magic is the message format: 0, 1 or 2.
func (b Batch) Magic() int8 { return int8(b[posMagic]) }

// CRC is the stored CRC-32C, which covers everything from the attributes on.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[posCRC:]) }

// Attributes are the flag bits: codec 0-2, timestamp type 3, transactional 4, control 5, delete horizon 6.
func (b Batch) Attributes() int16 { return b.i16(posAttributes) }

// Codec is the compression of the records. Values above Zstd are unknown codecs.
func (b Batch) Codec() Codec { return Codec(b[posAttributes+1] & attrCodec) }

// TimestampType says whether the producer or the broker set the timestamps.
func (b Batch) TimestampType() TimestampType {
	if b[posAttributes+1]&attrLogAppendTime != 0 {
		return LogAppendTime
	}
	return CreateTime
}

// IsTransactional tells whether the batch is part of a transaction.
func (b Batch) IsTransactional() bool { return b[posAttributes+1]&attrTransactional != 0 }

// IsControl tells whether the batch holds a control record, such as the end of a transaction.
func (b Batch) IsControl() bool { return b[posAttributes+1]&attrControl != 0 }

// DeleteHorizon is the time in ms after which the cleaner may drop the batch's tombstones and markers; it takes the
// place of the base timestamp (KIP-534). ok is false when none was set.
func (b Batch) DeleteHorizon() (ms int64, ok bool) {
	if b[posAttributes+1]&attrDeleteHorizon == 0 {
		return NoTimestamp, false
	}
	return b.i64(posBaseTimestamp), true
}

// BaseTimestamp is what the records' timestamp deltas count from, in ms; with a delete horizon, that.
func (b Batch) BaseTimestamp() int64 { return b.i64(posBaseTimestamp) }

// MaxTimestamp is the largest timestamp in the batch in ms, or the append time with LogAppendTime.
func (b Batch) MaxTimestamp() int64 { return b.i64(posMaxTimestamp) }

// ProducerID is the id of the idempotent producer, or NoProducerID.
func (b Batch) ProducerID() int64 { return b.i64(posProducerID) }

// HasProducerID tells whether an idempotent producer wrote the batch.
func (b Batch) HasProducerID() bool { return b.ProducerID() > NoProducerID }

// ProducerEpoch is the epoch of the producer id, or NoProducerEpoch.
func (b Batch) ProducerEpoch() int16 { return b.i16(posProducerEpoch) }

// BaseSequence is the sequence number of the first record, or NoSequence.
func (b Batch) BaseSequence() int32 { return b.i32(posBaseSequence) }

// LastSequence is the sequence number of the last record, which wraps from 2^31-1 to 0; NoSequence without one.
// Kafka: DefaultRecordBatch.incrementSequence.
func (b Batch) LastSequence() int32 {
	base := b.BaseSequence()
	if base == NoSequence {
		return NoSequence
	}
	return AddSequence(base, b.LastOffsetDelta())
}

// AddSequence adds n >= 0 to a sequence number; after 2^31-1 comes 0.
func AddSequence(seq, n int32) int32 {
	return int32((int64(seq) + int64(n)) & 0x7fffffff)
}

// Count is the number of records, as the header says; fewer than the offsets span after compaction, and possibly 0.
func (b Batch) Count() int32 { return b.i32(posCount) }

// RecordBytes is the part after the header, compressed if the batch is.
func (b Batch) RecordBytes() []byte { return b[HeaderSize:] }

// CheckCRC tells whether the checksum is right.
func (b Batch) CheckCRC() bool { return b.CRC() == b.computeCRC() }

func (b Batch) computeCRC() uint32 { return crc32.Checksum(b[posAttributes:], castagnoli) }

func (b Batch) updateCRC() { binary.BigEndian.PutUint32(b[posCRC:], b.computeCRC()) }

// SetBaseOffset moves the batch to another offset. The checksum does not cover it.
func (b Batch) SetBaseOffset(offset int64) {
	binary.BigEndian.PutUint64(b[posBaseOffset:], uint64(offset))
}

// SetLeaderEpoch stamps the epoch of the appending leader. The checksum does not cover it.
func (b Batch) SetLeaderEpoch(epoch int32) {
	binary.BigEndian.PutUint32(b[posLeaderEpoch:], uint32(epoch))
}

// SetMaxTimestamp sets the type of the timestamps and the largest of them, in ms, and renews the checksum. It does
// nothing when both are so already. Kafka: DefaultRecordBatch.setMaxTimestamp.
func (b Batch) SetMaxTimestamp(t TimestampType, ms int64) {
	if b.TimestampType() == t && b.MaxTimestamp() == ms {
		return
	}
	b[posAttributes+1] &^= attrLogAppendTime
	if t == LogAppendTime {
		b[posAttributes+1] |= attrLogAppendTime
	}
	binary.BigEndian.PutUint64(b[posMaxTimestamp:], uint64(ms))
	b.updateCRC()
}

// SetLogAppendTime stamps the whole batch with the broker's time in ms and renews the checksum.
func (b Batch) SetLogAppendTime(ms int64) { b.SetMaxTimestamp(LogAppendTime, ms) }

// SetLastOffsetDelta sets where the batch ends and renews the checksum.
func (b Batch) SetLastOffsetDelta(delta int32) {
	binary.BigEndian.PutUint32(b[posLastOffsetDelta:], uint32(delta))
	b.updateCRC()
}
