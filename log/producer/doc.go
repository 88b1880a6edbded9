// Package producer keeps what a partition knows about its idempotent and transactional producers: their epoch, their last
// five batches, and the transactions that are open. It decides whether a batch continues its producer's sequence, is a
// duplicate, or must be refused, and where the first undecided record lies.
//
// All of it is derived from the log: State is rebuilt by replaying batches on top of a snapshot file. Snapshots are
// written when a segment is rolled and at a clean shutdown.
//
// A State has no lock; the log that owns it calls it under its own.
package producer
