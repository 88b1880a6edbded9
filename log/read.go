package log

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Read returns whole batches from the one that holds offset, or the next one after a hole: at most maxBytes, none that
// begins at or above upTo, or has a record there. With minOne the first batch is returned even if it is larger than
// maxBytes. Records may be empty: nothing is allowed, or nothing fits. They come from one segment.
//
// Errors: OffsetOutOfRange when offset is not in [StartOffset, EndOffset]; KafkaStorageError.
// Kafka: UnifiedLog.read, LocalLog.read.
func (l *Log) Read(offset int64, maxBytes int, upTo int64, minOne bool) (Records, error) {
	if err := l.usable(); err != nil {
		return Records{}, err
	}
	sc := l.env.scratch.get()
	defer l.env.scratch.put(sc)
	for range maxRetries {
		r, err := l.read(offset, maxBytes, upTo, minOne, sc)
		if !errors.Is(err, errClosedSegment) {
			return r, l.readError(err)
		}
		l.settle()
	}
	return Records{}, l.errorf(kerr.KafkaStorageError, "segments keep changing")
}

// settle waits for whoever is changing the list of segments.
func (l *Log) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
}

// readError decides what an error of a read means: the client's fault, or the disk's.
func (l *Log) readError(err error) error {
	if err == nil || errors.Is(err, kerr.OffsetOutOfRange) {
		return err
	}
	var corrupt *CorruptError
	switch {
	case errors.As(err, &corrupt):
		if l.gone.Load() {
			return err
		}
		l.lg.Error("log cannot be read", "err", err)
		return fmt.Errorf("%s: %w", l.tp, err)
	default:
		return l.failed("read", err)
	}
}

// read is one attempt of Read on the present list of segments.
func (l *Log) read(offset int64, maxBytes int, upTo int64, minOne bool, sc *scratch) (Records, error) {
	list := *l.segs.Load()
	if start, end := l.start.Load(), l.end.Load(); offset < start || offset > end {
		return Records{}, l.errorf(kerr.OffsetOutOfRange, "offset %d, log has %d to %d", offset, start, end)
	} else if offset == end || offset >= upTo {
		return Records{}, nil
	}
	i, pos, err := l.position(list, offset, sc)
	if err != nil {
		return Records{}, err
	}
	s := list[i]
	if !s.file.acquire() {
		return Records{}, errClosedSegment
	}
	n, err := l.extent(list, i, pos, maxBytes, upTo, minOne, sc)
	if err != nil || n <= 0 {
		s.file.release() //nolint:errcheck // a reader's pin
		return Records{}, err
	}
	return Records{pin: s.file, seg: s, pos: pos, n: int(n)}, nil
}

// extent returns how many bytes may be read from pos of segment i.
func (l *Log) extent(list segments, i int, pos int64, maxBytes int, upTo int64, minOne bool, sc *scratch) (int64, error) {
	s := list[i]
	end, err := l.readableEnd(list, i, upTo, sc)
	if err != nil {
		return 0, err
	}
	limit := pos + int64(max(maxBytes, 0))
	if end <= limit {
		return end - pos, nil
	}
	cut, first, err := s.cut(pos, limit, end, sc)
	if err != nil || cut > pos {
		return cut - pos, err
	}
	if minOne {
		return first, nil
	}
	return 0, nil
}

// readableEnd returns the position up to which a segment may be read by someone who may see offsets below upTo.
//
// The size is loaded before the log end: the writer publishes them the other way round, so no byte below this size has
// an offset at or above this end. Loaded the other way a reader at the old end could be given the bytes of the append
// that comes in between.
func (l *Log) readableEnd(list segments, i int, upTo int64, sc *scratch) (int64, error) {
	s := list[i]
	size := s.size.Load()
	if i+1 < len(list) {
		if upTo >= list[i+1].base {
			return size, nil
		}
	} else if upTo >= l.end.Load() {
		return size, nil
	}
	if b, ok := l.ends.find(upTo); ok && b.segment == s.base {
		return min(b.pos, size), nil
	}
	pos, _, err := s.find(upTo, size, sc)
	return pos, err
}

// UpperBound returns an offset above all records in r, at most upTo, and not much above: what AbortedTxns should be
// asked up to. Kafka: LogSegment.fetchUpperBoundOffset.
func (l *Log) UpperBound(r Records, upTo int64) int64 {
	if r.seg == nil {
		return upTo
	}
	sc := l.env.scratch.get()
	defer l.env.scratch.put(sc)
	e, ok, err := r.seg.offsets.UpperBound(r.pos+int64(r.n), sc.buf[:])
	if err == nil && ok {
		return min(e.Offset, upTo)
	}
	list := *l.segs.Load()
	if i := list.floor(r.seg.base); i >= 0 && i+1 < len(list) {
		return min(list[i+1].base, upTo)
	}
	return min(l.end.Load(), upTo)
}
