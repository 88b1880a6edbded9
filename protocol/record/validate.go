package record

import "errors"

// ValidateOptions says what a topic and the origin of a batch ask of it.
type ValidateOptions struct {
	// Client refuses what only brokers may write: control batches.
	Client bool
	// RequireKeys refuses records without key, as compacted topics do.
	RequireKeys bool
	// CheckTimestamps refuses record timestamps outside [MinTimestamp, MaxTimestamp], in ms; NoTimestamp is always good.
	CheckTimestamps            bool
	MinTimestamp, MaxTimestamp int64
	// MaxUncompressed bounds the bytes that the records may unfold to; 0 is DefaultMaxUncompressed.
	MaxUncompressed int64
}

// DefaultMaxUncompressed is the bound for ValidateOptions.MaxUncompressed: 1 GiB.
const DefaultMaxUncompressed = int64(1) << 30

// Summary is what validation learned about the records of a batch.
type Summary struct {
	// MaxTimestamp is the largest timestamp of the records in ms, and OffsetDelta the first record that has it.
	MaxTimestamp int64
	OffsetDelta  int32
	// Uncompressed is the size of the records in bytes, uncompressed.
	Uncompressed int64
}

// Validate checks a batch of format 2 (checksum included) from header to last record without building any record. ws may
// be nil. The error is a *ValidationError or a *CorruptError. Kafka: LogValidator.
func Validate(b Batch, o ValidateOptions, ws *Workspace) (Summary, error) {
	return Summary{}, errors.ErrUnsupported
}
