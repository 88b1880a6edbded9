// Package plan decides what log compaction does: which log is cleaned next and how far, which of its segments are merged,
// and which records survive. It touches no file: the executor in log/cleaner reads batches, gives them to a Filter, and
// writes what comes out.
//
// The rules are Kafka's (LogCleaner, Cleaner, LogCleanerManager, MemoryRecords.filterTo). Offsets never change. Of each key
// the record with the highest offset stays. A tombstone stays until delete.retention.ms after the first pass that met it.
// The data of aborted transactions goes; a transaction marker goes, after the same delay, once all data of its transaction
// is gone. The last batch of a producer that is still known stays, empty if need be, so that its sequence is not lost.
package plan
