package log

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"jackdaw/metadata"
)

// Suffixes of the files of a partition's directory. Kafka: UnifiedLog, LogFileUtils.
const (
	logSuffix     = ".log"
	indexSuffix   = ".index"
	timeSuffix    = ".timeindex"
	txnSuffix     = ".txnindex"
	deletedSuffix = ".deleted"
	cleanedSuffix = ".cleaned"
	swapSuffix    = ".swap"

	deleteDirSuffix = "-delete"
	futureDirSuffix = "-future"
	strayDirSuffix  = "-stray"

	// maxDirName is the longest file name that file systems take.
	maxDirName = 255
)

// segmentName is the name of a segment's file: the base offset, 20 digits, and a suffix.
func segmentName(base int64, suffix string) string { return fmt.Sprintf("%020d%s", base, suffix) }

// segmentPath is the path of a segment's file.
func segmentPath(dir string, base int64, suffix string) string {
	return filepath.Join(dir, segmentName(base, suffix))
}

// parseBase reads the base offset of a file name with a known suffix after the digits.
func parseBase(name, suffix string) (int64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, false
	}
	base, err := strconv.ParseInt(digits, 10, 64)
	return base, err == nil && base >= 0
}

// parseDir reads the partition from the name of a directory. Kafka: UnifiedLog.parseTopicPartitionName.
func parseDir(name string) (metadata.TopicPartition, bool) {
	i := strings.LastIndexByte(name, '-')
	if i <= 0 {
		return metadata.TopicPartition{}, false
	}
	p, err := strconv.ParseInt(name[i+1:], 10, 32)
	if err != nil || p < 0 {
		return metadata.TopicPartition{}, false
	}
	return metadata.TopicPartition{Topic: name[:i], Partition: int32(p)}, true
}

// parseFutureDir reads the partition from the name of a future log's directory: topic-partition.uuid-future.
// Kafka: UnifiedLog.FutureDirPattern.
func parseFutureDir(name string) (metadata.TopicPartition, bool) {
	name, future := strings.CutSuffix(name, futureDirSuffix)
	dot := strings.LastIndexByte(name, '.')
	if !future || dot < 0 {
		return metadata.TopicPartition{}, false
	}
	return parseDir(name[:dot])
}

// futureDirName is the name of the directory of a copy that is to replace a log: topic-partition.uuid-future, which may be
// too long for a file system. Kafka: UnifiedLog.logFutureDirName.
func futureDirName(tp metadata.TopicPartition) string {
	return fmt.Sprintf("%s-%d.%s%s", tp.Topic, tp.Partition, uniqueID(), futureDirSuffix)
}

// Movable tells whether the name of a partition leaves room for that of a future log (KAFKA-4893).
func Movable(tp metadata.TopicPartition) bool { return len(futureDirName(tp)) <= maxDirName }

func uniqueID() string { return strings.ReplaceAll(uuid.NewString(), "-", "") }

// deleteDirName is the name that a partition's directory gets before it is removed: topic-partition.uuid-delete, with the
// topic cut if need be. Kafka: UnifiedLog.logDeleteDirName.
func deleteDirName(tp metadata.TopicPartition) string {
	suffix := fmt.Sprintf("-%d.%s%s", tp.Partition, uniqueID(), deleteDirSuffix)
	topic := tp.Topic
	if n := maxDirName - len(suffix); len(topic) > n {
		topic = topic[:n]
	}
	return topic + suffix
}
