package log

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/protocol/record"
)

// Fields of a batch that compressing anew changes.
const (
	batchLengthPos = 8
	batchCRCPos    = 17
	batchAttrPos   = 22 // the low byte
	codecMask      = 0x07
)

// targetCodec is the codec in which the topic stores a batch. Control batches are never compressed.
func targetCodec(cfg *Config, b record.Batch) record.Codec {
	if cfg.CompressionType == CompressionProducer || b.IsControl() {
		return b.Codec()
	}
	if cfg.CompressionType == "uncompressed" {
		return record.None
	}
	if c, ok := record.ParseCodec(cfg.CompressionType); ok {
		return c
	}
	return b.Codec()
}

// level is the compression level of the topic for a codec (KIP-390).
func level(cfg *Config, c record.Codec) int {
	switch c {
	case record.Gzip:
		return cfg.GzipLevel
	case record.LZ4:
		return cfg.LZ4Level
	case record.Zstd:
		return cfg.ZstdLevel
	case record.None, record.Snappy:
	}
	return record.DefaultLevel
}

// recode appends b to sc.out in another codec (or the same, when an earlier batch has moved there). The records
// themselves stay byte for byte what they were.
func (l *Log) recode(b record.Batch, target record.Codec, cfg *Config, sc *scratch) error {
	if target == b.Codec() {
		sc.out = append(sc.out, b...)
		return nil
	}
	plain := b.RecordBytes()
	if b.Codec() != record.None {
		var err error
		sc.plain, err = sc.ws.Decompress(sc.plain[:0], b.Codec(), plain, record.DefaultMaxUncompressed)
		if err != nil {
			return l.errorf(kerr.CorruptMessage, "decompress: %v", err)
		}
		plain = sc.plain
	}
	start := len(sc.out)
	sc.out = append(sc.out, b[:record.HeaderSize]...)
	var err error
	if sc.out, err = sc.ws.Compress(sc.out, target, level(cfg, target), plain); err != nil {
		return l.errorf(kerr.UnknownServerError, "compress: %v", err)
	}
	n := record.Batch(sc.out[start:])
	binary.BigEndian.PutUint32(n[batchLengthPos:], uint32(len(n)-record.LogOverhead))
	n[batchAttrPos] = n[batchAttrPos]&^codecMask | byte(target)
	binary.BigEndian.PutUint32(n[batchCRCPos:], crc32.Checksum(n[batchAttrPos-1:], crc32.MakeTable(crc32.Castagnoli)))
	if len(n) > int(cfg.MaxMessageBytes) {
		return l.tooLarge(len(n), cfg)
	}
	return nil
}
