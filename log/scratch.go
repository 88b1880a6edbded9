package log

import (
	"sync"

	"jackdaw/protocol/record"
)

// scratchSize holds the index block of a lookup, and then the headers that follow the entry found. A little more than
// the default index.interval.bytes, so that one read is nearly always enough.
const scratchSize = 8 << 10

// scratch is the working memory of one call.
type scratch struct {
	buf [scratchSize]byte
	// ws holds decompressors.
	ws record.Workspace
	// out takes a recompressed batch, plain its records in between.
	out, plain []byte
	// up takes a batch made of messages of an old format.
	up []byte
	// waiting are appends that are written together.
	waiting waiting
}

// scratchPool hands out scratch memory; the caller puts it back when its call ends.
type scratchPool struct{ p sync.Pool }

func newScratchPool() *scratchPool {
	return &scratchPool{sync.Pool{New: func() any { return new(scratch) }}}
}

func (p *scratchPool) get() *scratch { return p.p.Get().(*scratch) }

// maxKept is the largest recompression buffer that is kept.
const maxKept = 1 << 20

func (p *scratchPool) put(s *scratch) {
	if cap(s.out) > maxKept {
		s.out = nil
	}
	if cap(s.plain) > maxKept {
		s.plain = nil
	}
	if cap(s.up) > maxKept {
		s.up = nil
	}
	p.p.Put(s)
}
