package log

import (
	"slices"
	"sort"
)

// segments is the list of a log's segments by rising base offset, never empty. A list is immutable: changes make a new
// one, which is published by one atomic store. Kafka: LogSegments.
type segments []*segment

// floor returns the index of the last segment whose base is <= offset, -1 when there is none.
func (l segments) floor(offset int64) int {
	return sort.Search(len(l), func(i int) bool { return l[i].base > offset }) - 1
}

// active is the segment that is appended to.
func (l segments) active() *segment { return l[len(l)-1] }

// with returns a list with one more segment at the end.
func (l segments) with(s *segment) segments { return append(slices.Clip(l), s) }

// size is the number of bytes in all segments.
func (l segments) size() int64 {
	n := int64(0)
	for _, s := range l {
		n += s.size.Load()
	}
	return n
}
