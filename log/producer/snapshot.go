package producer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Layout of a snapshot: version (int16), CRC-32C of all that follows (uint32), number of entries (int32), entries.
// Kafka: ProducerStateManager.writeSnapshot.
const (
	snapshotVersion = 1
	snapshotHeader  = 2 + 4 + 4
	entrySize       = 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8
	crcEnd          = 6
)

// EncodeSnapshot returns the content of a snapshot file. Only the last batch of each producer is in it.
func EncodeSnapshot(entries []*Entry) []byte {
	b := make([]byte, snapshotHeader, snapshotHeader+len(entries)*entrySize)
	binary.BigEndian.PutUint16(b, snapshotVersion)
	binary.BigEndian.PutUint32(b[crcEnd:], uint32(len(entries)))
	for _, e := range entries {
		last, _ := e.Last()
		b = binary.BigEndian.AppendUint64(b, uint64(e.ID))
		b = binary.BigEndian.AppendUint16(b, uint16(e.Epoch))
		b = binary.BigEndian.AppendUint32(b, uint32(last.LastSequence))
		b = binary.BigEndian.AppendUint64(b, uint64(last.LastOffset))
		b = binary.BigEndian.AppendUint32(b, uint32(last.OffsetDelta))
		b = binary.BigEndian.AppendUint64(b, uint64(e.LastTimestamp))
		b = binary.BigEndian.AppendUint32(b, uint32(e.CoordinatorEpoch))
		b = binary.BigEndian.AppendUint64(b, uint64(e.TxnFirstOffset))
	}
	binary.BigEndian.PutUint32(b[2:], checksum(b))
	return b
}

func checksum(b []byte) uint32 { return crc32.Checksum(b[crcEnd:], crc32.MakeTable(crc32.Castagnoli)) }

// DecodeSnapshot reads a snapshot file.
func DecodeSnapshot(b []byte) ([]*Entry, error) {
	if len(b) < snapshotHeader {
		return nil, errors.New("snapshot shorter than its header")
	}
	if v := binary.BigEndian.Uint16(b); v != snapshotVersion {
		return nil, fmt.Errorf("snapshot version %d", v)
	}
	if want, got := binary.BigEndian.Uint32(b[2:]), checksum(b); want != got {
		return nil, fmt.Errorf("snapshot checksum %08x, computed %08x", want, got)
	}
	n := int64(int32(binary.BigEndian.Uint32(b[crcEnd:])))
	if n < 0 || n*entrySize != int64(len(b)-snapshotHeader) {
		return nil, fmt.Errorf("snapshot of %d entries with %d bytes", n, len(b))
	}
	out := make([]*Entry, 0, n)
	for p := b[snapshotHeader:]; len(p) > 0; p = p[entrySize:] {
		out = append(out, decodeEntry(p))
	}
	return out, nil
}

func decodeEntry(p []byte) *Entry {
	i64 := func(i int) int64 { return int64(binary.BigEndian.Uint64(p[i:])) }
	i32 := func(i int) int32 { return int32(binary.BigEndian.Uint32(p[i:])) }
	e := newEntry(i64(0))
	e.Epoch = int16(binary.BigEndian.Uint16(p[8:]))
	last := Batch{LastSequence: i32(10), LastOffset: i64(14), OffsetDelta: i32(22), Timestamp: i64(26)}
	if last.LastOffset >= 0 {
		e.add(e.Epoch, last)
	}
	e.LastTimestamp = last.Timestamp
	e.CoordinatorEpoch = i32(34)
	e.TxnFirstOffset = i64(38)
	return e
}
