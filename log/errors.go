package log

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// CorruptError tells where a log cannot be read. To a client it is KAFKA_STORAGE_ERROR, since the fault is ours.
type CorruptError struct {
	Dir string
	// Segment is the base offset, Pos the position in bytes.
	Segment int64
	Pos     int64
	Err     error
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("log %s: segment %d at byte %d: %v", e.Dir, e.Segment, e.Pos, e.Err)
}

// Unwrap makes it kerr.KafkaStorageError.
func (e *CorruptError) Unwrap() error { return kerr.KafkaStorageError }

// OffsetsOutOfOrderError tells that replicated batches do not follow the log. Kafka: UnexpectedAppendOffsetException,
// OffsetsOutOfOrderException.
type OffsetsOutOfOrderError struct {
	// Expected is the log end offset; First and Last are those of the batches.
	Expected, First, Last int64
}

// Error implements error.
func (e *OffsetsOutOfOrderError) Error() string {
	return fmt.Sprintf("offsets %d to %d cannot be appended at %d", e.First, e.Last, e.Expected)
}

// errorf wraps a Kafka error with what happened on this partition.
func (l *Log) errorf(err error, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", l.tp, fmt.Sprintf(format, args...), err)
}

// errBadHeader tells that no batch begins where one should.
var errBadHeader = errors.New("no record batch here")
