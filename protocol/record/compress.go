package record

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Levels of KIP-390.
const (
	// LZ4DefaultLevel is compression.lz4.level's default, which means the fast compressor.
	LZ4DefaultLevel = 9
	// ZstdDefaultLevel is compression.zstd.level's default.
	ZstdDefaultLevel = 3
)

// compressor keeps the compressors of one level each, made when first needed.
type compressor struct {
	gzip      *gzip.Writer
	gzipLevel int
	lz4       *lz4.Writer
	zstd      *zstd.Encoder
	zstdLevel int
	scratch   []byte
}

// Compress appends the compressed form of p to dst. level is in the codec's own scale as in the configuration
// (compression.gzip.level, .lz4.level, .zstd.level); DefaultLevel, and -1 for gzip, is the codec's default.
func (w *Workspace) Compress(dst []byte, c Codec, level int, p []byte) ([]byte, error) {
	switch c {
	case None:
		return append(dst, p...), nil
	case Gzip:
		return w.enc.appendGzip(dst, level, p)
	case Snappy:
		return appendXerial(dst, p, &w.enc.scratch), nil
	case LZ4:
		return w.enc.appendLZ4(dst, level, p)
	case Zstd:
		return w.enc.appendZstd(dst, level, p)
	}
	return dst, fmt.Errorf("compression %d is not known", c)
}

func (c *compressor) appendGzip(dst []byte, level int, p []byte) ([]byte, error) {
	if level == DefaultLevel {
		level = gzip.DefaultCompression
	}
	out := bytes.NewBuffer(dst)
	if c.gzip == nil || c.gzipLevel != level {
		w, err := gzip.NewWriterLevel(out, level)
		if err != nil {
			return dst, err
		}
		c.gzip, c.gzipLevel = w, level
	} else {
		c.gzip.Reset(out)
	}
	if _, err := c.gzip.Write(p); err != nil {
		return dst, err
	}
	if err := c.gzip.Close(); err != nil {
		return dst, err
	}
	return out.Bytes(), nil
}

// appendLZ4 writes LZ4 frames as Kafka does: independent blocks of 64 KiB, no checksum of the content.
func (c *compressor) appendLZ4(dst []byte, level int, p []byte) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	if c.lz4 == nil {
		c.lz4 = lz4.NewWriter(out)
	} else {
		c.lz4.Reset(out)
	}
	err := c.lz4.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.ConcurrencyOption(1),
		lz4.CompressionLevelOption(lz4Level(level)))
	if err != nil {
		return dst, err
	}
	if _, err := c.lz4.Write(p); err != nil {
		return dst, err
	}
	if err := c.lz4.Close(); err != nil {
		return dst, err
	}
	return out.Bytes(), nil
}

// lz4Level maps Kafka's 1 to 17 to this library's ten levels.
func lz4Level(level int) lz4.CompressionLevel {
	if level == DefaultLevel || level == LZ4DefaultLevel {
		return lz4.Fast
	}
	return lz4.CompressionLevel(1 << (8 + min(max(level, 1), 9)))
}

func (c *compressor) appendZstd(dst []byte, level int, p []byte) ([]byte, error) {
	if level == DefaultLevel {
		level = ZstdDefaultLevel
	}
	if c.zstd == nil || c.zstdLevel != level {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true),
			zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)))
		if err != nil {
			return dst, err
		}
		c.zstd, c.zstdLevel = e, level
	}
	return c.zstd.EncodeAll(p, dst), nil
}
