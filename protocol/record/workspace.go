package record

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Bounds of what decompressors may take, in bytes.
const (
	// zstdMaxWindow bounds the window a zstd frame may ask for: that of zstd's highest ordinary level, 22.
	zstdMaxWindow = 128 << 20
	// readBuffer is the size of the buffer that compressed records are unfolded into.
	readBuffer = 64 << 10
)

// Workspace holds decompressors, compressors and buffers, made when first needed and reused. It is for one goroutine at
// a time; a caller that validates from many keeps a pool of them. The zero value is ready.
type Workspace struct {
	src    bytes.Reader
	gzip   *gzip.Reader
	snappy snappyReader
	lz4    lz4Reader
	anyLZ4 *lz4.Reader // for frames that lz4 does not take
	zstd   *zstd.Decoder

	cur     cursor
	buf     []byte
	scratch []byte
	headers []Header
	enc     compressor
}

// reader returns a stream of the uncompressed form of p, which ends when p does. It is good until the next call.
func (w *Workspace) reader(c Codec, p []byte) (io.Reader, error) {
	w.src.Reset(p)
	switch c {
	case None:
		return &w.src, nil
	case Gzip:
		return w.gzipReader()
	case Snappy:
		return &w.snappy, w.snappy.reset(p)
	case LZ4:
		if err := checkLZ4(p); err != nil {
			return nil, err
		}
		if w.lz4.reset(p) {
			return &w.lz4, nil
		}
		return w.anyLZ4Reader(), nil
	case Zstd:
		return w.zstdReader()
	}
	return nil, fmt.Errorf("compression %d is not known", c)
}

func (w *Workspace) gzipReader() (io.Reader, error) {
	if w.gzip == nil {
		r, err := gzip.NewReader(&w.src)
		if err != nil {
			return nil, err
		}
		w.gzip = r
		return r, nil
	}
	return w.gzip, w.gzip.Reset(&w.src)
}

func (w *Workspace) anyLZ4Reader() io.Reader {
	if w.anyLZ4 == nil {
		w.anyLZ4 = lz4.NewReader(&w.src)
	} else {
		w.anyLZ4.Reset(&w.src)
	}
	return w.anyLZ4
}

func (w *Workspace) zstdReader() (io.Reader, error) {
	if w.zstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdMaxWindow))
		if err != nil {
			return nil, err
		}
		w.zstd = d
	}
	return w.zstd, w.zstd.Reset(&w.src)
}

// Decompress appends the uncompressed form of p to dst. What would unfold to more than limit bytes is an error; memory
// grows with the bytes that are really there, not with what a header claims.
func (w *Workspace) Decompress(dst []byte, c Codec, p []byte, limit int64) ([]byte, error) {
	r, err := w.reader(c, p)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, make([]byte, 4096)...)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if int64(len(dst)-start) > limit {
			return dst[:start], fmt.Errorf("unfolds to more than %d bytes", limit)
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst[:start], err
		}
	}
}
