package log

import (
	"context"
	"io"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
)

// Manager owns the log directories of a broker. Kafka: LogManager.
type Manager struct{ opts Options }

// NewManager allocates a Manager; Open touches the disk.
func NewManager(o Options) *Manager { return &Manager{opts: o.withDefaults()} }

// Open locks the directories and loads all logs, recovering them after an unclean stop.
func (m *Manager) Open(ctx context.Context) error { return nil }

// Run does the periodic work until ctx ends.
func (m *Manager) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Get returns a log.
func (m *Manager) Get(tp metadata.TopicPartition) (*Log, bool) { return nil, false }

// All returns all logs in no order.
func (m *Manager) All() []*Log { return nil }

// GetOrCreate returns the log, created if needed.
func (m *Manager) GetOrCreate(tp metadata.TopicPartition, id metadata.TopicID) (*Log, error) {
	return nil, kerr.KafkaStorageError
}

// Delete removes a log: it is gone at once, its files are removed later.
func (m *Manager) Delete(tp metadata.TopicPartition) error { return nil }

// UpdateConfig re-reads the settings of a topic.
func (m *Manager) UpdateConfig(topic string) {}

// ReadHWCheckpoints returns the high watermarks of the last checkpoints.
func (m *Manager) ReadHWCheckpoints() map[metadata.TopicPartition]int64 { return nil }

// WriteHWCheckpoints writes replication-offset-checkpoint in each directory.
func (m *Manager) WriteHWCheckpoints(map[metadata.TopicPartition]int64) error { return nil }

// LiveDirs returns the directories that have not failed.
func (m *Manager) LiveDirs() []string { return nil }

// Close flushes everything and marks the shutdown as clean.
func (m *Manager) Close(ctx context.Context) error { return nil }

// Log is one partition. Kafka: UnifiedLog.
type Log struct{}

func (l *Log) TP() metadata.TopicPartition               { return metadata.TopicPartition{} }
func (l *Log) TopicID() metadata.TopicID                 { return metadata.TopicID{} }
func (l *Log) SetTopicID(id metadata.TopicID) error      { return nil }
func (l *Log) Dir() string                               { return "" }
func (l *Log) Config() *Config                           { return nil }
func (l *Log) StartOffset() int64                        { return 0 }
func (l *Log) EndOffset() int64                          { return 0 }
func (l *Log) HighWatermark() int64                      { return 0 }
func (l *Log) SetHighWatermark(hw int64)                 {}
func (l *Log) LastStableOffset() int64                   { return 0 }
func (l *Log) Size() int64                               { return 0 }
func (l *Log) LatestEpoch() (metadata.LeaderEpoch, bool) { return 0, false }
func (l *Log) EndOffsetForEpoch(e metadata.LeaderEpoch) (EpochEnd, bool) {
	return EpochEnd{}, false
}
func (l *Log) AssignEpochStart(e metadata.LeaderEpoch, offset int64) error { return nil }
func (l *Log) AppendAsLeader(records []byte, epoch metadata.LeaderEpoch, o AppendOptions) (AppendInfo, error) {
	return AppendInfo{}, kerr.KafkaStorageError
}
func (l *Log) AppendAsFollower(records []byte) (AppendInfo, error) {
	return AppendInfo{}, kerr.KafkaStorageError
}
func (l *Log) Read(offset int64, maxBytes int, upTo int64, minOne bool) (Records, error) {
	return Records{}, kerr.KafkaStorageError
}
func (l *Log) BytesBetween(from, upTo int64) int64 { return 0 }
func (l *Log) OffsetForTimestamp(ts, upTo int64) (TimestampOffset, bool, error) {
	return TimestampOffset{}, false, nil
}
func (l *Log) MaxTimestampOffset(upTo int64) (TimestampOffset, bool, error) {
	return TimestampOffset{}, false, nil
}
func (l *Log) TruncateTo(offset int64) (bool, error)      { return false, nil }
func (l *Log) TruncateFullyAndStartAt(offset int64) error { return nil }
func (l *Log) IncrementStartOffset(offset int64) error    { return nil }
func (l *Log) AbortedTxns(from, upTo int64) []AbortedTxn  { return nil }
func (l *Log) ActiveProducers() []ProducerState           { return nil }
func (l *Log) Flush() error                               { return nil }
func (l *Log) Close() error                               { return nil }

// Records is a range of an open segment file, pinned until Release. The zero value is empty.
type Records struct {
	f   vfs.File
	pos int64
	n   int
}

// Size returns the number of bytes.
func (r Records) Size() int { return r.n }

// File returns the open file that holds the bytes, nil when there are none.
func (r Records) File() vfs.File { return r.f }

// Pos returns where the bytes start in File.
func (r Records) Pos() int64 { return r.pos }

// ReadAll appends the bytes to buf.
func (r Records) ReadAll(buf []byte) ([]byte, error) { return buf, nil }

// Release ends the pin. It must be called exactly once.
func (r Records) Release() {}

// Meta is the content of meta.properties. Kafka: MetaProperties.
type Meta struct {
	BrokerID  int32
	ClusterID string
}

// ReadMeta reads dir/meta.properties; ok is false when there is none.
func ReadMeta(fsys vfs.FS, dir string) (m Meta, ok bool, err error) { return Meta{}, false, nil }

// WriteMeta writes dir/meta.properties atomically.
func WriteMeta(fsys vfs.FS, dir string, m Meta) error { return nil }

// DumpOptions qualifies Dump.
type DumpOptions struct {
	// DeepIteration prints records, also those inside compressed batches; PrintData their keys and values too.
	DeepIteration, PrintData bool
	// IndexSanityCheck and VerifyIndexOnly check an index instead of printing it.
	IndexSanityCheck, VerifyIndexOnly bool
}

// Dump prints a segment, an index, a snapshot or a checkpoint in the manner of Kafka's DumpLogSegments.
func Dump(w io.Writer, fsys vfs.FS, path string, o DumpOptions) error { return nil }
