package epoch

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"jackdaw/internal/vfs"
	"jackdaw/metadata"
)

func open(t interface{ Fatal(...any) }, fsys *vfs.Mem) *Cache {
	if err := fsys.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	c, err := Open(fsys, "/d/"+FileName)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fill(t *testing.T, entries ...Entry) (*Cache, *vfs.Mem) {
	t.Helper()
	fsys := vfs.NewMem(nil)
	c := open(t, fsys)
	for _, e := range entries {
		if _, err := c.Assign(e.Epoch, e.Start); err != nil {
			t.Fatal(err)
		}
	}
	return c, fsys
}

func TestAssign_Contradictions_AreDropped(t *testing.T) {
	base := []Entry{{2, 5}, {3, 10}, {7, 20}}
	for _, tc := range []struct {
		name string
		in   Entry
		want []Entry
	}{
		{"the next epoch", Entry{8, 30}, append(slices.Clone(base), Entry{8, 30})},
		{"the same epoch again", Entry{7, 25}, base},
		{"the same epoch from an earlier offset", Entry{7, 15}, []Entry{{2, 5}, {3, 10}, {7, 15}}},
		{"a later epoch at the same offset", Entry{8, 20}, []Entry{{2, 5}, {3, 10}, {8, 20}}},
		{"an earlier epoch", Entry{5, 30}, []Entry{{2, 5}, {3, 10}, {5, 30}}},
		{"an epoch before everything", Entry{1, 0}, []Entry{{1, 0}}},
	} {
		c, fsys := fill(t, base...)
		if _, err := c.Assign(tc.in.Epoch, tc.in.Start); err != nil {
			t.Fatal(err)
		}
		if got := c.Entries(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
		if got := open(t, fsys.CrashClone(nil)).Entries(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: after a power cut %v", tc.name, got)
		}
	}
	c, _ := fill(t)
	for _, e := range []Entry{{-1, 0}, {0, -1}} {
		if _, err := c.Assign(e.Epoch, e.Start); err == nil {
			t.Errorf("%v taken", e)
		}
	}
}

func TestEndOffset_Epochs_AnswerAsKafka(t *testing.T) {
	c, _ := fill(t, Entry{2, 5}, Entry{3, 10}, Entry{7, 20})
	for _, tc := range []struct {
		ask, found metadata.LeaderEpoch
		end        int64
		ok         bool
	}{
		{-1, -1, -1, false}, {0, 0, 5, true}, {2, 2, 10, true}, {3, 3, 20, true}, {5, 3, 20, true}, {7, 7, 33, true}, {8, -1, -1, false},
	} {
		if found, end, ok := c.EndOffset(tc.ask, 33); found != tc.found || end != tc.end || ok != tc.ok {
			t.Errorf("%d: %d %d %v", tc.ask, found, end, ok)
		}
	}
	for off, want := range map[int64]metadata.LeaderEpoch{0: -1, 4: -1, 5: 2, 9: 2, 10: 3, 20: 7, 99: 7} {
		if got := c.At(off); got != want {
			t.Errorf("epoch at %d: %d", off, got)
		}
	}
	empty, _ := fill(t)
	if _, _, ok := empty.EndOffset(0, 10); ok {
		t.Error("an empty history knows an epoch")
	}
}

func TestTruncate_BothEnds_KeepTheRest(t *testing.T) {
	for _, tc := range []struct {
		at             int64
		fromEnd, start []Entry
	}{
		{0, nil, []Entry{{2, 5}, {3, 10}, {7, 20}}},
		{5, nil, []Entry{{2, 5}, {3, 10}, {7, 20}}},
		{7, []Entry{{2, 5}}, []Entry{{2, 7}, {3, 10}, {7, 20}}},
		{10, []Entry{{2, 5}}, []Entry{{3, 10}, {7, 20}}},
		{20, []Entry{{2, 5}, {3, 10}}, []Entry{{7, 20}}},
		{25, []Entry{{2, 5}, {3, 10}, {7, 20}}, []Entry{{7, 25}}},
	} {
		c, _ := fill(t, Entry{2, 5}, Entry{3, 10}, Entry{7, 20})
		if err := c.TruncateFromEnd(tc.at); err != nil || !slices.Equal(c.Entries(), tc.fromEnd) {
			t.Errorf("end %d: %v %v", tc.at, c.Entries(), err)
		}
		c, _ = fill(t, Entry{2, 5}, Entry{3, 10}, Entry{7, 20})
		if err := c.TruncateFromStart(tc.at); err != nil || !slices.Equal(c.Entries(), tc.start) {
			t.Errorf("start %d: %v %v", tc.at, c.Entries(), err)
		}
	}
}

func TestOpen_UnreadableFile_CorruptError(t *testing.T) {
	for _, text := range []string{"", "0", "1\n0\n", "0\n2\n0 0\n", "0\n1\n0\n", "0\n1\nx 5\n", "0\n1\n5 -1\n", "0\n-1\n"} {
		fsys := vfs.NewMem(nil)
		open(t, fsys)
		if err := vfs.WriteFileAtomic(fsys, "/d/"+FileName, []byte(text)); err != nil {
			t.Fatal(err)
		}
		var corrupt *CorruptError
		if _, err := Open(fsys, "/d/"+FileName); !errors.As(err, &corrupt) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Whatever comes, epochs and offsets rise strictly, and the file holds what memory holds.
func TestCache_RandomOperations_StaysSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fsys := vfs.NewMem(nil)
		c := open(t, fsys)
		t.Repeat(map[string]func(*rapid.T){
			"assign": func(t *rapid.T) {
				e, off := rapid.Int32Range(0, 20).Draw(t, "epoch"), rapid.Int64Range(0, 50).Draw(t, "offset")
				if _, err := c.Assign(metadata.LeaderEpoch(e), off); err != nil {
					t.Fatal(err)
				}
			},
			"end":   func(t *rapid.T) { _ = c.TruncateFromEnd(rapid.Int64Range(0, 50).Draw(t, "at")) },
			"start": func(t *rapid.T) { _ = c.TruncateFromStart(rapid.Int64Range(0, 50).Draw(t, "at")) },
			"": func(t *rapid.T) {
				es := c.Entries()
				for i := 1; i < len(es); i++ {
					if es[i].Epoch <= es[i-1].Epoch || es[i].Start <= es[i-1].Start {
						t.Fatal(es)
					}
				}
				if got := open(t, fsys.KillClone()).Entries(); !slices.Equal(got, es) {
					t.Fatal(got, es)
				}
			},
		})
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("0\n2\n1 0\n10 16\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Decode(Encode(entries))
		if err != nil || !slices.Equal(again, entries) {
			t.Fatal(again, err)
		}
	})
}

// A new leader's epoch has no records yet: the file is written with the first of them.
func TestNote_Epoch_IsWrittenBySave(t *testing.T) {
	c, fsys := fill(t, Entry{1, 0})
	if err := c.Note(2, 10); err != nil {
		t.Fatal(err)
	}
	if got := open(t, fsys).Entries(); !slices.Equal(got, []Entry{{1, 0}}) {
		t.Fatalf("written before Save: %v", got)
	}
	c.ForgetFromEnd(20) // drops nothing
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	if got := open(t, fsys).Entries(); !slices.Equal(got, []Entry{{1, 0}, {2, 10}}) {
		t.Fatalf("after Save: %v", got)
	}
	c.ForgetFromEnd(10)
	if got := c.Entries(); !slices.Equal(got, []Entry{{1, 0}}) {
		t.Fatalf("after ForgetFromEnd: %v", got)
	}
	if got := open(t, fsys).Entries(); len(got) != 2 {
		t.Fatalf("ForgetFromEnd wrote: %v", got)
	}
	if _, err := c.Assign(3, 12); err != nil { // writes everything
		t.Fatal(err)
	}
	if got := open(t, fsys).Entries(); !slices.Equal(got, []Entry{{1, 0}, {3, 12}}) {
		t.Fatalf("after Assign: %v", got)
	}
}
