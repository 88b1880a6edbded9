package record

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kerr"
)

// UpConvert makes of a message set of format 0 or 1, as a client produces it, one batch of format 2 at offset 0, appended
// to dst. Its codec is that of the set, or None; its timestamps are the messages', NoTimestamp for format 0. Checksums and shape are
// checked, and that a compressed message is alone; what a topic asks beyond that is Validate's.
// Kafka: LogValidator.convertAndAssignOffsetsNonCompressed, validateMessagesAndAssignOffsetsCompressed.
func UpConvert(dst, set []byte, ws *Workspace) ([]byte, error) {
	if ws == nil {
		ws = new(Workspace)
	}
	codec := setCodec(set)
	if _, rest, err := Next(set); codec != None && err == nil && len(rest) > 0 {
		return dst, invalid(kerr.InvalidRecord, "message set with a compressed message and others beside it")
	}
	b := NewBuilder(codec, BuilderOptions{LeaderEpoch: -1})
	for r, err := range Messages(set, ws) {
		if err != nil {
			return dst, err
		}
		b.Append(r.Timestamp, r.Key, r.Value, nil)
	}
	if b.Count() == 0 {
		return dst, invalid(kerr.InvalidRecord, "message set is empty")
	}
	return b.AppendTo(dst), nil
}

// setCodec is the codec of the first message of a set that has one.
func setCodec(set []byte) Codec {
	for len(set) > 0 {
		b, rest, err := Next(set)
		if err != nil || b.Magic() > 1 {
			break
		}
		if c := b.Message().Codec(); c != None && c <= LZ4 {
			return c
		}
		set = rest
	}
	return None
}

// DownConvert makes of whole batches of format 2 (older entries pass as they are, if magic allows) message sets of format
// magic, 0 or 1, appended to dst, for a fetch from offset first by a client that knows no better. Headers are lost, control
// batches left out, plain records below first, too. Zstd has no old form: kerr.UnsupportedCompressionType.
// Kafka: RecordsUtil.downConvert.
func DownConvert(dst, batches []byte, magic int8, first int64, ws *Workspace) ([]byte, error) {
	if ws == nil {
		ws = new(Workspace)
	}
	for len(batches) > 0 {
		b, rest, err := Next(batches)
		if err != nil {
			return dst, err
		}
		switch {
		case b.Magic() <= magic:
			dst = append(dst, b...)
		case b.Magic() == 1:
			dst, err = downConvertSet(dst, b, first, ws)
		case b.IsControl():
		case b.Codec() == Zstd:
			err = invalid(kerr.UnsupportedCompressionType, "zstd batch at offset %d for a client of message format %d", b.BaseOffset(), magic)
		default:
			dst, err = downConvertBatch(dst, b, magic, first, ws)
		}
		if err != nil {
			return dst, err
		}
		batches = rest
	}
	return dst, nil
}

func downConvertBatch(dst []byte, b Batch, magic int8, first int64, ws *Workspace) ([]byte, error) {
	s := setBuilder{magic: magic, codec: b.Codec(), timeType: b.TimestampType(), base: -1, maxTS: NoTimestamp}
	for r, err := range b.Records(ws) {
		if err != nil {
			return dst, err
		}
		offset, ts := b.BaseOffset()+int64(r.OffsetDelta), b.BaseTimestamp()+r.TimestampDelta
		if b.TimestampType() == LogAppendTime {
			ts = b.MaxTimestamp()
		}
		if s.codec != None || offset >= first {
			s.add(offset, ts, r.Key, r.Value)
		}
	}
	return s.appendTo(dst, ws)
}

// downConvertSet makes one entry of format 0 of one of format 1.
func downConvertSet(dst []byte, b Batch, first int64, ws *Workspace) ([]byte, error) {
	s := setBuilder{codec: b.Message().Codec(), base: -1, maxTS: NoTimestamp}
	for r, err := range Messages(b, ws) {
		if err != nil {
			return dst, err
		}
		if s.codec != None || r.Offset >= first {
			s.add(r.Offset, NoTimestamp, r.Key, r.Value)
		}
	}
	return s.appendTo(dst, ws)
}

// FilterSet appends to dst what keep leaves of an entry of format 0 or 1: the entry itself, a compressed one made anew, in the
// same format and with the same offsets, or nothing. What keep is given is good during the call.
// Kafka: MemoryRecords.filterTo, AbstractLegacyRecordBatch.
func FilterSet(dst []byte, b Batch, keep func(OldRecord) bool, ws *Workspace) ([]byte, error) {
	m := b.Message()
	s := setBuilder{magic: m.Magic(), codec: m.Codec(), timeType: m.TimestampType(), base: -1, maxTS: NoTimestamp}
	all := true
	for r, err := range Messages(b, ws) {
		if err != nil {
			return dst, err
		}
		if !keep(r) {
			all = false
			continue
		}
		s.add(r.Offset, r.Timestamp, r.Key, r.Value)
	}
	if all {
		return append(dst, b...), nil
	}
	return s.appendTo(dst, ws)
}

// setBuilder builds a message set of an old format.
type setBuilder struct {
	magic      int8
	codec      Codec
	timeType   TimestampType
	body       []byte
	base, last int64
	maxTS      int64
}

func (s *setBuilder) add(offset, ts int64, key, value []byte) {
	if s.base < 0 {
		s.base = offset
	}
	s.last, s.maxTS = offset, max(s.maxTS, ts)
	if s.codec != None && s.magic == 1 {
		offset -= s.base
	}
	s.body = appendMessage(s.body, s.magic, offset, ts, s.attributes(None), key, value)
}

func (s *setBuilder) attributes(c Codec) byte {
	a := byte(c)
	if s.magic == 1 && s.timeType == LogAppendTime {
		a |= attrLogAppendTime
	}
	return a
}

func (s *setBuilder) appendTo(dst []byte, ws *Workspace) ([]byte, error) {
	if s.codec == None || len(s.body) == 0 {
		return append(dst, s.body...), nil
	}
	z, err := ws.Compress(nil, s.codec, DefaultLevel, s.body)
	if err != nil {
		return dst, err
	}
	if s.codec == LZ4 && s.magic == 0 {
		breakLZ4(z)
	}
	return appendMessage(dst, s.magic, s.last, s.maxTS, s.attributes(s.codec), nil, z), nil
}

// appendMessage appends one message with offset and length.
func appendMessage(dst []byte, magic int8, offset, ts int64, attributes byte, key, value []byte) []byte {
	start := len(dst)
	length := messageV0Min + len(key) + len(value)
	if magic == 1 {
		length += 8
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(offset))
	dst = binary.BigEndian.AppendUint32(dst, uint32(length))
	dst = append(dst, 0, 0, 0, 0, byte(magic), attributes)
	if magic == 1 {
		dst = binary.BigEndian.AppendUint64(dst, uint64(ts))
	}
	dst = appendBytes(dst, key)
	dst = appendBytes(dst, value)
	m := dst[start:]
	binary.BigEndian.PutUint32(m[posMessageCRC:], crc32.ChecksumIEEE(m[posMagic:]))
	return dst
}

func appendBytes(dst, p []byte) []byte {
	if p == nil {
		return binary.BigEndian.AppendUint32(dst, 0xffffffff)
	}
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(p))), p...)
}
