package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// lz4Frame compresses p with the library's writer.
func lz4Frame(t testing.TB, p []byte, options ...lz4.Option) []byte {
	t.Helper()
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	if err := w.Apply(options...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// mixed is n bytes of which some compress and some do not.
func mixed(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var p []byte
	for len(p) < n {
		p = fmt.Appendf(p, `{"id":%d,"qty":%d},`, rng.Int64(), rng.IntN(9))
		for range rng.IntN(100) {
			p = append(p, byte(rng.IntN(256)))
		}
		p = append(p, make([]byte, rng.IntN(200))...)
	}
	return p[:n]
}

func TestLZ4Reader_EveryKindOfFrame_UnfoldsAsTheLibraryDoes(t *testing.T) {
	var ws Workspace // one for all: what a frame leaves must not show in the next
	for _, n := range []int{1, 100, 64 << 10, 64<<10 + 1, 300_000, 5 << 20} {
		for _, size := range []lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block1Mb, lz4.Block4Mb} {
			for _, sum := range []bool{false, true} {
				for _, blockSums := range []bool{false, true} {
					p := mixed(n)
					f := lz4Frame(t, p, lz4.BlockSizeOption(size), lz4.ChecksumOption(sum), lz4.BlockChecksumOption(blockSums),
						lz4.SizeOption(uint64(n)))
					got, err := ws.Decompress(nil, LZ4, f, int64(n))
					if err != nil || !bytes.Equal(got, p) {
						t.Errorf("%d bytes, blocks of %v, checksums %v %v: %d bytes, %v", n, size, sum, blockSums, len(got), err)
					}
				}
			}
		}
	}
}

func TestLZ4Reader_FrameCutShort_UnexpectedEOF(t *testing.T) {
	f := lz4Frame(t, mixed(1000), lz4.BlockSizeOption(lz4.Block64Kb))
	var ws Workspace
	for n := 11; n < len(f); n++ {
		if _, err := ws.Decompress(nil, LZ4, f[:n], 1000); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d of %d bytes: %v", n, len(f), err)
		}
	}
}

func TestLZ4Reader_BlockLargerThanAllowed_Refused(t *testing.T) {
	// The header of a frame with blocks of 64 KiB over a block that unfolds to more.
	large := lz4Frame(t, make([]byte, 200_000), lz4.BlockSizeOption(lz4.Block256Kb), lz4.ChecksumOption(false))
	small := lz4Frame(t, nil, lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false))
	f := append(append([]byte(nil), small[:lz4HeaderMin]...), large[lz4HeaderMin:]...)
	var ws Workspace
	if got, err := ws.Decompress(nil, LZ4, f, 1<<20); err == nil {
		t.Errorf("%d bytes", len(got))
	}
}

func TestLZ4Reader_Noise_AsTheLibrarySays(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	whole := lz4Frame(t, mixed(3000), lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false))
	var ws Workspace
	for range 3000 {
		f := bytes.Clone(whole)
		f[rng.IntN(len(f))] ^= 1 << rng.IntN(8)
		want, wantErr := io.ReadAll(lz4.NewReader(bytes.NewReader(f)))
		got, err := ws.Decompress(nil, LZ4, f, 1<<20)
		if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
			t.Fatalf("%x: got %d bytes, %v, want %d bytes, %v", f[:16], len(got), err, len(want), wantErr)
		}
	}
}
