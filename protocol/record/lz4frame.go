package record

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// Clients of message format 0 computed the checksum in the header of an LZ4 frame over the magic, too (KAFKA-3160), and
// brokers have to write it so for them.

const (
	lz4HeaderMin  = 7 // magic, flags, block size, checksum
	lz4ContentLen = 1 << 3
)

// checkLZ4 refuses a frame whose blocks depend on each other: no Java client can read it. Kafka: Lz4BlockOutputStream.FLG.
func checkLZ4(frame []byte) error {
	if len(frame) >= lz4HeaderMin && frame[4]&lz4Independent == 0 {
		return errors.New("the blocks of the lz4 frame depend on each other")
	}
	return nil
}

// lz4Checksum gives the position of the header's checksum and its right value.
func lz4Checksum(frame []byte) (pos int, right byte, ok bool) {
	if len(frame) < lz4HeaderMin {
		return 0, 0, false
	}
	pos = lz4HeaderMin - 1
	if frame[4]&lz4ContentLen != 0 {
		pos += 8
	}
	if len(frame) <= pos {
		return 0, 0, false
	}
	return pos, byte(xxh32(frame[4:pos]) >> 8), true
}

// mendLZ4 returns the frame with the right checksum in its header.
func mendLZ4(frame []byte) []byte {
	pos, right, ok := lz4Checksum(frame)
	if !ok || frame[pos] == right {
		return frame
	}
	mended := append([]byte(nil), frame...)
	mended[pos] = right
	return mended
}

// breakLZ4 gives a frame's header the checksum that readers of message format 0 expect.
func breakLZ4(frame []byte) {
	if pos, _, ok := lz4Checksum(frame); ok {
		frame[pos] = byte(xxh32(frame[:pos]) >> 8)
	}
}

// Primes of xxHash.
const (
	xxPrime1 = 2654435761
	xxPrime2 = 2246822519
	xxPrime3 = 3266489917
	xxPrime4 = 668265263
	xxPrime5 = 374761393
)

// xxh32 is the 32-bit xxHash with seed 0 of less than 16 bytes, which is all a frame header has.
func xxh32(p []byte) uint32 {
	h := uint32(xxPrime5) + uint32(len(p))
	for ; len(p) >= 4; p = p[4:] {
		h += binary.LittleEndian.Uint32(p) * xxPrime3
		h = bits.RotateLeft32(h, 17) * xxPrime4
	}
	for _, b := range p {
		h += uint32(b) * xxPrime5
		h = bits.RotateLeft32(h, 11) * xxPrime1
	}
	h ^= h >> 15
	h *= xxPrime2
	h ^= h >> 13
	h *= xxPrime3
	return h ^ h>>16
}
