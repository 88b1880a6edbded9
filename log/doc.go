// Package log stores partitions on disk in the files of Apache Kafka 3.9, byte for byte.
//
// A Manager owns the log directories of a broker: it locks them, loads and recovers the logs in them, runs retention,
// flushing and checkpoints, and writes the mark of a clean shutdown. A partition may have a second, future log in another
// directory, which somebody else fills, and which then takes the place of the first. A Log is one partition: a list of segments (.log
// with .index, .timeindex and .txnindex), the leader epochs, and the state of idempotent and transactional producers.
//
// # Contract
//
// The bytes given to AppendAsLeader and AppendAsFollower are patched in place and not kept. Read returns a range of an
// open file and copies nothing; the range is pinned, so rolling, retention, truncation and deletion never close the file
// under a reader, who must call Records.Release.
//
// # Concurrency
//
// All methods are safe for concurrent use. Appends, truncation and rolling of one log exclude each other by Log.mu; reads
// take no lock: they load the list of segments from one atomic pointer. Writers publish in this order: bytes, log end
// offset, segment size. A reader therefore never finds a byte whose offset is above the log end that it loads later.
// Under Log.mu come the locks of the epoch cache and of the indexes; nothing is called back under them.
//
// # Failures
//
// An IO error takes the log directory offline: it is reported once through Options.OnDirFailure, and every later call on
// a log in it returns kerr.KafkaStorageError.
package log
