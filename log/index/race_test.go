package index

import (
	"errors"
	"testing"

	"jackdaw/internal/vfs"
)

// An entry may be dropped between the search for it and its reading, here while the search reads the file: by a truncation, or by
// close, which also drops what is in memory only. That is no corrupt file, for which the disk would be taken offline.
func TestLookup_EntriesDroppedMeanwhile_NoCorruptFile(t *testing.T) {
	var meanwhile func()
	fsys := vfs.NewMem(func(op vfs.Op, _ string) error {
		if f := meanwhile; op == vfs.OpRead && f != nil {
			meanwhile = nil
			f()
		}
		return nil
	})
	if err := fsys.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	var scratch [64]byte
	for _, tc := range []struct {
		name   string
		change func(o *Offset, x *Time) error
		want   int64 // the offset that is found
		closed bool
	}{
		{"truncated", func(o *Offset, x *Time) error { return errors.Join(o.TruncateTo(3, nil), x.TruncateTo(3, nil)) }, 2, false},
		{"truncated and written again", func(o *Offset, x *Time) error {
			return errors.Join(o.TruncateTo(3, nil), x.TruncateTo(3, nil), o.Append(150, 150), x.Append(150, 150, false))
		}, 2, false},
		{"truncated to nothing", func(o *Offset, x *Time) error { return errors.Join(o.TruncateTo(0, nil), x.TruncateTo(0, nil)) }, 0, false},
		{"truncated and closed", func(o *Offset, x *Time) error {
			return errors.Join(o.TruncateTo(3, nil), x.TruncateTo(3, nil), o.Close(), x.Close())
		}, 0, true},
	} {
		for _, by := range []string{"offset", "time"} {
			t.Run(tc.name+", by "+by, func(t *testing.T) {
				o, err := CreateOffset(fsys, "/d/o", 0, 8192)
				if err != nil {
					t.Fatal(err)
				}
				x, err := CreateTime(fsys, "/d/t", 0, 8192)
				if err != nil {
					t.Fatal(err)
				}
				for i := range 2*tailEntries + 1 {
					if err := errors.Join(o.Append(int64(i), int32(i)), x.Append(int64(i), int64(i), false)); err != nil {
						t.Fatal(err)
					}
				}
				meanwhile = func() {
					if err := tc.change(o, x); err != nil {
						t.Error(err)
					}
				}
				var offset int64
				if by == "offset" {
					var e OffsetEntry
					e, err = o.Lookup(100, scratch[:])
					offset = e.Offset
				} else {
					var e TimeEntry
					e, err = x.Lookup(100, scratch[:])
					offset = e.Offset
				}
				if tc.closed && errors.Is(err, ErrClosed) {
					return
				}
				if err != nil || offset != tc.want {
					t.Errorf("offset %d, %v, want %d", offset, err, tc.want)
				}
			})
		}
	}
}
