package plan

import (
	"crypto/md5" //nolint:gosec // spreads keys as Kafka does; nothing depends on its secrecy
	"encoding/binary"
)

// slotSize is a hash of 16 bytes and an offset of 8.
const slotSize = md5.Size + 8

// OffsetMap maps keys to the highest offset at which they were seen, in a fixed amount of memory. Keys are represented by a
// hash of 128 bits, so two keys are practically never taken for one. Kafka: SkimpyOffsetMap.
type OffsetMap struct {
	slots   []byte
	n       int
	entries int
	limit   int
	latest  int64
}

// NewOffsetMap returns a map that uses at most so many bytes and is filled up to a load factor in (0, 1).
func NewOffsetMap(bytes int, loadFactor float64) *OffsetMap {
	n := max(bytes/slotSize, 2)
	m := &OffsetMap{slots: make([]byte, n*slotSize), n: n, limit: max(int(float64(n)*loadFactor), 1)}
	m.limit = min(m.limit, n-1) // a probe must find a free slot
	m.Reset()
	return m
}

// Reset empties the map.
func (m *OffsetMap) Reset() {
	clear(m.slots)
	m.entries = 0
	m.latest = -1
}

// Len is the number of keys.
func (m *OffsetMap) Len() int { return m.entries }

// Latest is the highest offset that the map knows all about, -1 for none.
func (m *OffsetMap) Latest() int64 { return m.latest }

// Covered tells that everything up to offset is in the map.
func (m *OffsetMap) Covered(offset int64) { m.latest = max(m.latest, offset) }

// slot finds the place of a key: its own, or the free one where it would be put. Free slots hold offset 0, so offsets are
// stored plus one.
func (m *OffsetMap) slot(h [md5.Size]byte) (s []byte, free bool) {
	for i := binary.BigEndian.Uint64(h[:]) % uint64(m.n); ; i = (i + 1) % uint64(m.n) {
		s = m.slots[i*slotSize : (i+1)*slotSize]
		if binary.BigEndian.Uint64(s[md5.Size:]) == 0 {
			return s, true
		}
		if [md5.Size]byte(s[:md5.Size]) == h {
			return s, false
		}
	}
}

// Put notes that a key is at offset; offsets must rise. It returns false, and changes nothing, when a new key has no room.
func (m *OffsetMap) Put(key []byte, offset int64) bool {
	h := md5.Sum(key) //nolint:gosec // see OffsetMap
	s, free := m.slot(h)
	if free {
		if m.entries >= m.limit {
			return false
		}
		copy(s, h[:])
		m.entries++
	}
	binary.BigEndian.PutUint64(s[md5.Size:], uint64(offset)+1)
	return true
}

// Get returns the offset of a key, -1 when it is not there.
func (m *OffsetMap) Get(key []byte) int64 {
	s, free := m.slot(md5.Sum(key)) //nolint:gosec // see OffsetMap
	if free {
		return -1
	}
	return int64(binary.BigEndian.Uint64(s[md5.Size:])) - 1
}
