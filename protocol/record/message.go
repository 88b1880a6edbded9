package record

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"iter"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Positions of the fields of a message of the formats 0 and 1, after offset and length. Kafka: LegacyRecord.
const (
	posMessageCRC        = LogOverhead
	posMessageAttributes = posMagic + 1
	posMessageTimestamp  = posMessageAttributes + 1 // format 1
	posMessageKeyV0      = posMessageAttributes + 1
	posMessageKeyV1      = posMessageTimestamp + 8
)

// Smallest lengths of messages of the old formats: checksum, magic, attributes, timestamp in format 1, and two lengths.
// Kafka: LegacyRecord.RECORD_OVERHEAD_V0 and V1.
const (
	messageV0Min = 4 + 1 + 1 + 4 + 4
	messageV1Min = messageV0Min + 8
)

// Message is one message of format 0 or 1 with its offset and length, as Next splits it off. It may be the wrapper of a
// compressed message set. Kafka: AbstractLegacyRecordBatch.
type Message []byte

// Message looks at a batch of magic 0 or 1 as what it is.
func (b Batch) Message() Message { return Message(b) }

// Offset is the message's offset; a wrapper's is that of its last message.
func (m Message) Offset() int64 { return Batch(m).BaseOffset() }

// Magic is the format, 0 or 1.
func (m Message) Magic() int8 { return Batch(m).Magic() }

// Codec is the compression of a wrapper, None for a plain message.
func (m Message) Codec() Codec { return Codec(m[posMessageAttributes] & attrCodec) }

// TimestampType says who set the timestamp; in format 0 there is none.
func (m Message) TimestampType() TimestampType {
	if m.Magic() == 1 && m[posMessageAttributes]&attrLogAppendTime != 0 {
		return LogAppendTime
	}
	return CreateTime
}

// Timestamp is in ms; NoTimestamp in format 0. A wrapper's is the largest of its messages, or the append time of all.
func (m Message) Timestamp() int64 {
	if m.Magic() == 0 {
		return NoTimestamp
	}
	return Batch(m).i64(posMessageTimestamp)
}

// CheckCRC tells whether the checksum is right: CRC-32 from the magic to the end of this message.
func (m Message) CheckCRC() bool {
	return binary.BigEndian.Uint32(m[posMessageCRC:]) == crc32.ChecksumIEEE(m[posMagic:])
}

// Content gives key and value, nil when they are null. ok is false when the lengths are wrong.
func (m Message) Content() (key, value []byte, ok bool) {
	p := m[posMessageKeyV0:]
	if m.Magic() == 1 {
		p = m[posMessageKeyV1:]
	}
	if key, p, ok = splitBytes(p); !ok {
		return nil, nil, false
	}
	value, p, ok = splitBytes(p)
	return key, value, ok && len(p) == 0
}

// splitBytes splits nullable bytes with their length off.
func splitBytes(p []byte) (b, rest []byte, ok bool) {
	if len(p) < 4 {
		return nil, nil, false
	}
	n := int64(int32(binary.BigEndian.Uint32(p)))
	p = p[4:]
	if n == -1 {
		return nil, p, true
	}
	if n < 0 || n > int64(len(p)) {
		return nil, nil, false
	}
	return p[:n:n], p[n:], true
}

// maxUnwrapped bounds in bytes what a compressed message set of an old format may unfold to; that is held in memory.
const maxUnwrapped = 64 << 20

// OldRecord is a message of an old format, out of its wrapper. Its bytes are good until the next step of the iteration.
type OldRecord struct {
	Offset     int64
	Timestamp  int64
	Key, Value []byte
}

// Messages iterates over the messages of a set of format 0 or 1, into the compressed ones. All checksums are checked. ws
// is the memory to work in, nil for a new one. The error is a *ValidationError or *CorruptError, and the last step.
// Kafka: AbstractLegacyRecordBatch.deepIterator.
func Messages(set []byte, ws *Workspace) iter.Seq2[OldRecord, error] {
	return func(yield func(OldRecord, error) bool) {
		if ws == nil {
			ws = new(Workspace)
		}
		for len(set) > 0 {
			b, rest, err := Next(set)
			switch {
			case errors.Is(err, ErrShort):
				err = invalid(kerr.InvalidRecord, "message set ends within a message")
			case err == nil:
				err = checkMessage(b)
			}
			if err != nil {
				yield(OldRecord{}, err)
				return
			}
			if !eachInner(b.Message(), ws, yield) {
				return
			}
			set = rest
		}
	}
}

func checkMessage(b Batch) error {
	if b.Magic() > 1 {
		return invalid(kerr.InvalidRecord, "batch of format %d in a message set", b.Magic())
	}
	m := b.Message()
	if !m.CheckCRC() {
		return invalid(kerr.CorruptMessage, "message at offset %d is corrupt", m.Offset())
	}
	key, _, ok := m.Content()
	switch codec := m.Codec(); {
	case !ok:
		return invalid(kerr.CorruptMessage, "message at offset %d: lengths do not fit", m.Offset())
	case codec > LZ4:
		return invalid(kerr.InvalidRecord, "compression %d is not for message format %d", codec, m.Magic())
	case codec != None && key != nil:
		return invalid(kerr.InvalidRecord, "compressed message at offset %d has a key", m.Offset())
	}
	return nil
}

// eachInner yields a checked message, or the messages it wraps. It tells whether to go on.
func eachInner(m Message, ws *Workspace, yield func(OldRecord, error) bool) bool {
	key, value, _ := m.Content()
	if m.Codec() == None {
		return yield(OldRecord{Offset: m.Offset(), Timestamp: m.Timestamp(), Key: key, Value: value}, nil)
	}
	inner, err := ws.unwrap(m, value)
	if err != nil {
		yield(OldRecord{}, err)
		return false
	}
	base, err := innerBase(m, inner)
	if err != nil {
		yield(OldRecord{}, err)
		return false
	}
	for len(inner) > 0 {
		b, rest, _ := Next(inner) // innerBase has seen them all
		in := b.Message()
		r := OldRecord{Offset: base + in.Offset(), Timestamp: in.Timestamp()}
		if m.TimestampType() == LogAppendTime {
			r.Timestamp = m.Timestamp()
		}
		r.Key, r.Value, _ = in.Content()
		if !yield(r, nil) {
			return false
		}
		inner = rest
	}
	return true
}

// unwrap decompresses a wrapper's value.
func (w *Workspace) unwrap(m Message, value []byte) ([]byte, error) {
	if m.Codec() == LZ4 && m.Magic() == 0 {
		value = mendLZ4(value)
	}
	var err error
	w.scratch, err = w.Decompress(w.scratch[:0], m.Codec(), value, maxUnwrapped)
	if err != nil {
		return nil, invalid(kerr.InvalidRecord, "%s message at offset %d: %v", m.Codec(), m.Offset(), err)
	}
	return w.scratch, nil
}

// innerBase checks the messages of a wrapper and gives what is to be added to their offsets: in format 1 these are
// relative, and the wrapper has the absolute offset of the last (KIP-31).
func innerBase(m Message, inner []byte) (base int64, err error) {
	last := int64(0)
	if len(inner) == 0 {
		return 0, invalid(kerr.InvalidRecord, "compressed message at offset %d holds none", m.Offset())
	}
	for len(inner) > 0 {
		b, rest, err := Next(inner)
		if err != nil {
			return 0, invalid(kerr.InvalidRecord, "inside of message at offset %d: %v", m.Offset(), err)
		}
		if b.Magic() != m.Magic() {
			return 0, invalid(kerr.InvalidRecord, "message of format %d inside one of format %d", b.Magic(), m.Magic())
		}
		if err := checkMessage(b); err != nil {
			return 0, err
		}
		if b.Message().Codec() != None {
			return 0, invalid(kerr.InvalidRecord, "compressed message inside a compressed one")
		}
		last, inner = b.BaseOffset(), rest
	}
	if m.Magic() == 0 {
		return 0, nil
	}
	return m.Offset() - last, nil
}
