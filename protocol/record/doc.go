// Package record reads, checks and builds Kafka's record batches as bytes.
//
// A Batch is a view over one whole batch of message format 2. Most of a broker's work needs only the header, and the
// header is read and patched where it lies: offset and leader epoch stand outside the checksum, so that a leader can
// stamp them without touching the records. Records are looked at one after another, through decompression if need be,
// and never all at once.
//
// The package is pure: no files, no goroutines, no locks, no clock. What is costly to make (decompressors, compressors
// and their buffers) lives in a Workspace that the caller owns, uses from one goroutine at a time, and may pool.
//
// Errors that a client has caused wrap the *kerr.Error that tells it so; a batch that cannot be split from its
// neighbors is a *CorruptError.
package record
