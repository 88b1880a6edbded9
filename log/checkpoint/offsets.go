package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
)

// Names of the offset checkpoints in a log directory.
const (
	// RecoveryPoint has the offset up to which each log was flushed.
	RecoveryPoint = "recovery-point-offset-checkpoint"
	// HighWatermark has the high watermarks.
	HighWatermark = "replication-offset-checkpoint"
	// LogStart has the start offsets of logs that do not start with their first segment.
	LogStart = "log-start-offset-checkpoint"
	// Cleaner has the offset up to which each compacted log was cleaned.
	Cleaner = "cleaner-offset-checkpoint"
)

// CorruptError tells that a file has not the expected form.
type CorruptError struct {
	Path   string
	Reason string
}

// Error implements error.
func (e *CorruptError) Error() string { return fmt.Sprintf("corrupt %s: %s", e.Path, e.Reason) }

// Offsets maps partitions to offsets.
type Offsets = map[metadata.TopicPartition]int64

// EncodeOffsets returns the content of a checkpoint: version 0, the number of entries, "topic partition offset" in a line
// each, sorted. Kafka: OffsetCheckpointFile, which does not sort.
func EncodeOffsets(m Offsets) []byte {
	tps := make([]metadata.TopicPartition, 0, len(m))
	for tp := range m {
		tps = append(tps, tp)
	}
	slices.SortFunc(tps, metadata.TopicPartition.Compare)
	b := make([]byte, 0, 16+32*len(tps))
	b = append(b, "0\n"...)
	b = strconv.AppendInt(b, int64(len(tps)), 10)
	b = append(b, '\n')
	for _, tp := range tps {
		b = append(b, tp.Topic...)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(tp.Partition), 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, m[tp], 10)
		b = append(b, '\n')
	}
	return b
}

// DecodeOffsets reads a checkpoint. Kafka makes the file before it has anything to write, so that an empty one is no fault.
func DecodeOffsets(b []byte) (Offsets, error) {
	if len(b) == 0 {
		return Offsets{}, nil
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) < 2 || lines[0] != "0" {
		return nil, errors.New("no version 0 and count")
	}
	n, err := strconv.Atoi(lines[1])
	if err != nil || n != len(lines)-2 {
		return nil, fmt.Errorf("count %q with %d entries", lines[1], len(lines)-2)
	}
	m := make(Offsets, n)
	for _, line := range lines[2:] {
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil, fmt.Errorf("entry %q", line)
		}
		p, err1 := strconv.ParseInt(f[1], 10, 32)
		o, err2 := strconv.ParseInt(f[2], 10, 64)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("entry %q", line)
		}
		m[metadata.TopicPartition{Topic: f[0], Partition: int32(p)}] = o
	}
	return m, nil
}

// ReadOffsets loads a checkpoint of a log directory; a missing one is empty.
func ReadOffsets(fsys vfs.FS, dir, name string) (Offsets, error) {
	path := filepath.Join(dir, name)
	b, err := vfs.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return Offsets{}, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := DecodeOffsets(b)
	if err != nil {
		return nil, &CorruptError{Path: path, Reason: err.Error()}
	}
	return m, nil
}

// WriteOffsets replaces a checkpoint of a log directory.
func WriteOffsets(fsys vfs.FS, dir, name string, m Offsets) error {
	return vfs.WriteFileAtomic(fsys, filepath.Join(dir, name), EncodeOffsets(m))
}
