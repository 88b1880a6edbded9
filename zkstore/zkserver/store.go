package zkserver

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"jackdaw/internal/vfs"
	"jackdaw/zkstore/zktree"
)

// keepSnapshots is how many snapshots stay, with the journals after the oldest. ZooKeeper: autopurge.snapRetainCount.
const keepSnapshots = 3

// store is the directory of the server. Owned by Open and then by the commit goroutine, but for writeSnapshot.
type store struct {
	fs   vfs.FS
	dir  string
	sync bool
	lg   *slog.Logger
	lock io.Closer
	j    *journal
	// journals counts the files that a start would read.
	journals int
	// bytes counts what was written to the journal, or read from it at the start, since the last snapshot.
	bytes int64
}

// openStore locks the directory and rebuilds the tree.
func openStore(fsys vfs.FS, dir string, sync bool, lg *slog.Logger) (*store, *zktree.Tree, error) {
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, nil, err
	}
	lock, err := fsys.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, nil, fmt.Errorf("zookeeper data directory %s: %w", dir, err)
	}
	st := &store{fs: fsys, dir: dir, sync: sync, lg: lg, lock: lock}
	t, err := st.recover()
	if err == nil {
		err = st.rotate(t.Zxid() + 1)
	}
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	return st, t, nil
}

// list returns the zxids in the names of all files of a kind, rising.
func (st *store) list(prefix string) ([]int64, error) {
	entries, err := st.fs.ReadDir(st.dir)
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, e := range entries {
		if z, ok := parseName(e.Name, prefix); ok {
			out = append(out, z)
		}
	}
	return out, nil
}

// recover reads the newest good snapshot and the journals after it, and cuts what a crash left unfinished.
func (st *store) recover() (*zktree.Tree, error) {
	t, err := st.newestSnapshot()
	if err != nil {
		return nil, err
	}
	firsts, err := st.list(journalPrefix)
	if err != nil {
		return nil, err
	}
	for i, first := range firsts {
		last := i == len(firsts)-1
		if !last && firsts[i+1] <= t.Zxid()+1 {
			continue
		}
		if err := st.replayFile(t, first, last); err != nil {
			return nil, err
		}
		st.journals++
	}
	return t, nil
}

// newestSnapshot loads the newest snapshot that is whole; a fresh tree when there is none at all.
func (st *store) newestSnapshot() (*zktree.Tree, error) {
	zxids, err := st.list(snapshotPrefix)
	if err != nil {
		return nil, err
	}
	var firstErr error
	for i := len(zxids) - 1; i >= 0; i-- {
		name := fileName(st.dir, snapshotPrefix, zxids[i])
		b, err := vfs.ReadFile(st.fs, name)
		if err != nil {
			return nil, err
		}
		t, err := decodeSnapshot(name, b)
		if err == nil {
			return t, nil
		}
		st.lg.Warn("zookeeper snapshot is unusable, trying an older one", "err", err)
		if firstErr == nil {
			firstErr = err
		}
	}
	if firstErr != nil {
		return nil, firstErr
	}
	return zktree.New(), nil
}

// replayFile runs one journal.
func (st *store) replayFile(t *zktree.Tree, first int64, last bool) error {
	name := fileName(st.dir, journalPrefix, first)
	b, err := vfs.ReadFile(st.fs, name)
	if err != nil {
		return err
	}
	good, torn, err := replay(t, name, b)
	if err != nil {
		return err
	}
	st.bytes += good
	if !torn {
		return nil
	}
	if !last {
		return &CorruptError{File: name, Pos: good, Reason: "unfinished group in a journal that is not the last"}
	}
	st.lg.Warn("zookeeper journal cut after its last whole group", "file", name, "pos", good, "cut_bytes", int64(len(b))-good)
	return st.cut(name, good)
}

// cut truncates a file for good.
func (st *store) cut(name string, size int64) error {
	f, err := st.fs.OpenFile(name, vfs.Write)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Sync(), f.Close())
}

// rotate goes on in a new journal.
func (st *store) rotate(first int64) error {
	if st.j != nil {
		if err := st.j.close(); err != nil {
			return err
		}
	}
	j, err := createJournal(st.fs, st.dir, first, st.sync)
	if err != nil {
		return err
	}
	st.j = j
	st.journals++
	return nil
}

// append makes a group durable.
func (st *store) append(group []byte) error {
	st.bytes += int64(len(group))
	return st.j.append(group)
}

// writeSnapshot writes a snapshot and deletes what is not needed any more. It may run beside append and rotate.
func (st *store) writeSnapshot(zxid int64, content []byte) error {
	if err := vfs.WriteFileAtomic(st.fs, fileName(st.dir, snapshotPrefix, zxid), content); err != nil {
		return err
	}
	return st.purge()
}

// purge deletes all snapshots but the newest keepSnapshots, and the journals that end before the oldest of these.
func (st *store) purge() error {
	snaps, err := st.list(snapshotPrefix)
	if err != nil || len(snaps) == 0 {
		return err
	}
	drop := max(0, len(snaps)-keepSnapshots)
	for _, z := range snaps[:drop] {
		if err := vfs.RemoveIfExists(st.fs, fileName(st.dir, snapshotPrefix, z)); err != nil {
			return err
		}
	}
	oldest := snaps[drop]
	firsts, err := st.list(journalPrefix)
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(firsts) && firsts[i+1] <= oldest+1; i++ {
		if err := vfs.RemoveIfExists(st.fs, fileName(st.dir, journalPrefix, firsts[i])); err != nil {
			return err
		}
	}
	return nil
}

// close ends the journal and releases the directory.
func (st *store) close() error { return errors.Join(st.j.close(), st.lock.Close()) }
