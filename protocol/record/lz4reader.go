package record

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"
)

// Parts of an LZ4 frame, as in its format description.
const (
	lz4Magic       = 0x184d2204
	lz4VersionMask = 3 << 6
	lz4Version     = 1 << 6
	lz4Independent = 1 << 5
	lz4BlockSums   = 1 << 4
	lz4ContentSum  = 1 << 2
	lz4Reserved    = 1 << 1
	lz4Dictionary  = 1 << 0
	lz4Stored      = 1 << 31 // in the size of a block that is not compressed
	// Codes of the size of blocks: 64 KiB, and each four times the one before, up to 4 MiB.
	lz4BlockMin, lz4BlockMax = 4, 7
)

// Memory of blocks in bytes: what is taken first, by how much it grows, and what is kept for the next frame.
const (
	lz4FirstBlock = 128 << 10
	lz4Growth     = 4
	lz4KeptBlock  = 1 << 20
)

// lz4Reader unfolds a frame as Kafka's clients write it: blocks that stand for themselves, without checksums of their own.
// It takes a fraction of the memory that the library's reader takes for the same, and does not look at a checksum of the
// content, as Kafka does not: the batch's own covers it. Kafka: Lz4BlockInputStream.
type lz4Reader struct {
	rest  []byte // of the frame
	plain []byte // of the block in work, not read yet
	block []byte // memory of a block
	most  int    // size in bytes that a block may have
	tail  int    // bytes behind the last block
}

// reset begins a frame. false says that it is of another kind, or none.
func (r *lz4Reader) reset(frame []byte) bool {
	pos, right, ok := lz4Checksum(frame)
	if !ok || frame[pos] != right || binary.LittleEndian.Uint32(frame) != lz4Magic {
		return false
	}
	flags, size := frame[4], int(frame[5]>>4)
	if flags&(lz4VersionMask|lz4Independent|lz4BlockSums|lz4Reserved|lz4Dictionary) != lz4Version|lz4Independent ||
		size < lz4BlockMin || size > lz4BlockMax {
		return false
	}
	r.rest, r.plain, r.tail = frame[pos+1:], nil, 0
	r.most = 64 << 10 << (2 * (size - lz4BlockMin))
	if flags&lz4ContentSum != 0 {
		r.tail = 4
	}
	if cap(r.block) > lz4KeptBlock {
		r.block = nil
	}
	return true
}

// Read implements io.Reader.
func (r *lz4Reader) Read(p []byte) (int, error) {
	for len(r.plain) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.plain)
	r.plain = r.plain[n:]
	return n, nil
}

// next unfolds a block.
func (r *lz4Reader) next() error {
	if len(r.rest) < 4 {
		return io.ErrUnexpectedEOF
	}
	size := binary.LittleEndian.Uint32(r.rest)
	if size == 0 {
		if len(r.rest) < 4+r.tail {
			return io.ErrUnexpectedEOF
		}
		return io.EOF
	}
	n := int(size &^ lz4Stored)
	if n > r.most {
		return fmt.Errorf("lz4 block of %d bytes, at most %d are allowed", n, r.most)
	}
	if n > len(r.rest)-4 {
		return io.ErrUnexpectedEOF
	}
	src := r.rest[4 : 4+n]
	r.rest = r.rest[4+n:]
	if size&lz4Stored != 0 {
		r.plain = src
		return nil
	}
	return r.unfold(src)
}

// unfold takes more memory only when a block does not fit: what a frame says about its blocks is no promise.
func (r *lz4Reader) unfold(src []byte) error {
	if r.block == nil {
		r.block = make([]byte, lz4FirstBlock)
	}
	for {
		room := min(len(r.block), r.most)
		n, err := lz4.UncompressBlock(src, r.block[:room])
		if err == nil {
			r.plain = r.block[:n]
			return nil
		}
		if room == r.most {
			return err
		}
		r.block = make([]byte, min(lz4Growth*len(r.block), r.most))
	}
}
