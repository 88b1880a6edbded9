package record

import "strconv"

// Codec is the compression of a batch's records. Kafka: CompressionType.
type Codec int8

// The codecs, in the numbers of the wire.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

// DefaultLevel asks a codec for the level Kafka takes by default (KIP-390).
const DefaultLevel = 0

// Known tells whether the codec is one of the five.
func (c Codec) Known() bool { return c >= None && c <= Zstd }

// String is the name in configurations: none, gzip, snappy, lz4, zstd.
func (c Codec) String() string {
	switch c {
	case None:
		return "none"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	}
	return "codec-" + strconv.Itoa(int(c))
}

// ParseCodec is the inverse of String for the five codecs.
func ParseCodec(name string) (Codec, bool) {
	for c := None; c <= Zstd; c++ {
		if c.String() == name {
			return c, true
		}
	}
	return None, false
}
