package vfs

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"testing"
)

// contract is what both file systems do.
func contract(t *testing.T, fsys FS, root string) {
	t.Helper()
	dir := root + "/a/b"
	if err := fsys.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	name := dir + "/f"
	if _, err := fsys.OpenFile(name, Write); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("open a missing file: %v", err)
	}
	f, err := fsys.OpenFile(name, Write|Create)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("hello"), 3); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	if n, err := f.ReadAt(b, 0); n != 8 || !errors.Is(err, io.EOF) || string(b[:n]) != "\x00\x00\x00hello" {
		t.Fatalf("%q %v", b[:n], err)
	}
	if err := f.Truncate(4); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(6); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(fsys, name); err != nil || string(got) != "\x00\x00\x00h\x00\x00" {
		t.Fatalf("%q %v", got, err)
	}
	if err := f.WriteAllAt([][]byte{[]byte("one"), {}, []byte("and two")}, 6); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(fsys, name); err != nil || string(got) != "\x00\x00\x00h\x00\x00oneand two" {
		t.Fatalf("%q %v", got, err)
	}
	if err := f.Truncate(6); err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.OpenFile(name, Write|Create|Exclusive); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("exclusive: %v", err)
	}
	if err := fsys.Rename(name, dir+"/g"); err != nil {
		t.Fatal(err)
	}
	if size, err := f.Size(); err != nil || size != 6 {
		t.Fatal("an open file follows its name", size, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := fsys.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Name != "g" || list[0].Size != 6 || list[0].Dir {
		t.Fatal(list, err)
	}
	r, err := fsys.OpenFile(dir+"/g", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.WriteAt([]byte("x"), 0); err == nil {
		t.Fatal("wrote to a file opened for reading")
	}
	if err := r.WriteAllAt([][]byte{[]byte("x"), []byte("y")}, 0); err == nil {
		t.Fatal("wrote pieces to a file opened for reading")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	lock, err := fsys.Lock(root + "/lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Lock(root + "/lock"); !errors.Is(err, ErrLocked) {
		t.Fatal(err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(fsys.Remove(dir+"/g"), RemoveIfExists(fsys, dir+"/g"), fsys.RemoveAll(root+"/a"), fsys.RemoveAll(root+"/a")); err != nil {
		t.Fatal(err)
	}
	if ok, err := Exists(fsys, dir); ok || err != nil {
		t.Fatal(ok, err)
	}
	if free, total, err := fsys.Free(root); err != nil || free == 0 || total < free {
		t.Fatal(free, total, err)
	}
}

func TestOS_Contract(t *testing.T)  { contract(t, OS{}, t.TempDir()) }
func TestMem_Contract(t *testing.T) { contract(t, NewMem(nil), "") }

func write(t *testing.T, m *Mem, name, text string, sync bool) {
	t.Helper()
	f, err := m.OpenFile(name, Write|Create)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		t.Fatal(err)
	}
	if sync {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, m *Mem, dir string) []string {
	t.Helper()
	list, err := m.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		b, err := ReadFile(m, dir+"/"+e.Name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.Name+"="+string(b))
	}
	return out
}

func TestMem_PowerCut_KeepsOnlyWhatWasSynced(t *testing.T) {
	m := NewMem(nil)
	if err := m.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	write(t, m, "/d/synced", "old", true)
	write(t, m, "/d/content", "lost", false)
	if err := m.SyncDir("/d"); err != nil {
		t.Fatal(err)
	}
	write(t, m, "/d/synced", "newer", false)
	write(t, m, "/d/entry", "synced, but not its name", true)
	for _, tc := range []struct {
		what string
		m    *Mem
		want []string
	}{
		{"power cut", m.CrashClone(nil), []string{"content=", "synced=old"}},
		{"all reached the disk", m.CrashClone(func(_ string, _, current []byte) []byte { return current }), []string{"content=lost", "synced=newer"}},
		{"killed", m.KillClone(), []string{"content=lost", "entry=synced, but not its name", "synced=newer"}},
	} {
		if got := names(t, tc.m, "/d"); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q", tc.what, got)
		}
	}
}

func TestMem_RenameOfADirectory_DurableWithItsParent(t *testing.T) {
	m := NewMem(nil)
	if err := m.MkdirAll("/d/p"); err != nil {
		t.Fatal(err)
	}
	write(t, m, "/d/p/f", "x", true)
	if err := errors.Join(m.SyncDir("/d/p"), m.SyncDir("/d"), m.Rename("/d/p", "/d/q")); err != nil {
		t.Fatal(err)
	}
	if got := names(t, m.CrashClone(nil), "/d/p"); !slices.Equal(got, []string{"f=x"}) {
		t.Errorf("before the sync: %q", got)
	}
	if err := m.SyncDir("/d"); err != nil {
		t.Fatal(err)
	}
	c := m.CrashClone(nil)
	if got := names(t, c, "/d/q"); !slices.Equal(got, []string{"f=x"}) {
		t.Errorf("after the sync: %q", got)
	}
	if ok, _ := Exists(c, "/d/p"); ok {
		t.Error("the old name is left")
	}
}

func TestWriteFileAtomic_CrashAtEveryStep_OldOrNew(t *testing.T) {
	for at := 1; ; at++ {
		n, on := 0, false
		m := NewMem(func(Op, string) error {
			if !on {
				return nil
			}
			if n++; n >= at {
				return errors.New("stop")
			}
			return nil
		})
		if err := m.MkdirAll("/d"); err != nil {
			t.Fatal(err)
		}
		if err := WriteFileAtomic(m, "/d/f", []byte("old")); err != nil {
			t.Fatal(err)
		}
		on = true
		err := WriteFileAtomic(m, "/d/f", []byte("new"))
		for _, c := range []*Mem{m.CrashClone(nil), m.KillClone()} {
			got, rerr := ReadFile(c, "/d/f")
			if rerr != nil || (string(got) != "new" && (err == nil || string(got) != "old")) {
				t.Fatalf("step %d: %q %v", at, got, rerr)
			}
		}
		if err == nil {
			return
		}
	}
}
