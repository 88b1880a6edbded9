package network

import "sync"

// Classes of pooled frames in bytes. The larger fits a producer's largest request by default (max.request.size, 1 MiB) with room to spare.
const (
	smallFrame = 128 << 10
	largeFrame = 1<<20 + 64<<10
)

// framePool keeps memory for frames that do not fit a connection's own buffer.
type framePool struct{ small, large sync.Pool }

// get returns memory of at least n bytes capacity, length 0.
func (p *framePool) get(n int) *[]byte {
	size, from := n, (*sync.Pool)(nil)
	switch {
	case n <= smallFrame:
		size, from = smallFrame, &p.small
	case n <= largeFrame:
		size, from = largeFrame, &p.large
	}
	if from != nil {
		if b, ok := from.Get().(*[]byte); ok {
			return b
		}
	}
	b := make([]byte, 0, size)
	return &b
}

// put takes memory back, unless it is too large to keep.
func (p *framePool) put(b *[]byte) {
	switch cap(*b) {
	case smallFrame:
		p.small.Put(b)
	case largeFrame:
		p.large.Put(b)
	}
}

// readBufferPool keeps the buffers of connections that wait for a request.
type readBufferPool struct{ p sync.Pool }

func (p *readBufferPool) get() []byte {
	if b, ok := p.p.Get().(*[readBufferSize]byte); ok {
		return b[:]
	}
	return make([]byte, readBufferSize)
}

func (p *readBufferPool) put(b []byte) { p.p.Put((*[readBufferSize]byte)(b)) }

// maxPooledResponse is the size in bytes up to which the memory of an encoded response is kept.
const maxPooledResponse = 256 << 10

// bufPool keeps memory for encoded responses.
type bufPool struct{ p sync.Pool }

func (p *bufPool) get() *[]byte {
	if b, ok := p.p.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (p *bufPool) put(b *[]byte) {
	if cap(*b) <= maxPooledResponse {
		p.p.Put(b)
	}
}
