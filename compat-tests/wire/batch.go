package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Record is what a test wants in a batch.
type Record struct {
	Key, Value  []byte // nil is null
	OffsetDelta int32
	// TimestampDelta is relative to the batch's base timestamp, in ms.
	TimestampDelta int64
	Headers        []kmsg.Header
}

// encode returns the record as it stands in a batch.
func (r Record) encode() []byte {
	k := kmsg.NewRecord()
	k.OffsetDelta, k.Key, k.Value, k.TimestampDelta64, k.Headers = r.OffsetDelta, r.Key, r.Value, r.TimestampDelta, r.Headers
	k.Length = int32(len(k.AppendTo(nil)) - 1) // the length 0 is one byte
	return k.AppendTo(nil)
}

// Batch is a record batch of magic 2 that a test may bend. Zero fields of the embedded struct are set by NewBatch.
type Batch struct {
	kmsg.RecordBatch
	KeepMaxTimestamp bool // Encode does not derive MaxTimestamp
}

// NewBatch returns a right batch of the records, uncompressed, without a producer, dated now.
func NewBatch(records ...Record) *Batch {
	b := &Batch{RecordBatch: kmsg.NewRecordBatch()}
	b.Magic, b.ProducerID, b.ProducerEpoch, b.FirstSequence, b.PartitionLeaderEpoch = 2, -1, -1, -1, -1
	b.FirstTimestamp = time.Now().UnixMilli()
	b.NumRecords = int32(len(records))
	b.LastOffsetDelta = b.NumRecords - 1
	var latest int64
	for _, r := range records {
		b.Records = append(b.Records, r.encode()...)
		latest = max(latest, r.TimestampDelta)
	}
	b.MaxTimestamp = b.FirstTimestamp + latest
	return b
}

// Values returns a batch of one record for each value, all with key "k".
func Values(values ...string) *Batch {
	var records []Record
	for i, v := range values {
		records = append(records, Record{Key: []byte("k"), Value: []byte(v), OffsetDelta: int32(i)})
	}
	return NewBatch(records...)
}

// With changes fields of the batch: b.With(func(b *Batch) { b.Attributes = 7 }).
func (b *Batch) With(change func(b *Batch)) *Batch {
	change(b)
	return b
}

// Producer sets producer id, epoch and base sequence.
func (b *Batch) Producer(id int64, epoch int16, sequence int32) *Batch {
	b.ProducerID, b.ProducerEpoch, b.FirstSequence = id, epoch, sequence
	return b
}

// At dates the batch: base timestamp ts, records keep their deltas.
func (b *Batch) At(ts int64) *Batch {
	b.MaxTimestamp += ts - b.FirstTimestamp
	b.FirstTimestamp = ts
	return b
}

// Gzip compresses the records.
func (b *Batch) Gzip() *Batch {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b.Records) // A bytes.Buffer takes everything.
	_ = w.Close()
	b.Records = out.Bytes()
	b.Attributes |= 1
	return b
}

// Encode returns the bytes, with the right length and CRC.
func (b *Batch) Encode() []byte {
	p := b.AppendTo(nil)
	binary.BigEndian.PutUint32(p[8:], uint32(len(p)-12))
	Seal(p)
	return p
}

// Seal writes the right CRC into an encoded batch.
func Seal(p []byte) {
	binary.BigEndian.PutUint32(p[17:], crc32.Checksum(p[21:], crc32.MakeTable(crc32.Castagnoli)))
}

// Batches decodes every whole batch of a fetched record set; a partial one at the end is left out.
func Batches(p []byte) ([]kmsg.RecordBatch, error) {
	var all []kmsg.RecordBatch
	for len(p) >= 61 {
		size := 12 + int(binary.BigEndian.Uint32(p[8:]))
		if size > len(p) {
			break
		}
		b := kmsg.NewRecordBatch()
		if err := b.ReadFrom(p[:size]); err != nil {
			return all, err
		}
		all = append(all, b)
		p = p[size:]
	}
	return all, nil
}

// CRCOK checks the CRC of one encoded batch.
func CRCOK(p []byte) bool {
	return len(p) >= 61 && binary.BigEndian.Uint32(p[17:]) == crc32.Checksum(p[21:], crc32.MakeTable(crc32.Castagnoli))
}
