package record

import (
	"encoding/binary"
	"math/bits"
)

// Producer names the idempotent producer of a batch.
type Producer struct {
	ID           int64
	Epoch        int16
	BaseSequence int32
}

// BuilderOptions are the header fields of a batch that is built. The zero value is a plain batch at offset 0.
type BuilderOptions struct {
	BaseOffset  int64
	LeaderEpoch int32
	// Level of the codec, DefaultLevel for Kafka's default.
	Level int
	// Producer is nil for a batch without producer id.
	Producer      *Producer
	Transactional bool
	Control       bool
	// TimestampType LogAppendTime stamps the batch with the largest timestamp appended.
	TimestampType TimestampType
}

// Builder builds one batch of format 2; Reset makes it ready for the next. It keeps its memory. It is for one goroutine
// at a time. Kafka: MemoryRecordsBuilder.
type Builder struct {
	codec Codec
	o     BuilderOptions
	ws    Workspace

	body   []byte
	count  int32
	last   int32 // offset delta of the last record
	baseTS int64
	maxTS  int64
}

// NewBuilder returns a builder of batches with this codec.
func NewBuilder(codec Codec, o BuilderOptions) *Builder {
	b := &Builder{codec: codec}
	b.Reset(o)
	return b
}

// Reset makes the builder ready for another batch.
func (b *Builder) Reset(o BuilderOptions) {
	b.o = o
	b.body = b.body[:0]
	b.count, b.last, b.baseTS, b.maxTS = 0, -1, NoTimestamp, NoTimestamp
}

// Append adds a record at the next offset. ts is in ms; nil key and value are null. The bytes are copied.
func (b *Builder) Append(ts int64, key, value []byte, headers []Header) {
	b.AppendAt(b.last+1, ts, key, value, headers)
}

// AppendAt is Append at an offset delta of the caller's choice, above the last one: a batch with holes, as compaction makes.
func (b *Builder) AppendAt(delta int32, ts int64, key, value []byte, headers []Header) {
	if b.count == 0 {
		b.baseTS = ts
	}
	b.maxTS = max(b.maxTS, ts)
	b.last = delta
	b.count++
	tsDelta := ts - b.baseTS
	b.body = appendVarint(b.body, int64(recordSize(tsDelta, delta, key, value, headers)))
	b.body = append(b.body, 0)
	b.body = appendVarint(b.body, tsDelta)
	b.body = appendVarint(b.body, int64(delta))
	b.body = appendNullable(b.body, key)
	b.body = appendNullable(b.body, value)
	b.body = appendVarint(b.body, int64(len(headers)))
	for _, h := range headers {
		b.body = appendVarint(b.body, int64(len(h.Key)))
		b.body = append(b.body, h.Key...)
		b.body = appendNullable(b.body, h.Value)
	}
}

// Count is the number of records so far.
func (b *Builder) Count() int { return int(b.count) }

// Size is the size in bytes of the batch so far, before compression.
func (b *Builder) Size() int { return HeaderSize + len(b.body) }

// Build ends the batch. The bytes belong to the caller. It panics on a level or codec that does not exist, which only the
// program itself can have chosen.
func (b *Builder) Build() []byte {
	return b.AppendTo(make([]byte, 0, HeaderSize+len(b.body)))
}

// AppendTo ends the batch and appends it to dst.
func (b *Builder) AppendTo(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, HeaderSize)...)
	dst, err := b.ws.Compress(dst, b.codec, b.o.Level, b.body)
	if err != nil {
		panic("record: " + err.Error())
	}
	b.header(Batch(dst[start:]))
	return dst
}

func (b *Builder) header(h Batch) {
	p := Producer{ID: NoProducerID, Epoch: NoProducerEpoch, BaseSequence: NoSequence}
	if b.o.Producer != nil {
		p = *b.o.Producer
	}
	be := binary.BigEndian
	be.PutUint64(h[posBaseOffset:], uint64(b.o.BaseOffset))
	be.PutUint32(h[posLength:], uint32(len(h)-LogOverhead))
	be.PutUint32(h[posLeaderEpoch:], uint32(b.o.LeaderEpoch))
	h[posMagic] = 2
	be.PutUint16(h[posAttributes:], b.attributes())
	be.PutUint32(h[posLastOffsetDelta:], uint32(b.last))
	be.PutUint64(h[posBaseTimestamp:], uint64(b.baseTS))
	be.PutUint64(h[posMaxTimestamp:], uint64(b.maxTS))
	be.PutUint64(h[posProducerID:], uint64(p.ID))
	be.PutUint16(h[posProducerEpoch:], uint16(p.Epoch))
	be.PutUint32(h[posBaseSequence:], uint32(p.BaseSequence))
	be.PutUint32(h[posCount:], uint32(b.count))
	h.updateCRC()
}

func (b *Builder) attributes() uint16 {
	a := uint16(b.codec) & attrCodec
	if b.o.TimestampType == LogAppendTime {
		a |= attrLogAppendTime
	}
	if b.o.Transactional {
		a |= attrTransactional
	}
	if b.o.Control {
		a |= attrControl
	}
	return a
}

// recordSize is the size of a record without its length field.
func recordSize(tsDelta int64, delta int32, key, value []byte, headers []Header) int {
	n := 1 + varintLen(tsDelta) + varintLen(int64(delta)) + nullableLen(key) + nullableLen(value) + varintLen(int64(len(headers)))
	for _, h := range headers {
		n += varintLen(int64(len(h.Key))) + len(h.Key) + nullableLen(h.Value)
	}
	return n
}

func nullableLen(p []byte) int {
	if p == nil {
		return 1
	}
	return varintLen(int64(len(p))) + len(p)
}

func varintLen(v int64) int {
	u := uint64(v)<<1 ^ uint64(v>>63)
	return max(1, (bits.Len64(u)+6)/7)
}

func appendVarint(dst []byte, v int64) []byte { return binary.AppendVarint(dst, v) }

func appendNullable(dst, p []byte) []byte {
	if p == nil {
		return appendVarint(dst, -1)
	}
	return append(appendVarint(dst, int64(len(p))), p...)
}
