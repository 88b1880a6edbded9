package log

import (
	"errors"
	"io/fs"

	"jackdaw/log/index"
)

// errClosedSegment tells that a segment went out of the list; the list must be loaded again.
var errClosedSegment = errors.New("segment closed")

// closedError makes errClosedSegment of an index that was closed, or removed, under a reader, who holds but the segment's
// file.
func closedError(err error) error {
	if errors.Is(err, index.ErrClosed) || errors.Is(err, fs.ErrNotExist) {
		return errClosedSegment
	}
	return err
}

// find returns where the first batch begins that has a record at or above offset, among the first end bytes of the
// segment. When there is none, pos is end and found is false. The header of the batch, if one was read, is given to seen.
// Kafka: LogSegment.translateOffset.
func (s *segment) find(offset, end int64, sc *scratch) (pos int64, found bool, err error) {
	e, err := s.offsets.Lookup(offset, sc.buf[:])
	if err != nil {
		return 0, false, closedError(err)
	}
	from := int64(e.Pos)
	if from >= end {
		from = 0 // truncated meanwhile
	}
	pos, err = walk(s.file.f, from, end, sc.buf[:], func(h header, _ int64) bool {
		found = h.last() >= offset
		return !found
	})
	if err != nil {
		return pos, false, s.corrupt(pos, err)
	}
	if !found {
		return end, false, nil
	}
	return pos, true, nil
}

// cut returns the end of the last whole batch in [pos, limit), which lies before end. It is pos when the first batch is
// larger than that; then first is its size.
func (s *segment) cut(pos, limit, end int64, sc *scratch) (cut, first int64, err error) {
	from := pos
	if limit-pos > scratchSize {
		e, err := s.offsets.LookupPos(limit, sc.buf[:])
		if err != nil {
			return 0, 0, closedError(err)
		}
		from = max(from, int64(e.Pos))
	}
	cut, err = walk(s.file.f, from, end, sc.buf[:], func(h header, at int64) bool {
		if at == pos {
			first = h.size()
		}
		return at+h.size() <= limit
	})
	if err != nil {
		return 0, 0, s.corrupt(cut, err)
	}
	return cut, first, nil
}

// position returns the segment and the position of the first batch that has a record at or above offset. It may be the
// end of the last segment.
func (l *Log) position(list segments, offset int64, sc *scratch) (i int, pos int64, err error) {
	if b, ok := l.ends.find(offset); ok {
		if i := list.floor(b.segment); i >= 0 && list[i].base == b.segment {
			return i, b.pos, nil
		}
	}
	i = list.floor(offset)
	if i < 0 {
		return 0, 0, nil
	}
	last := len(list) - 1
	if i == last && offset >= l.end.Load() {
		return i, list[i].size.Load(), nil
	}
	for ; ; i++ {
		s := list[i]
		if !s.file.acquire() {
			return 0, 0, errClosedSegment
		}
		pos, found, err := s.find(offset, s.size.Load(), sc)
		s.file.release() //nolint:errcheck // a reader's pin
		if err != nil || found || i == last {
			return i, pos, err
		}
	}
}

// BytesBetween returns the number of bytes of the batches that begin in [from, upTo), as a long poll counts them.
// It looks at no records, and rarely at headers. Offsets outside the log count as its ends.
func (l *Log) BytesBetween(from, upTo int64) int64 {
	from, upTo = max(from, l.start.Load()), min(upTo, l.end.Load())
	if from >= upTo {
		return 0
	}
	sc := l.env.scratch.get()
	defer l.env.scratch.put(sc)
	for range maxRetries {
		list := *l.segs.Load()
		i, a, err := l.position(list, from, sc)
		if err != nil {
			continue
		}
		j, b, err := l.position(list, upTo, sc)
		if err != nil {
			continue
		}
		for ; i < j; i++ {
			b += list[i].size.Load()
		}
		return max(b-a, 0)
	}
	return 0
}

// maxRetries bounds how often a reader follows a list of segments that changes under it.
const maxRetries = 16
