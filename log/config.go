package log

import (
	"math"
	"time"
)

// TimestampType says who dates records. Kafka: TimestampType.
type TimestampType int8

// Timestamp types.
const (
	// CreateTime keeps the producer's timestamps.
	CreateTime TimestampType = 0
	// LogAppendTime replaces them by the broker's clock.
	LogAppendTime TimestampType = 1
)

// CompressionProducer as Config.CompressionType keeps whatever codec the producer chose.
const CompressionProducer = "producer"

// Config holds the effective settings of one topic. A Log takes a new one by UpdateConfig; a Config itself is never
// changed after it was handed over. Kafka: LogConfig.
type Config struct {
	// SegmentBytes bounds a segment file; also the largest batch that may be appended. segment.bytes
	SegmentBytes int32
	// SegmentAge rolls a segment, less a random part of at most SegmentJitter. segment.ms, segment.jitter.ms
	SegmentAge    time.Duration
	SegmentJitter time.Duration
	// IndexBytes is the preallocated size of an index file. segment.index.bytes
	IndexBytes int32
	// IndexIntervalBytes is the least distance between two entries. index.interval.bytes
	IndexIntervalBytes int32
	// FlushMessages is the number of unflushed records that forces an fsync, FlushAge their age. flush.messages, flush.ms
	FlushMessages int64
	FlushAge      time.Duration
	// RetentionBytes and RetentionAge bound the log; negative means without bound. retention.bytes, retention.ms
	RetentionBytes int64
	RetentionAge   time.Duration
	// MaxMessageBytes bounds a batch as it is stored. max.message.bytes
	MaxMessageBytes int32
	// FileDeleteDelay is how long a .deleted file is kept. file.delete.delay.ms
	FileDeleteDelay time.Duration
	// Compact and Delete are the two parts of cleanup.policy.
	Compact bool
	Delete  bool
	// DeleteRetention is the life of a tombstone after its first clean pass. delete.retention.ms
	DeleteRetention time.Duration
	// MinCompactionLag and MaxCompactionLag bound the age at which records are compacted.
	MinCompactionLag time.Duration
	MaxCompactionLag time.Duration
	// MinCleanableRatio is the dirty share that triggers the cleaner. min.cleanable.dirty.ratio
	MinCleanableRatio float64
	// CompressionType is "producer", "uncompressed" or a codec: gzip, snappy, lz4, zstd. Levels are used with it.
	CompressionType                string
	GzipLevel, LZ4Level, ZstdLevel int
	// TimestampType, and how far CreateTime may be from the broker's clock. message.timestamp.*
	TimestampType   TimestampType
	TimestampBefore time.Duration
	TimestampAfter  time.Duration
	// Preallocate makes segment files at full size. preallocate
	Preallocate bool
	// MinInsyncReplicas and UncleanElection are kept here for the replication layer, which has no other topic settings.
	MinInsyncReplicas int32
	UncleanElection   bool
	// Downconversion allows answers to old fetch versions. message.downconversion.enable
	Downconversion bool
	// Throttled replica lists, as written in the topic config. leader.replication.throttled.replicas and follower's.
	LeaderThrottled, FollowerThrottled string
}

// Unlimited is the duration that stands for Long.MAX milliseconds.
const Unlimited = time.Duration(math.MaxInt64)

// DefaultConfig returns Kafka's defaults.
func DefaultConfig() Config {
	return Config{
		SegmentBytes:       1 << 30,
		SegmentAge:         7 * 24 * time.Hour,
		IndexBytes:         10 << 20,
		IndexIntervalBytes: 4096,
		FlushMessages:      math.MaxInt64,
		FlushAge:           Unlimited,
		RetentionBytes:     -1,
		RetentionAge:       7 * 24 * time.Hour,
		MaxMessageBytes:    1048588,
		FileDeleteDelay:    time.Minute,
		Delete:             true,
		DeleteRetention:    24 * time.Hour,
		MaxCompactionLag:   Unlimited,
		MinCleanableRatio:  0.5,
		CompressionType:    CompressionProducer,
		GzipLevel:          -1,
		LZ4Level:           9,
		ZstdLevel:          3,
		TimestampBefore:    Unlimited,
		TimestampAfter:     Unlimited,
		MinInsyncReplicas:  1,
		Downconversion:     true,
	}
}
