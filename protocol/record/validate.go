package record

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// DefaultMaxUncompressed is the default bound of what the records of a batch may unfold to: 256 MiB, far above what
// producers collect for one batch. Nothing of that size is held in memory; it bounds the work that a few bytes can cause.
//
// Differs from Kafka: it has no bound.
const DefaultMaxUncompressed = int64(256) << 20

// maxRecordErrors is how many records of a batch are named in an error; the rest is only counted.
const maxRecordErrors = 100

// ValidateOptions says what a topic and the origin of a batch ask of it.
type ValidateOptions struct {
	// Client refuses what only brokers may write: control batches, and base offsets other than 0.
	Client bool
	// RequireKeys refuses records without key, as compacted topics do. Partition (topic-partition) is for the message.
	RequireKeys bool
	Partition   string
	// CheckTimestamps refuses record timestamps outside [MinTimestamp, MaxTimestamp], in ms. NoTimestamp is always good.
	// Leave it off for topics with LogAppendTime.
	CheckTimestamps            bool
	MinTimestamp, MaxTimestamp int64
	// MaxUncompressed bounds the bytes that the records may unfold to; 0 is DefaultMaxUncompressed.
	MaxUncompressed int64
}

// Summary is what validation has learned about the records of a batch.
type Summary struct {
	// MaxTimestamp is the largest timestamp of the records in ms, NoTimestamp if none has one; MaxTimestampDelta is the offset delta of the
	// first record that has it. With LogAppendTime they are the batch's max timestamp and last offset delta.
	MaxTimestamp      int64
	MaxTimestampDelta int32
	// Uncompressed is the size of the records in bytes, uncompressed.
	Uncompressed int64
}

// Validate checks a batch of format 2 from checksum to last record, without building any record. ws is the memory to
// decompress in, nil for a new one; uncompressed batches need none. The error is a *ValidationError, which names the
// records at fault (KIP-467), or a *CorruptError. Kafka: LogValidator.
//
// Differs from Kafka: offset deltas must be 0, 1, 2...; Kafka stores such a batch with a hole, or rewrites it.
func Validate(b Batch, o ValidateOptions, ws *Workspace) (Summary, error) {
	if err := ValidateHeader(b, o.Client); err != nil {
		return Summary{}, err
	}
	if ws == nil && b.Codec() != None {
		ws = new(Workspace)
	}
	limit := o.MaxUncompressed
	if limit == 0 {
		limit = DefaultMaxUncompressed
	}
	v := validator{b: b, o: o, s: Summary{MaxTimestamp: NoTimestamp}}
	if err := b.open(&v.c, ws, limit); err != nil {
		return Summary{}, err
	}
	return v.run()
}

// ValidateHeader checks what can be checked without looking at records: format, checksum, counts, sequence, flags.
func ValidateHeader(b Batch, client bool) error {
	if len(b) < HeaderSize || b.Magic() != 2 || int(b.Length())+LogOverhead != len(b) {
		return &CorruptError{Reason: "not one whole batch of format 2", Value: int64(len(b))}
	}
	if !b.CheckCRC() {
		return invalid(kerr.CorruptMessage, "record is corrupt (stored crc = %d, computed crc = %d)", b.CRC(), b.computeCRC())
	}
	count, span := int64(b.Count()), int64(b.LastOffsetDelta())+1
	switch {
	case span <= 0:
		return invalid(kerr.InvalidRecord, "batch has an invalid offset range: [%d, %d]", b.BaseOffset(), b.LastOffset())
	case count <= 0:
		return invalid(kerr.InvalidRecord, "invalid reported count for record batch: %d", count)
	case count != span:
		return invalid(kerr.InvalidRecord, "inconsistent batch offset range [%d, %d] and count of records %d", b.BaseOffset(), b.LastOffset(), count)
	case client && b.BaseOffset() != 0:
		return invalid(kerr.InvalidRecord, "the baseOffset of the record batch should be 0, but it is %d", b.BaseOffset())
	case client && b.IsControl():
		return invalid(kerr.InvalidRecord, "clients are not allowed to write control records")
	case b.HasProducerID() && !b.IsControl() && b.BaseSequence() < 0:
		return invalid(kerr.InvalidRecord, "invalid sequence number %d in record batch with producerId %d", b.BaseSequence(), b.ProducerID())
	case b.IsTransactional() && !b.HasProducerID():
		return invalid(kerr.InvalidRecord, "transactional record batch without producerId")
	case !b.Codec().Known():
		return invalid(kerr.UnsupportedCompressionType, "unknown compression type id: %d", b.Codec())
	}
	return nil
}

// validator walks over the records of one batch.
type validator struct {
	b Batch
	o ValidateOptions
	c cursor
	s Summary

	bad      []RecordError
	badTotal int
	badErr   *kerr.Error
}

func (v *validator) run() (Summary, error) {
	base, n := v.b.BaseTimestamp(), v.b.Count()
	for i := range n {
		ts, keyless := v.record(i)
		if v.c.err != nil {
			return Summary{}, v.b.contentError(i, v.c.err)
		}
		if keyless && v.o.RequireKeys {
			v.reject(i, kerr.InvalidRecord, "Compacted topic cannot accept message without key in topic partition "+v.o.Partition)
		}
		v.timestamp(i, base+ts)
	}
	if !v.c.atEnd() {
		err := v.c.err
		if err == nil {
			err = errTrailing
		}
		return Summary{}, v.b.contentError(n-1, err)
	}
	if v.badTotal > 0 {
		return Summary{}, v.rejected()
	}
	v.s.Uncompressed = v.c.offset()
	if v.b.TimestampType() == LogAppendTime {
		v.s.MaxTimestamp, v.s.MaxTimestampDelta = v.b.MaxTimestamp(), v.b.LastOffsetDelta()
	}
	return v.s, nil
}

// record passes over one record.
func (v *validator) record(i int32) (tsDelta int64, keyless bool) {
	c := &v.c
	length := int64(c.varint())
	start := c.offset()
	if c.err == nil && length < recordMin {
		c.fail(errRecordLength)
	}
	c.byte()
	tsDelta = c.varlong()
	if delta := c.varint(); c.err == nil && delta != i {
		c.fail(fmt.Errorf("offset delta is %d", delta))
	}
	keyless = c.skipNullable(length)
	c.skipNullable(length)
	c.skipHeaders(length)
	if c.err == nil && c.offset()-start != length {
		c.fail(errRecordLength)
	}
	return tsDelta, keyless
}

// skipNullable passes over bytes that may be null, and tells whether they are.
func (c *cursor) skipNullable(most int64) (null bool) {
	n := int64(c.varint())
	switch {
	case n == -1:
		return true
	case n < -1 || n > most:
		c.fail(errRecordLength)
	default:
		c.skip(n)
	}
	return false
}

func (c *cursor) skipHeaders(most int64) {
	n := int64(c.varint())
	if n < 0 || n > most/2 {
		c.fail(errHeaderCount)
		return
	}
	for range n {
		if c.skipNullable(most) {
			c.fail(errHeaderKey)
		}
		c.skipNullable(most)
		if c.err != nil {
			return
		}
	}
}

func (v *validator) timestamp(i int32, ts int64) {
	if ts > v.s.MaxTimestamp {
		v.s.MaxTimestamp, v.s.MaxTimestampDelta = ts, i
	}
	if v.o.CheckTimestamps && ts != NoTimestamp && (ts < v.o.MinTimestamp || ts > v.o.MaxTimestamp) {
		v.reject(i, kerr.InvalidTimestamp, fmt.Sprintf("Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
			ts, v.b.BaseOffset()+int64(i), v.o.MinTimestamp, v.o.MaxTimestamp))
	}
}

func (v *validator) reject(i int32, err *kerr.Error, text string) {
	if v.badErr == nil || v.badErr == kerr.InvalidRecord {
		v.badErr = err // INVALID_TIMESTAMP goes before INVALID_RECORD, as in Kafka.
	}
	v.badTotal++
	if len(v.bad) < maxRecordErrors {
		v.bad = append(v.bad, RecordError{Index: i, Message: text})
	}
}

// rejected is the error for records at fault, with Kafka's text. Kafka: LogValidator.processRecordErrors.
func (v *validator) rejected() error {
	text := "One or more records have been rejected due to invalid timestamp"
	if v.badErr != kerr.InvalidTimestamp {
		var first strings.Builder
		for i, r := range v.bad[:min(len(v.bad), 3)] {
			if i > 0 {
				first.WriteString(", ")
			}
			fmt.Fprintf(&first, "RecordError(batchIndex=%d, message='%s')", r.Index, r.Message)
		}
		text = fmt.Sprintf("One or more records have been rejected due to %d record errors in total, and only showing the first three errors at most: [%s]",
			v.badTotal, first.String())
	}
	return &ValidationError{Err: v.badErr, Records: v.bad, Message: text}
}
