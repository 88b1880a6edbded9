package record

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/snappy"
)

// Java clients write snappy in the frames of the xerial library: a header, then blocks with their size before them.
// Others write one bare block. Brokers read both and write xerial's.
const (
	xerialMagic     = "\x82SNAPPY\x00"
	xerialHeader    = len(xerialMagic) + 8
	xerialBlockSize = 32 << 10
	// snappyMaxRatio is above what any snappy block can expand by: 64 bytes from a copy of 3.
	snappyMaxRatio = 32
)

var errSnappy = errors.New("corrupt snappy data")

// snappyReader reads both forms, block by block.
type snappyReader struct {
	src    []byte
	framed bool
	block  []byte
	pos    int
}

func (s *snappyReader) reset(p []byte) error {
	s.pos, s.block = 0, s.block[:0]
	s.framed = len(p) >= len(xerialMagic) && string(p[:len(xerialMagic)]) == xerialMagic
	if s.framed {
		if len(p) < xerialHeader {
			return errSnappy
		}
		p = p[xerialHeader:]
	}
	s.src = p
	return nil
}

// Read implements io.Reader.
func (s *snappyReader) Read(dst []byte) (int, error) {
	for s.pos == len(s.block) {
		if len(s.src) == 0 {
			return 0, io.EOF
		}
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(dst, s.block[s.pos:])
	s.pos += n
	return n, nil
}

// next unfolds the next block. The size a block claims is believed only as far as its bytes can account for it.
func (s *snappyReader) next() error {
	in := s.src
	if s.framed {
		if len(in) < 4 {
			return errSnappy
		}
		n := int64(int32(binary.BigEndian.Uint32(in)))
		if n <= 0 || n > int64(len(in)-4) {
			return errSnappy
		}
		in, s.src = in[4:4+n], in[4+n:]
	} else {
		s.src = nil
	}
	size, err := snappy.DecodedLen(in)
	if err != nil || size > len(in)*snappyMaxRatio {
		return errSnappy
	}
	if cap(s.block) < size {
		s.block = make([]byte, size)
	}
	s.pos = 0
	s.block, err = snappy.Decode(s.block[:size], in)
	if err != nil {
		s.block = s.block[:0]
		return errSnappy
	}
	return nil
}

// appendXerial appends p in xerial's form to dst.
func appendXerial(dst, p []byte, scratch *[]byte) []byte {
	dst = append(dst, xerialMagic...)
	dst = binary.BigEndian.AppendUint32(dst, 1) // version
	dst = binary.BigEndian.AppendUint32(dst, 1) // oldest version that can read it
	for len(p) > 0 {
		n := min(len(p), xerialBlockSize)
		*scratch = snappy.Encode((*scratch)[:cap(*scratch)], p[:n])
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(*scratch)))
		dst = append(dst, *scratch...)
		p = p[n:]
	}
	return dst
}
