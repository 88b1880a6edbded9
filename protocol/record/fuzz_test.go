package record

import (
	"os"
	"path/filepath"
	"testing"
)

func addGolden(f *testing.F) {
	names, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, n := range names {
		p, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p)
	}
}

// FuzzNext: whatever the bytes are, splitting, checking and iterating end with a value or an error.
func FuzzNext(f *testing.F) {
	addGolden(f)
	f.Fuzz(func(t *testing.T, p []byte) {
		ws := new(Workspace)
		for range 100 {
			b, rest, err := Next(p)
			if err != nil {
				return
			}
			if b.Magic() == 2 {
				_ = ValidateHeader(b, true)
				b.updateCRC() // so that the fuzzer gets past the checksum
				s, err := Validate(b, ValidateOptions{MaxUncompressed: 1 << 20}, ws)
				n := 0
				for _, rerr := range b.Records(ws) {
					if err == nil && rerr != nil {
						t.Fatalf("valid batch, but record %d: %v", n, rerr)
					}
					if n++; n > 1<<16 {
						break
					}
				}
				if err == nil && n != int(b.Count()) && n <= 1<<16 {
					t.Fatalf("%d records, %+v", n, s)
				}
				ParseMarker(b)
			}
			p = rest
		}
	})
}

// FuzzDecompress: no bytes unfold to more than the bound, and no codec panics.
func FuzzDecompress(f *testing.F) {
	ws := new(Workspace)
	for c := Gzip; c <= Zstd; c++ {
		p, err := ws.Compress(nil, c, DefaultLevel, make([]byte, 1000))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(c), p)
	}
	f.Fuzz(func(t *testing.T, c byte, p []byte) {
		out, err := new(Workspace).Decompress(nil, Codec(c), p, 1<<20)
		if err == nil && len(out) > 1<<20 {
			t.Fatalf("%d bytes", len(out))
		}
	})
}
