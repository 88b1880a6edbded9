// Package cleaner compacts logs whose cleanup.policy contains compact: of each key it keeps the latest record.
//
// A Cleaner has a number of workers. Each takes the dirtiest log that nobody works on, reads the keys of its dirty part
// into a map of fixed size, and rewrites the segments below the end of that part without what is superseded. What goes and
// what stays is decided by log/cleaner/plan; this package reads, writes, throttles, and keeps the notes of how far it came
// (cleaner-offset-checkpoint in each log directory).
//
// A log may be truncated, deleted or changed while it is cleaned: then the rewritten segment is thrown away. A log that
// cannot be cleaned is left alone until the next start, and counted; the workers go on with others. The active segment,
// what is not stable and what is younger than min.compaction.lag.ms is never touched. Kafka: LogCleaner.
package cleaner
