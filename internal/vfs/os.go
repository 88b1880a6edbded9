package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// OS is the file system of the machine.
type OS struct{}

const (
	fileMode = 0o644
	dirMode  = 0o755
)

// parent returns the directory of a path.
func parent(name string) string { return filepath.Dir(name) }

// isNotExist looks through wrapped errors.
func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// OpenFile implements FS.
func (OS) OpenFile(name string, flag Flag) (File, error) {
	f, err := os.OpenFile(name, osFlags(flag), fileMode)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func osFlags(flag Flag) int {
	m := os.O_RDONLY
	if flag&Write != 0 {
		m = os.O_RDWR
	}
	if flag&Create != 0 {
		m |= os.O_CREATE
	}
	if flag&Exclusive != 0 {
		m |= os.O_EXCL
	}
	if flag&Trunc != 0 {
		m |= os.O_TRUNC
	}
	return m
}

// ReadDir implements FS. Names that vanish while the list is made are left out.
func (OS) ReadDir(name string) ([]Entry, error) {
	list, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, 0, len(list))
	for _, e := range list {
		info, err := e.Info()
		if isNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, entry(info))
	}
	return out, nil
}

func entry(info fs.FileInfo) Entry {
	e := Entry{Name: info.Name(), Dir: info.IsDir(), ModTimeMs: info.ModTime().UnixMilli()}
	if !e.Dir {
		e.Size = info.Size()
	}
	return e
}

// Stat implements FS.
func (OS) Stat(name string) (Entry, error) {
	info, err := os.Stat(name)
	if err != nil {
		return Entry{}, err
	}
	return entry(info), nil
}

// MkdirAll implements FS.
func (OS) MkdirAll(name string) error { return os.MkdirAll(name, dirMode) }

// Rename implements FS.
func (OS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// RemoveAll implements FS.
func (OS) RemoveAll(name string) error { return os.RemoveAll(name) }

// SyncDir implements FS.
func (OS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Lock implements FS.
func (OS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	lk := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), lockCommand, &lk); err != nil {
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			err = ErrLocked
		}
		return nil, errors.Join(&fs.PathError{Op: "lock", Path: name, Err: err}, f.Close())
	}
	return f, nil
}

// Free implements FS.
func (OS) Free(name string) (free, total uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(name, &st); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: name, Err: err}
	}
	return st.Bavail * uint64(st.Bsize), st.Blocks * uint64(st.Bsize), nil
}

// osFile adapts os.File.
type osFile struct{ *os.File }

// Size implements File.
func (f osFile) Size() (int64, error) {
	info, err := f.File.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Fd implements File. Regular files are always in blocking mode, so asking does no harm.
func (f osFile) Fd() (uintptr, bool) { return f.File.Fd(), true }
