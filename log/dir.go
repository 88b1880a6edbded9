package log

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"

	"jackdaw/internal/vfs"
	"jackdaw/log/checkpoint"
	"jackdaw/metadata"
)

// lockFile is held by the process that uses a log directory.
const lockFile = ".lock"

// logDir is one element of log.dirs.
type logDir struct {
	path string
	fsys vfs.FS
	// failed is set for good by the first IO error.
	failed atomic.Bool
	// report is told once about the failure; it does not block.
	report func(dir string, err error)
	// startMoved tells that a start offset changed since the last checkpoint.
	startMoved atomic.Bool
	// loaded tells that all logs were loaded, so that a clean shutdown may be marked.
	loaded atomic.Bool
	lock   io.Closer
	// ghosts are partitions whose log is gone while it may still be in the checkpoints. Guarded by Manager.creating, and
	// filled by the loading of this directory before that.
	ghosts map[metadata.TopicPartition]struct{}
	// checkpoints is held while what belongs into one of the checkpoint files is collected, and the file is replaced: two at a time
	// would take the temporary file from each other, and the older content could be the one that stays.
	// Kafka: CheckpointFile.write.
	checkpoints sync.Mutex
	// saveRecoveryPoints writes the checkpoint of the recovery points of all logs in this directory.
	saveRecoveryPoints func() error
}

// fail takes the directory offline. Kafka: LogDirFailureChannel.maybeAddOfflineLogDir.
func (d *logDir) fail(err error) {
	if d.failed.CompareAndSwap(false, true) {
		d.report(d.path, err)
	}
}

// open makes the directory if needed, and locks it.
func (d *logDir) open() error {
	if err := d.fsys.MkdirAll(d.path); err != nil {
		return err
	}
	lock, err := d.fsys.Lock(filepath.Join(d.path, lockFile))
	if errors.Is(err, vfs.ErrLocked) {
		return fmt.Errorf("log.dirs: %s: another process is using this directory: %w", d.path, err)
	}
	d.lock = lock
	return err
}

// unlock lets another process use the directory.
func (d *logDir) unlock() error {
	if d.lock == nil {
		return nil
	}
	lock := d.lock
	d.lock = nil
	return lock.Close()
}

// readOffsets loads a checkpoint. One that cannot be understood counts as empty, as in Kafka.
func (d *logDir) readOffsets(name string, warn func(msg string, args ...any)) (checkpoint.Offsets, error) {
	m, err := checkpoint.ReadOffsets(d.fsys, d.path, name)
	var corrupt *checkpoint.CorruptError
	if errors.As(err, &corrupt) {
		warn("checkpoint cannot be read, taking it as empty", "file", corrupt.Path, "err", err)
		return checkpoint.Offsets{}, nil
	}
	return m, err
}

// saveOffsets collects what belongs into a checkpoint and saves it.
func (d *logDir) saveOffsets(name string, collect func() checkpoint.Offsets) error {
	d.checkpoints.Lock()
	defer d.checkpoints.Unlock()
	return d.writeOffsetsLocked(name, collect())
}

// writeOffsetsLocked saves a checkpoint, and takes the directory offline if it cannot. The caller holds checkpoints.
func (d *logDir) writeOffsetsLocked(name string, m checkpoint.Offsets) error {
	if err := checkpoint.WriteOffsets(d.fsys, d.path, name, m); err != nil {
		d.fail(fmt.Errorf("write %s: %w", name, err))
		return err
	}
	return nil
}

// editCleaned changes up to where logs were cleaned. edit reports whether it has changed anything.
func (d *logDir) editCleaned(warn func(msg string, args ...any), edit func(checkpoint.Offsets) bool) error {
	d.checkpoints.Lock()
	defer d.checkpoints.Unlock()
	offsets, err := d.readOffsets(checkpoint.Cleaner, warn)
	if err != nil || !edit(offsets) {
		return err
	}
	return d.writeOffsetsLocked(checkpoint.Cleaner, offsets)
}

// partitionPath is where a partition's files are.
func (d *logDir) partitionPath(tp metadata.TopicPartition) string {
	return filepath.Join(d.path, tp.String())
}
