package record

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// ErrShort says that the bytes end before the batch does. It is no fault by itself: logs end so after a crash, and
// fetched data where a size limit has cut it.
var ErrShort = errors.New("record batch ends past its data")

// CorruptError says that bytes are no batch at all: the length or the magic is impossible, so nothing after them can be
// found either. To a client it is CORRUPT_MESSAGE.
type CorruptError struct {
	// Reason says what is wrong, in words.
	Reason string
	// Value is the value that is wrong.
	Value int64
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("corrupt record batch: %s: %d", e.Reason, e.Value)
}

// Unwrap makes it kerr.CorruptMessage to errors.Is and protocol.ErrorCode.
func (e *CorruptError) Unwrap() error { return kerr.CorruptMessage }

// RecordError is one record that makes a batch unacceptable (KIP-467).
type RecordError struct { //nolint:revive // Kafka's name
	// Index is the position of the record in its batch, from 0.
	Index int32
	// Message is the text for the client.
	Message string
}

// ValidationError says why a batch may not be appended.
type ValidationError struct {
	// Err is the error for the client.
	Err *kerr.Error
	// Message says more. With Records it is the text Kafka sends to the client; without, Kafka sends none.
	Message string
	// Records are the records at fault, if it was single ones: at most maxRecordErrors of them.
	Records []RecordError
}

func (e *ValidationError) Error() string { return e.Message + ": " + e.Err.Message }

// Unwrap gives the error for the client.
func (e *ValidationError) Unwrap() error { return e.Err }

func invalid(err *kerr.Error, format string, args ...any) *ValidationError {
	return &ValidationError{Err: err, Message: fmt.Sprintf(format, args...)}
}
