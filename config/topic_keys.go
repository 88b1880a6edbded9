package config

// TopicKey is a key of a topic's own config.
type TopicKey struct {
	Key
	// Synonyms are the broker keys that give the default, strongest first; none when there is none.
	Synonyms []string
}

// The broker keys of one time in several units: the finer unit wins.
var (
	retentionKeys = []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"}
	rollKeys      = []string{"log.roll.ms", "log.roll.hours"}
	jitterKeys    = []string{"log.roll.jitter.ms", "log.roll.jitter.hours"}
	flushKeys     = []string{"log.flush.interval.ms", "log.flush.scheduler.interval.ms"}
)

// topicKeys is the table of all keys of /config/topics in Kafka 3.9. Columns as in keys.go, and the synonyms.
// Kafka: LogConfig, TopicConfig.
var topicKeys = []TopicKey{
	{Key{"segment.bytes", Int, val("1073741824"), atLeast(14), ClusterWide, Honored, "Size at which a segment is closed."}, []string{"log.segment.bytes"}},
	{Key{"segment.ms", Long, val("604800000"), atLeast(1), ClusterWide, Honored, "Age at which a segment is closed."}, rollKeys},
	{Key{"segment.jitter.ms", Long, val("0"), atLeast(0), ClusterWide, Honored, "Random part taken off segment.ms."}, jitterKeys},
	{Key{"segment.index.bytes", Int, val("10485760"), atLeast(4), ClusterWide, Honored, "Size of an index file."}, []string{"log.index.size.max.bytes"}},
	{Key{"flush.messages", Long, val("9223372036854775807"), atLeast(1), ClusterWide, Honored, "Records after which the log is forced to disk."}, []string{"log.flush.interval.messages"}},
	{Key{"flush.ms", Long, val("9223372036854775807"), atLeast(0), ClusterWide, Honored, "Age at which records are forced to disk."}, flushKeys},
	{Key{"retention.bytes", Long, val("-1"), anything, ClusterWide, Honored, "Size of a partition beyond which old segments are deleted; -1 is no bound."}, []string{"log.retention.bytes"}},
	{Key{"retention.ms", Long, val("604800000"), atLeast(-1), ClusterWide, Honored, "Age at which segments are deleted; -1 is never."}, retentionKeys},
	{Key{"max.message.bytes", Int, val("1048588"), atLeast(0), ClusterWide, Honored, "Largest record batch, after compression, that is accepted."}, []string{"message.max.bytes"}},
	{Key{"index.interval.bytes", Int, val("4096"), atLeast(0), ClusterWide, Honored, "Bytes of records for each index entry."}, []string{"log.index.interval.bytes"}},
	{Key{"delete.retention.ms", Long, val("86400000"), atLeast(0), ClusterWide, Honored, "Life of a tombstone after compaction."}, []string{"log.cleaner.delete.retention.ms"}},
	{Key{"min.compaction.lag.ms", Long, val("0"), atLeast(0), ClusterWide, Honored, "Age below which records are not compacted."}, []string{"log.cleaner.min.compaction.lag.ms"}},
	{Key{"max.compaction.lag.ms", Long, val("9223372036854775807"), atLeast(1), ClusterWide, Honored, "Age at which records are compacted at the latest."}, []string{"log.cleaner.max.compaction.lag.ms"}},
	{Key{"file.delete.delay.ms", Long, val("60000"), atLeast(0), ClusterWide, Honored, "Time from marking a file as deleted to its removal."}, []string{"log.segment.delete.delay.ms"}},
	{Key{"min.cleanable.dirty.ratio", Double, val("0.5"), between(0, 1), ClusterWide, Honored, "Share of uncompacted records that makes compaction worth while."}, []string{"log.cleaner.min.cleanable.ratio"}},
	{Key{"cleanup.policy", List, val("delete"), oneOf("compact", "delete"), ClusterWide, Honored, "What becomes of old segments: delete, compact or both."}, []string{"log.cleanup.policy"}},
	{Key{"unclean.leader.election.enable", Boolean, val("false"), anything, ClusterWide, Honored, "Let a replica outside the ISR lead when no other is left, which loses records."}, []string{"unclean.leader.election.enable"}},
	{Key{"min.insync.replicas", Int, val("1"), atLeast(1), ClusterWide, Honored, "Fewest in-sync replicas with which acks=all is answered."}, []string{"min.insync.replicas"}},
	{Key{"compression.type", String, val("producer"), oneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"), ClusterWide, Honored, "Codec of stored batches; producer keeps what the producer used."}, []string{"compression.type"}},
	{Key{"compression.gzip.level", Int, val("-1"), gzipLevel, ClusterWide, Honored, "Level with compression.type=gzip."}, []string{"compression.gzip.level"}},
	{Key{"compression.lz4.level", Int, val("9"), between(1, 17), ClusterWide, Honored, "Level with compression.type=lz4."}, []string{"compression.lz4.level"}},
	{Key{"compression.zstd.level", Int, val("3"), between(-131072, 22), ClusterWide, Honored, "Level with compression.type=zstd."}, []string{"compression.zstd.level"}},
	{Key{"preallocate", Boolean, val("false"), anything, ClusterWide, Honored, "Allocate a segment file at its full size."}, []string{"log.preallocate"}},
	{Key{"message.format.version", String, val("3.0-IV1"), version, ClusterWide, Needless, "Old message format; ignored when inter.broker.protocol.version is 3.0 or later."}, []string{"log.message.format.version"}},
	{Key{"message.timestamp.type", String, val("CreateTime"), oneOf("CreateTime", "LogAppendTime"), ClusterWide, Honored, "Whether the producer or the broker gives the timestamp."}, []string{"log.message.timestamp.type"}},
	{Key{"message.timestamp.difference.max.ms", Long, val("9223372036854775807"), atLeast(0), ClusterWide, Honored, "Old bound of the timestamp in both directions; before and after win."}, []string{"log.message.timestamp.difference.max.ms"}},
	{Key{"message.timestamp.before.max.ms", Long, val("9223372036854775807"), atLeast(0), ClusterWide, Honored, "How far a timestamp may be in the past."}, []string{"log.message.timestamp.before.max.ms"}},
	{Key{"message.timestamp.after.max.ms", Long, val("9223372036854775807"), atLeast(0), ClusterWide, Honored, "How far a timestamp may be in the future."}, []string{"log.message.timestamp.after.max.ms"}},
	{Key{"leader.replication.throttled.replicas", List, val(""), throttledReplicas, ClusterWide, Honored, "Replicas whose outgoing replication is throttled."}, nil},
	{Key{"follower.replication.throttled.replicas", List, val(""), throttledReplicas, ClusterWide, Honored, "Replicas whose incoming replication is throttled."}, nil},
	{Key{"message.downconversion.enable", Boolean, val("true"), anything, ClusterWide, Honored, "Convert records for old Fetch versions."}, []string{"log.message.downconversion.enable"}},
	{Key{"remote.storage.enable", Boolean, val("false"), anything, ClusterWide, Tiered, "Keep old segments in remote storage."}, nil},
	{Key{"local.retention.ms", Long, val("-2"), atLeast(-2), ClusterWide, Tiered, "Part of retention.ms that is kept on local disks."}, []string{"log.local.retention.ms"}},
	{Key{"local.retention.bytes", Long, val("-2"), atLeast(-2), ClusterWide, Tiered, "Part of retention.bytes that is kept on local disks."}, []string{"log.local.retention.bytes"}},
	{Key{"remote.log.copy.disable", Boolean, val("false"), anything, ClusterWide, Tiered, "Copy no more segments to remote storage."}, nil},
	{Key{"remote.log.delete.on.disable", Boolean, val("false"), anything, ClusterWide, Tiered, "Delete remote segments when remote storage is switched off."}, nil},
}
