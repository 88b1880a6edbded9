package record

import (
	"errors"
	"iter"
)

// Record is one record of a batch. Its bytes alias the batch, or, if that is compressed, a buffer that the next step of
// the iteration overwrites: copy what must last.
type Record struct {
	// OffsetDelta and TimestampDelta count from the batch's base offset and base timestamp (ms).
	OffsetDelta    int32
	TimestampDelta int64
	// Key and Value are nil when they are null.
	Key, Value []byte
	// Headers are reused by the next step, too.
	Headers []Header
}

// Header is a header of a record. A null value is nil.
type Header struct {
	Key   string
	Value []byte
}

// Records iterates over the records of the batch, decompressing as it goes, with ws to work in (nil: a new one). After an error it ends.
func (b Batch) Records(ws *Workspace) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) { yield(Record{}, errors.ErrUnsupported) }
}
