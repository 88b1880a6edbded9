package log

import "sync"

// numBoundaries is how many recent appends are remembered: enough for the consumers and followers near the end.
const numBoundaries = 64

// boundary says that the first batch at or after offset begins at pos of the segment.
type boundary struct {
	offset  int64
	segment int64
	pos     int64
}

// boundaries remembers where the last appends began, so that reads near the end of the log find their position without a
// look at the files.
type boundaries struct {
	mu struct {
		sync.Mutex
		ring [numBoundaries]boundary
		next int
		n    int
	}
}

// add remembers an append, or the end of the log.
func (b *boundaries) add(e boundary) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.ring[b.mu.next] = e
	b.mu.next = (b.mu.next + 1) % numBoundaries
	b.mu.n = min(b.mu.n+1, numBoundaries)
}

// find looks for an offset, newest first.
func (b *boundaries) find(offset int64) (boundary, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := 1; i <= b.mu.n; i++ {
		e := b.mu.ring[(b.mu.next-i+numBoundaries)%numBoundaries]
		if e.offset == offset {
			return e, true
		}
		if e.offset < offset {
			break // appends rise
		}
	}
	return boundary{}, false
}

// clear forgets all: positions changed.
func (b *boundaries) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.n = 0
}
