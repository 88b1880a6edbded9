package checkpoint

import (
	"path/filepath"

	"jackdaw/internal/vfs"
)

// CleanShutdown is the file that marks a clean shutdown.
const CleanShutdown = ".kafka_cleanshutdown"

// WriteCleanShutdown marks the directory. Broker epochs are for KRaft; in ZooKeeper mode Kafka writes -1.
// Kafka: CleanShutdownFileHandler.
func WriteCleanShutdown(fsys vfs.FS, dir string) error {
	return vfs.WriteFileAtomic(fsys, filepath.Join(dir, CleanShutdown), []byte(`{"version":0,"brokerEpoch":-1}`))
}

// TakeCleanShutdown removes the mark, durably, and reports whether it was there. It must come before loading: a crash
// while logs are loaded is an unclean stop.
func TakeCleanShutdown(fsys vfs.FS, dir string) (bool, error) {
	path := filepath.Join(dir, CleanShutdown)
	there, err := vfs.Exists(fsys, path)
	if err != nil || !there {
		return false, err
	}
	if err := fsys.Remove(path); err != nil {
		return false, err
	}
	return true, fsys.SyncDir(dir)
}
