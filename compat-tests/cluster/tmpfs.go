package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// filler is the file that Fill makes.
const filler = ".filler"

// Tmpfs is a small file system of a test.
type Tmpfs struct{ Dir string }

// MountTmpfs mounts a tmpfs of so many bytes for one test. It needs the rights of root; without them the test is skipped, or
// fails under CI=true.
func MountTmpfs(t testing.TB, size int64) *Tmpfs {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tmpfs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		Need(t, fmt.Errorf("mount of a tmpfs, for which root is needed: %w", err))
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return &Tmpfs{Dir: dir}
}

// Fill leaves no more than so many bytes free.
func (f *Tmpfs) Fill(leave int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(f.Dir, &st); err != nil {
		return err
	}
	size := int64(st.Bavail)*st.Bsize - leave
	if size <= 0 {
		return nil
	}
	out, err := os.Create(filepath.Join(f.Dir, filler))
	if err != nil {
		return err
	}
	if err := unix.Fallocate(int(out.Fd()), 0, 0, size); err != nil {
		return fmt.Errorf("fill %s: %w", f.Dir, err)
	}
	return out.Close()
}

// Free takes back what Fill took.
func (f *Tmpfs) Free() error { return os.Remove(filepath.Join(f.Dir, filler)) }

// ReadOnly makes the file system refuse writes, as a disk with errors is remounted, or take them again.
func (f *Tmpfs) ReadOnly(on bool) error {
	flags := uintptr(unix.MS_REMOUNT)
	if on {
		flags |= unix.MS_RDONLY
	}
	return unix.Mount("tmpfs", f.Dir, "tmpfs", flags, "")
}
