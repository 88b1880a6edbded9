package record

import (
	"errors"
	"iter"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Record is one record of a batch. Its bytes alias the batch, or, if that is compressed, a buffer that the next step of
// the iteration overwrites: copy what must last.
type Record struct {
	// OffsetDelta and TimestampDelta count from the batch's base offset and base timestamp (ms).
	OffsetDelta    int32
	TimestampDelta int64
	// Key and Value are nil when they are null.
	Key, Value []byte
	// Headers are overwritten by the next step, too.
	Headers []Header
}

// Header is a header of a record. A null value is nil.
type Header struct {
	Key   string
	Value []byte
}

// Smallest size in bytes of a record after its length: attributes, deltas, two lengths, header count.
const recordMin = 6

var (
	errRecordLength = errors.New("record length does not fit its content")
	errHeaderCount  = errors.New("invalid number of record headers")
	errHeaderKey    = errors.New("invalid record header key")
	errTrailing     = errors.New("bytes after the last record")
)

// Records iterates over the records of a batch of format 2, decompressing as it goes. ws is the memory to work in, nil
// for a new one; it may not be used for anything else meanwhile. The iteration ends with the first error, a *ValidationError. Records may be as large as limits of
// the append path have let them: what is not from the own log must have passed Validate. Kafka: DefaultRecordBatch.iterator.
func (b Batch) Records(ws *Workspace) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if ws == nil {
			ws = new(Workspace)
		}
		c := &ws.cur
		if err := b.open(c, ws, DefaultMaxUncompressed); err != nil {
			yield(Record{}, err)
			return
		}
		for i := range b.Count() {
			ws.scratch = ws.scratch[:0]
			r := c.record(ws)
			if c.err != nil {
				yield(Record{}, b.contentError(i, c.err))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// open makes c read the records. ws is needed for compressed batches only.
func (b Batch) open(c *cursor, ws *Workspace, limit int64) error {
	*c = cursor{limit: limit}
	codec := b.Codec()
	if codec == None {
		c.buf = b.RecordBytes()
		return nil
	}
	if !codec.Known() {
		return invalid(kerr.UnsupportedCompressionType, "unknown compression type id: %d", codec)
	}
	r, err := ws.reader(codec, b.RecordBytes())
	if err != nil {
		return invalid(kerr.InvalidRecord, "%s data cannot be read: %v", codec, err)
	}
	if ws.buf == nil {
		ws.buf = make([]byte, readBuffer)
	}
	c.buf, c.src = ws.buf[:0:readBuffer], r
	return nil
}

func (b Batch) contentError(i int32, err error) error {
	return invalid(kerr.InvalidRecord, "record %d of %d: %v", i, b.Count(), err)
}

// record reads one whole record.
func (c *cursor) record(ws *Workspace) (r Record) {
	length := int64(c.varint())
	start := c.offset()
	if c.err == nil && length < recordMin {
		c.fail(errRecordLength)
	}
	c.byte() // attributes, unused so far
	r.TimestampDelta = c.varlong()
	r.OffsetDelta = c.varint()
	r.Key = c.nullable(length, &ws.scratch)
	r.Value = c.nullable(length, &ws.scratch)
	r.Headers = c.headers(length, ws)
	if c.err == nil && c.offset()-start != length {
		c.fail(errRecordLength)
	}
	return r
}

// nullable reads bytes that may be null, of at most most bytes.
func (c *cursor) nullable(most int64, scratch *[]byte) []byte {
	n := int64(c.varint())
	switch {
	case c.err != nil || n == -1:
		return nil
	case n < 0 || n > most:
		c.fail(errRecordLength)
		return nil
	case n == 0:
		return []byte{}
	}
	return c.bytes(n, scratch)
}

func (c *cursor) headers(most int64, ws *Workspace) []Header {
	n := int64(c.varint())
	if c.err != nil || n == 0 {
		return nil
	}
	if n < 0 || n > most/2 {
		c.fail(errHeaderCount)
		return nil
	}
	ws.headers = ws.headers[:0]
	for range n {
		size := int64(c.varint())
		if c.err == nil && (size < 0 || size > most) {
			c.fail(errHeaderKey)
		}
		if c.err != nil {
			return nil
		}
		key := string(c.bytes(size, &ws.scratch))
		ws.headers = append(ws.headers, Header{Key: key, Value: c.nullable(most, &ws.scratch)})
	}
	return ws.headers
}
