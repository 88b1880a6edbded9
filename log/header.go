package log

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"

	"jackdaw/internal/vfs"
	"jackdaw/protocol/record"
)

// Positions in entries of the old message formats, and the least bytes that tell all about an entry.
const (
	legacyTimestampPos = 18
	legacyHeaderSize   = 26
)

// header is a view over at least the header of a batch, of any format.
type header record.Batch

func (h header) magic() int8 { return record.Batch(h).Magic() }

// size is that of the whole batch.
func (h header) size() int64 { return record.LogOverhead + int64(record.Batch(h).Length()) }

// base is the offset of the first record; of an old compressed set, of the last one.
func (h header) base() int64 { return record.Batch(h).BaseOffset() }

// last is the offset of the last record.
func (h header) last() int64 {
	if h.magic() < 2 {
		return h.base()
	}
	return record.Batch(h).LastOffset()
}

// maxTimestamp is the largest timestamp in Unix ms, -1 where the format has none.
func (h header) maxTimestamp() int64 {
	switch h.magic() {
	case 0:
		return record.NoTimestamp
	case 1:
		return int64(binary.BigEndian.Uint64(h[legacyTimestampPos:]))
	}
	return record.Batch(h).MaxTimestamp()
}

// epoch is the leader epoch, -1 where the format has none.
func (h header) epoch() int32 {
	if h.magic() < 2 {
		return -1
	}
	return record.Batch(h).LeaderEpoch()
}

// valid tells whether a batch can begin so.
func (h header) valid() bool {
	n := int64(record.Batch(h).Length())
	switch h.magic() {
	case 0, 1:
		return n >= legacyHeaderSize-record.LogOverhead-12
	case 2:
		return n >= record.HeaderSize-record.LogOverhead
	}
	return false
}

// walk calls f for the header of each batch that lies wholly in [pos, end), until f returns false. buf is read into, at
// least record.HeaderSize long; batches that fit into it together cost one read. It returns where the walk ended: the
// position of the batch at which f said false, or the first byte that is not part of a whole batch.
func walk(file vfs.File, pos, end int64, buf []byte, f func(h header, pos int64) bool) (int64, error) {
	var chunkPos int64
	chunk := buf[:0]
	for pos+record.LogOverhead < end {
		need := min(record.HeaderSize, end-pos)
		if pos < chunkPos || pos+need > chunkPos+int64(len(chunk)) {
			n, err := file.ReadAt(buf[:min(int64(len(buf)), end-pos)], pos)
			if int64(n) < need {
				if err == nil || errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				return pos, err
			}
			chunkPos, chunk = pos, buf[:n]
		}
		h := header(chunk[pos-chunkPos:])
		if need < legacyHeaderSize || !h.valid() || (h.magic() == 2 && need < record.HeaderSize) {
			return pos, errBadHeader
		}
		if h.size() > end-pos || !f(h, pos) {
			return pos, nil
		}
		pos += h.size()
	}
	return pos, nil
}

// sound checks the checksum of a whole batch: CRC-32C in format 2, CRC-32 before.
func sound(b record.Batch) bool {
	if b.Magic() == 2 {
		return b.CheckCRC()
	}
	return binary.BigEndian.Uint32(b[record.LogOverhead:]) == crc32.ChecksumIEEE(b[record.LogOverhead+4:])
}

// noOffset is above every offset.
const noOffset = int64(math.MaxInt64)
