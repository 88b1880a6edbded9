package cleaner

import (
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jackdaw/internal/vfs"
	"jackdaw/log"
	"jackdaw/protocol/record"
)

// oldSet is records "k<i>" for i in keys, with values that name their offset, in an old format.
func oldSet(t *testing.T, magic int8, codec record.Codec, first int64, keys ...int) []byte {
	t.Helper()
	b := record.NewBuilder(codec, record.BuilderOptions{})
	for i, k := range keys {
		b.Append(int64(1000+i), fmt.Append(nil, "k", k), fmt.Append(nil, first+int64(i)), nil)
	}
	batch := record.Batch(b.Build())
	batch.SetBaseOffset(first)
	set, err := record.DownConvert(nil, batch, magic, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// oldContents reads a log in format 1: the value of each record by its offset.
func oldContents(t *testing.T, l *log.Log) map[int64]string {
	t.Helper()
	got := map[int64]string{}
	for at := int64(0); at < l.EndOffset(); {
		r, err := l.Read(at, 1<<20, l.EndOffset(), true)
		if err != nil {
			t.Fatal(err)
		}
		data, err := r.ReadAll(nil)
		r.Release()
		if err != nil {
			t.Fatal(err)
		}
		set, err := record.DownConvert(nil, data, 1, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		for m, err := range record.Messages(set, nil) {
			if err != nil {
				t.Fatal(err)
			}
			got[m.Offset] = string(m.Key) + "=" + string(m.Value)
			at = max(at, m.Offset+1)
		}
	}
	return got
}

// A compacted log that old brokers wrote: plain and compressed messages of both formats, some of whose keys come again.
func TestCleaner_OldFormats_KeepsTheLatestAtItsOffset(t *testing.T) {
	fsys := vfs.NewMem(nil)
	dir := filepath.Join("/d", tp.String())
	if err := fsys.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	var data []byte
	data = append(data, oldSet(t, 0, record.None, 0, 1, 2, 3)...)
	data = append(data, oldSet(t, 0, record.Gzip, 3, 4, 1, 5, 6)...)
	data = append(data, oldSet(t, 1, record.None, 7, 7, 4)...)
	data = append(data, oldSet(t, 1, record.LZ4, 9, 8, 2, 9, 6)...)
	for name, content := range map[string][]byte{"00000000000000000000.log": data, "00000000000000000013.log": oldSet(t, 1, record.None, 13, 5, 9)} {
		if err := vfs.WriteFileAtomic(fsys, filepath.Join(dir, name), content); err != nil {
			t.Fatal(err)
		}
	}
	f := mustOpen(t, fsys)
	for range 8 { // the old segments are sealed
		if err := f.put(record.BuilderOptions{}, record.None, "new", "x"); err != nil {
			t.Fatal(err)
		}
	}
	before := oldContents(t, f.l)
	want := map[int64]string{}
	maps.Copy(want, before)
	for _, gone := range []int64{0, 1, 3, 5, 6, 11} { // k1 k2 k4 k5 k6 k9 came again
		delete(want, gone)
	}
	for f.c.CleanOnce(t.Context()) {
	}
	if f.c.uncleanable() > 0 {
		t.Fatal("the log counts as one that cannot be cleaned")
	}
	got := oldContents(t, f.l)
	maps.DeleteFunc(got, func(off int64, _ string) bool { return off >= 15 })
	maps.DeleteFunc(want, func(off int64, _ string) bool { return off >= 15 })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after compaction (-want +got):\n%s", diff)
	}
}
