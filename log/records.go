package log

import (
	"errors"
	"io"
	"slices"

	"jackdaw/internal/vfs"
	"jackdaw/protocol"
	"jackdaw/protocol/record"
)

// Records is a range of whole batches in a segment file, pinned open until Release. The zero value is empty, and may be
// released. Kafka: FileRecords slice, FetchDataInfo.
type Records struct {
	pin *pinned
	seg *segment
	pos int64
	n   int
}

// Size returns the number of bytes.
func (r Records) Size() int { return r.n }

// File returns the open file that holds the bytes, nil when there are none.
func (r Records) File() vfs.File {
	if r.pin == nil {
		return nil
	}
	return r.pin.f
}

// Pos returns where the bytes start in File.
func (r Records) Pos() int64 { return r.pos }

// Range returns the bytes as a part of a Fetch response; its File is nil when there are none.
func (r Records) Range() protocol.FileRange {
	if r.pin == nil {
		return protocol.FileRange{}
	}
	return protocol.FileRange{File: r.pin.f, Pos: r.pos, Len: r.n}
}

// Head returns at most the first n bytes. It is another name for the same pin, not a second one.
func (r Records) Head(n int) Records {
	r.n = min(r.n, n)
	return r
}

// Before returns the batches in front of the first for which stop is true. Of each only the header is read: what stop
// gets ends after record.HeaderSize bytes, or before with a shorter message of an old format. The result shares the pin.
func (r Records) Before(stop func(h record.Batch) bool) (Records, error) {
	if r.n == 0 {
		return r, nil
	}
	var buf [record.HeaderSize]byte
	found := false
	end, err := walk(r.pin.f, r.pos, r.pos+int64(r.n), buf[:], func(h header, _ int64) bool {
		found = stop(record.Batch(h))
		return !found
	})
	if err != nil || !found {
		return r, err
	}
	return r.Head(int(end - r.pos)), nil
}

// ReadAll appends the bytes to buf. io.ErrUnexpectedEOF when the log was truncated meanwhile.
func (r Records) ReadAll(buf []byte) ([]byte, error) {
	if r.n == 0 {
		return buf, nil
	}
	old := len(buf)
	buf = slices.Grow(buf, r.n)[:old+r.n]
	if n, err := r.pin.f.ReadAt(buf[old:], r.pos); n < r.n {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return buf[:old], err
	}
	return buf, nil
}

// Release ends the pin. It must be called exactly once.
func (r Records) Release() {
	if r.pin != nil {
		r.pin.release() //nolint:errcheck // opened for reading by this owner; what was written is synced through other ways
	}
}
