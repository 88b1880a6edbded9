package index

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"jackdaw/internal/vfs"
)

func create(t interface{ Fatal(...any) }, fsys vfs.FS, maxBytes int32) (*Offset, *Time) {
	if err := fsys.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	o, err := CreateOffset(fsys, "/d/o", 100, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	x, err := CreateTime(fsys, "/d/t", 100, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	return o, x
}

// The index agrees with a sorted slice through appends, truncations, flushes and reopening.
func TestOffset_RandomOperations_AgreeWithASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fsys := vfs.NewMem(nil)
		x, _ := create(t, fsys, 1<<20)
		var model []OffsetEntry
		scratch := make([]byte, rapid.SampledFrom([]int{0, 8, 40, 4096}).Draw(t, "scratch"))
		next, pos := int64(100), int32(0)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				for range rapid.IntRange(1, 200).Draw(t, "n") {
					next += int64(rapid.IntRange(1, 5).Draw(t, "step"))
					pos += int32(rapid.IntRange(1, 9).Draw(t, "bytes"))
					if err := x.Append(next, pos); err != nil {
						t.Fatal(err)
					}
					model = append(model, OffsetEntry{next, pos})
				}
			},
			"truncate": func(t *rapid.T) {
				at := rapid.Int64Range(99, next+2).Draw(t, "at")
				if err := x.TruncateTo(at, scratch); err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(model, func(e OffsetEntry) bool { return e.Offset >= at })
				if i >= 0 {
					model = model[:i]
				}
				if next >= at {
					next = max(at-1, 100)
				}
			},
			"sync": func(t *rapid.T) {
				if err := x.Sync(); err != nil {
					t.Fatal(err)
				}
			},
			"reopen": func(t *rapid.T) {
				if err := errors.Join(x.Seal(), x.Close()); err != nil {
					t.Fatal(err)
				}
				var err error
				if x, err = OpenOffset(fsys, "/d/o", 100); err != nil {
					t.Fatal(err)
				}
				if err := x.Check(); err != nil {
					t.Fatal(err)
				}
				if err := x.Preallocate(1 << 20); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				if x.Entries() != len(model) {
					t.Fatalf("%d entries, want %d", x.Entries(), len(model))
				}
				at := rapid.Int64Range(99, next+2).Draw(t, "lookup")
				want := OffsetEntry{Offset: 100}
				for _, e := range model {
					if e.Offset <= at {
						want = e
					}
				}
				if got, err := x.Lookup(at, scratch); err != nil || got != want {
					t.Fatalf("lookup %d: %v %v, want %v", at, got, err, want)
				}
				p := rapid.Int64Range(0, int64(pos)+2).Draw(t, "pos")
				want = OffsetEntry{Offset: 100}
				for _, e := range model {
					if int64(e.Pos) <= p {
						want = e
					}
				}
				if got, err := x.LookupPos(p, scratch); err != nil || got != want {
					t.Fatalf("lookup position %d: %v %v, want %v", p, got, err, want)
				}
			},
		})
	})
}

func TestOffset_Full_RefusesMore(t *testing.T) {
	x, _ := create(t, vfs.NewMem(nil), 20)
	for i := range 2 {
		if x.Full() {
			t.Fatal("full early")
		}
		if err := x.Append(int64(101+i), int32(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Append(105, 9); !errors.Is(err, ErrFull) || !x.Full() {
		t.Fatal(err)
	}
}

func TestOffset_OffsetNotAboveTheLast_Refused(t *testing.T) {
	x, _ := create(t, vfs.NewMem(nil), 4096)
	if err := x.Append(105, 5); err != nil {
		t.Fatal(err)
	}
	for _, off := range []int64{105, 104, 99, 100 + 1<<31} {
		if err := x.Append(off, 9); err == nil {
			t.Errorf("offset %d taken", off)
		}
	}
}

func TestTime_Entries_OnlyRiseAndLeaveRoomToSeal(t *testing.T) {
	fsys := vfs.NewMem(nil)
	_, x := create(t, fsys, 36)
	for _, e := range []TimeEntry{{1000, 105}, {1000, 106}, {900, 107}, {2000, 108}} {
		if err := x.Append(e.Timestamp, e.Offset, false); err != nil {
			t.Fatal(err)
		}
	}
	if x.Entries() != 2 || !x.Full() {
		t.Fatalf("%d entries", x.Entries())
	}
	if err := x.Append(3000, 110, true); err != nil {
		t.Fatal(err)
	}
	if err := x.Append(4000, 111, false); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	for ts, want := range map[int64]TimeEntry{999: {-1, 100}, 1000: {1000, 105}, 1999: {1000, 105}, 2000: {2000, 108}, 9999: {3000, 110}} {
		if got, err := x.Lookup(ts, nil); err != nil || got != want {
			t.Errorf("%d: %v %v", ts, got, err)
		}
	}
	if err := x.TruncateTo(108, nil); err != nil || x.Last() != (TimeEntry{1000, 105}) {
		t.Fatal(x.Last(), err)
	}
}

func TestCheck_UnsealedOrTornFiles_Corrupt(t *testing.T) {
	fsys := vfs.NewMem(nil)
	x, ts := create(t, fsys, 4096)
	for i := range int64(3) {
		if err := errors.Join(x.Append(101+i, int32(i)), ts.Append(1000+i, 101+i, false)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(x.Sync(), ts.Sync()); err != nil {
		t.Fatal(err)
	}
	var corrupt *CorruptError
	o, err := OpenOffset(fsys, "/d/o", 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Check(); !errors.As(err, &corrupt) {
		t.Errorf("preallocated offset index: %v", err)
	}
	tx, err := OpenTime(fsys, "/d/t", 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Check(); !errors.As(err, &corrupt) {
		t.Errorf("preallocated time index: %v", err)
	}
	if err := vfs.WriteFileAtomic(fsys, "/d/o", make([]byte, 9)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenOffset(fsys, "/d/o", 100); !errors.As(err, &corrupt) {
		t.Errorf("odd size: %v", err)
	}
}

func TestTxn_AbortedTransactions_CollectedByRange(t *testing.T) {
	fsys := vfs.NewMem(nil)
	if err := fsys.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	x, err := OpenTxn(fsys, "/d/x")
	if err != nil {
		t.Fatal(err)
	}
	all := []AbortedTxn{{1, 0, 10, 11}, {2, 5, 20, 12}, {3, 12, 30, 31}}
	for _, a := range all {
		if err := x.Append(a); err != nil {
			t.Fatal(err)
		}
	}
	if x, err = OpenTxn(fsys, "/d/x"); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		from, upTo int64
		want       []AbortedTxn
		done       bool
	}{
		{0, 5, all[:1], true},
		{0, 12, all[:2], true},
		{11, 13, all[1:], true},
		{25, 40, all[2:], false},
		{31, 40, nil, false},
	} {
		got, done, err := x.Collect(nil, tc.from, tc.upTo)
		if err != nil || !slices.Equal(got, tc.want) || done != tc.done {
			t.Errorf("[%d, %d): %v %v %v", tc.from, tc.upTo, got, done, err)
		}
	}
	if err := x.TruncateTo(20); err != nil {
		t.Fatal(err)
	}
	if got, _ := x.All(); !slices.Equal(got, all[:1]) {
		t.Fatalf("after truncation: %v", got)
	}
	if err := x.Reset(); err != nil || x.Exists() {
		t.Fatal(err)
	}
}

func FuzzDecodeTxn(f *testing.F) {
	f.Add(encodeTxn(AbortedTxn{5, 6, 11, 12}))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := DecodeTxn(b)
		if err == nil && !slices.Equal(encodeTxn(a)[2:], b[2:TxnEntrySize]) {
			t.Fatal("not what was read")
		}
	})
}

func TestAppend_Allocs_None(t *testing.T) {
	x, err := CreateOffset(vfs.OS{}, t.TempDir()+"/o", 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	next := int64(0)
	if err := x.Append(next, 0); err != nil {
		t.Fatal(err)
	}
	n := testing.AllocsPerRun(1000, func() {
		next++
		if err := x.Append(next, int32(next)); err != nil {
			t.Fatal(err)
		}
	})
	if n > 0 {
		t.Fatalf("%.2f", n)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}
