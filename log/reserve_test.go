package log

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"jackdaw/internal/vfs"
	"jackdaw/protocol/record"
)

// reserving notes what is asked of the disk for .log files: where room is reserved up to, and where files are cut.
type reserving struct {
	vfs.FS
	fail     error
	reserved []int64
	cuts     []int64
}

func (r *reserving) OpenFile(name string, flag vfs.Flag) (vfs.File, error) {
	f, err := r.FS.OpenFile(name, flag)
	if err != nil || filepath.Ext(name) != logSuffix {
		return f, err
	}
	return &reservingFile{f, r}, nil
}

type reservingFile struct {
	vfs.File
	r *reserving
}

func (f *reservingFile) Reserve(off, n int64) error {
	f.r.reserved = append(f.r.reserved, off+n)
	return f.r.fail
}

func (f *reservingFile) Truncate(size int64) error {
	f.r.cuts = append(f.r.cuts, size)
	return f.File.Truncate(size)
}

// grow appends batches of 100 kB until the log has n bytes.
func (f *fixture) grow(l *Log, n int64) {
	f.t.Helper()
	for l.Size() < n {
		b := record.NewBuilder(record.None, record.BuilderOptions{})
		b.Append(f.now.UnixMilli(), nil, []byte(strings.Repeat("x", 100_000)), nil)
		f.append(l, b.Build())
	}
}

func TestReserve_GrowingSegment_AheadAndGivenBack(t *testing.T) {
	fsys := &reserving{FS: vfs.NewMem(nil)}
	f := newFixture(t, fsys, func(c *Config) { c.SegmentBytes = 3 << 20 })
	l := f.log()
	f.grow(l, 900_000)
	if len(fsys.reserved) > 0 {
		t.Errorf("room reserved up to %d for a small segment", fsys.reserved)
	}
	f.grow(l, 2_900_000)
	if n := len(fsys.reserved); n < 1 || n > 3 || fsys.reserved[n-1] < l.Size() {
		t.Errorf("reserved up to %d for %d bytes", fsys.reserved, l.Size())
	}
	fsys.cuts = nil
	size := l.Size()
	for l.NumSegments() < 2 {
		size = l.Size()
		f.grow(l, size+1)
	}
	if !slices.Contains(fsys.cuts, size) {
		t.Errorf("the rolled file of %d bytes was cut at %d", size, fsys.cuts)
	}
}

func TestReserve_CutShort_AskedAgain(t *testing.T) {
	fsys := &reserving{FS: vfs.NewMem(nil)}
	f := newFixture(t, fsys, nil)
	l := f.log()
	f.grow(l, 1_200_000)
	if _, err := l.TruncateTo(5); err != nil {
		t.Fatal(err)
	}
	fsys.reserved = nil
	f.grow(l, 1_200_000)
	if len(fsys.reserved) == 0 {
		t.Error("no room reserved again")
	}
}

func TestReserve_NoRoom_WritesDecide(t *testing.T) {
	fsys := &reserving{FS: vfs.NewMem(nil), fail: vfs.ErrLocked}
	f := newFixture(t, fsys, nil)
	l := f.log()
	f.grow(l, 4_000_000)
	if len(fsys.reserved) != 1 {
		t.Errorf("asked %d times", len(fsys.reserved))
	}
	if got := len(readAll(t, l)); int64(got) != l.EndOffset() {
		t.Errorf("%d batches of %d", got, l.EndOffset())
	}
}
