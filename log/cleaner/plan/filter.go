package plan

import (
	"encoding/binary"
	"hash/crc32"

	"jackdaw/protocol/record"
)

// LastRecord is what the log knows of the end of an active producer.
type LastRecord struct {
	// DataOffset is the last offset of its last data batch, -1 when only a marker is known.
	DataOffset int64
	Epoch      int16
}

// Filter decides about the batches of the segments that are cleaned, in offset order. Kafka: Cleaner.cleanInto,
// MemoryRecords.filterTo.
type Filter struct {
	Map  *OffsetMap
	Txns *Transactions
	// Producers are the active ones by id.
	Producers map[int64]LastRecord
	// NowMs and DeleteRetentionMs give the delete horizon of tombstones and markers met the first time.
	NowMs, DeleteRetentionMs int64
	Workspace                *record.Workspace
	// KeepAborted is told of each aborted transaction whose marker stays.
	KeepAborted func(Aborted) error

	plain, out []byte
}

// Result counts what a Filter did with a batch.
type Result struct {
	Read, Kept int
	// Keyless are records without key, which go.
	Keyless int
}

// Batch returns what stays of a batch: nil for nothing, b itself, or a new one, which is good until the next call.
func (f *Filter) Batch(b record.Batch) (out record.Batch, res Result, err error) {
	if b.Magic() < 2 {
		return f.old(b)
	}
	discard, err := f.discard(b)
	if err != nil {
		return nil, res, err
	}
	// A marker goes only when its horizon has passed.
	drop := discard
	if horizon, ok := b.DeleteHorizon(); b.IsControl() {
		drop = discard && ok && horizon <= f.NowMs
	}
	keepEmpty := b.HasProducerID() && f.lastOfProducer(b)
	if drop && !keepEmpty {
		res.Read = int(b.Count())
		return nil, res, nil
	}
	body, scan, err := f.scan(b, drop, &res)
	if err != nil {
		return nil, res, err
	}
	switch {
	case res.Kept == 0 && keepEmpty:
		return f.empty(b), res, nil
	case res.Kept == 0:
		return nil, res, nil
	}
	_, has := b.DeleteHorizon()
	needHorizon := !has && (scan.tombstone || (b.IsControl() && discard))
	if res.Kept == res.Read && !needHorizon {
		return b, res, nil
	}
	if needHorizon {
		return f.rebuildAt(b, drop, f.NowMs+f.DeleteRetentionMs)
	}
	out, err = f.rebuild(b, body, scan, b.BaseTimestamp(), has)
	return out, res, err
}

// old is Batch for an entry of an old format.
//
// Differs from Kafka: tombstones of old formats stay. They have no place for a delete horizon, Kafka goes by the times of
// files; and there will be no new ones, since nothing is stored in these formats any more.
func (f *Filter) old(b record.Batch) (out record.Batch, res Result, err error) {
	f.out, err = record.FilterSet(f.out[:0], b, func(r record.OldRecord) bool {
		res.Read++
		switch {
		case r.Offset > f.Map.Latest():
		case r.Key == nil:
			res.Keyless++
			return false
		case r.Offset < f.Map.Get(r.Key):
			return false
		}
		res.Kept++
		return true
	}, f.Workspace)
	if err != nil || len(f.out) == 0 {
		return nil, res, err
	}
	return record.Batch(f.out), res, nil
}

// discard follows the transactions.
func (f *Filter) discard(b record.Batch) (bool, error) {
	if !b.IsControl() {
		return f.Txns.Data(b), nil
	}
	discard, keep := f.Txns.Marker(b)
	if keep != nil && f.KeepAborted != nil {
		return discard, f.KeepAborted(*keep)
	}
	return discard, nil
}

// lastOfProducer tells whether the batch holds the last sequence, or the last epoch, of an active producer.
func (f *Filter) lastOfProducer(b record.Batch) bool {
	last, ok := f.Producers[b.ProducerID()]
	switch {
	case !ok:
		return false
	case last.DataOffset >= 0:
		return b.LastOffset() == last.DataOffset
	default:
		return b.IsControl() && b.ProducerEpoch() == last.Epoch
	}
}

// scanned is what is known of the records that stay.
type scanned struct {
	count     int32
	maxTS     int64
	tombstone bool
}

// scan encodes the records that stay into f.plain, with timestamps relative to the batch's base.
func (f *Filter) scan(b record.Batch, drop bool, res *Result) ([]byte, scanned, error) {
	return f.scanAt(b, drop, b.BaseTimestamp(), res)
}

func (f *Filter) scanAt(b record.Batch, drop bool, base int64, res *Result) ([]byte, scanned, error) {
	f.plain = f.plain[:0]
	s := scanned{maxTS: record.NoTimestamp}
	for r, err := range b.Records(f.Workspace) {
		if err != nil {
			return nil, s, err
		}
		res.Read++
		if drop || !f.retain(b, r, res) {
			continue
		}
		res.Kept++
		s.count++
		ts := b.BaseTimestamp() + r.TimestampDelta
		s.maxTS = max(s.maxTS, ts)
		s.tombstone = s.tombstone || r.Value == nil
		f.plain = appendRecord(f.plain, ts-base, r)
	}
	return f.plain, s, nil
}

// retain decides about a record. Kafka: Cleaner.shouldRetainRecord.
func (f *Filter) retain(b record.Batch, r record.Record, res *Result) bool {
	if b.IsControl() {
		return true
	}
	off := b.BaseOffset() + int64(r.OffsetDelta)
	if off > f.Map.Latest() {
		return true
	}
	if r.Key == nil {
		res.Keyless++
		return false
	}
	if off < f.Map.Get(r.Key) {
		return false
	}
	horizon, ok := b.DeleteHorizon()
	return r.Value != nil || !ok || f.NowMs < horizon
}

// rebuildAt encodes the batch again with a delete horizon, which takes the place of the base timestamp.
func (f *Filter) rebuildAt(b record.Batch, drop bool, horizon int64) (record.Batch, Result, error) {
	var res Result
	body, s, err := f.scanAt(b, drop, horizon, &res)
	if err != nil {
		return nil, res, err
	}
	out, err := f.rebuild(b, body, s, horizon, true)
	return out, res, err
}

// Fields of the header that a rebuilt batch has its own values of.
const (
	lengthPos   = 8
	crcPos      = 17
	attrPos     = 21
	baseTimePos = 27
	maxTimePos  = 35
	countPos    = 57

	codecMask   = 0x07
	horizonFlag = 0x40
)

// rebuild makes a batch of encoded records with the header of b: same offsets, producer and codec.
func (f *Filter) rebuild(b record.Batch, body []byte, s scanned, baseTS int64, horizon bool) (record.Batch, error) {
	f.out = append(f.out[:0], b[:record.HeaderSize]...)
	var err error
	if f.out, err = f.Workspace.Compress(f.out, b.Codec(), record.DefaultLevel, body); err != nil {
		return nil, err
	}
	if horizon {
		f.out[attrPos+1] |= horizonFlag
	}
	if b.TimestampType() != record.LogAppendTime {
		binary.BigEndian.PutUint64(f.out[maxTimePos:], uint64(s.maxTS))
	}
	return f.finish(baseTS, s.count), nil
}

// empty makes a batch without records that keeps producer, epoch, sequence and offsets.
// Kafka: DefaultRecordBatch.writeEmptyHeader.
func (f *Filter) empty(b record.Batch) record.Batch {
	f.out = append(f.out[:0], b[:record.HeaderSize]...)
	f.out[attrPos+1] &^= codecMask | horizonFlag
	return f.finish(record.NoTimestamp, 0)
}

// finish sets the fields that depend on the records, and the checksum.
func (f *Filter) finish(baseTS int64, count int32) record.Batch {
	binary.BigEndian.PutUint32(f.out[lengthPos:], uint32(len(f.out)-record.LogOverhead))
	binary.BigEndian.PutUint64(f.out[baseTimePos:], uint64(baseTS))
	binary.BigEndian.PutUint32(f.out[countPos:], uint32(count))
	binary.BigEndian.PutUint32(f.out[crcPos:], crc32.Checksum(f.out[attrPos:], crc32.MakeTable(crc32.Castagnoli)))
	return record.Batch(f.out)
}

// appendRecord encodes a record of format 2.
func appendRecord(dst []byte, tsDelta int64, r record.Record) []byte {
	var scratch [2 * binary.MaxVarintLen64]byte
	head := binary.AppendVarint(scratch[:0], tsDelta)
	head = binary.AppendVarint(head, int64(r.OffsetDelta))
	n := 1 + len(head) + bytesLen(r.Key) + bytesLen(r.Value) + varintLen(int64(len(r.Headers)))
	for _, h := range r.Headers {
		n += varintLen(int64(len(h.Key))) + len(h.Key) + bytesLen(h.Value)
	}
	dst = binary.AppendVarint(dst, int64(n))
	dst = append(dst, 0)
	dst = append(dst, head...)
	dst = appendBytes(dst, r.Key)
	dst = appendBytes(dst, r.Value)
	dst = binary.AppendVarint(dst, int64(len(r.Headers)))
	for _, h := range r.Headers {
		dst = binary.AppendVarint(dst, int64(len(h.Key)))
		dst = append(dst, h.Key...)
		dst = appendBytes(dst, h.Value)
	}
	return dst
}

func appendBytes(dst, p []byte) []byte {
	if p == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(p))), p...)
}

func bytesLen(p []byte) int {
	if p == nil {
		return 1
	}
	return varintLen(int64(len(p))) + len(p)
}

func varintLen(v int64) int {
	var b [binary.MaxVarintLen64]byte
	return binary.PutVarint(b[:], v)
}
