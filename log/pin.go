package log

import (
	"sync/atomic"

	"jackdaw/internal/vfs"
)

// pinned is an open file that is closed when the last of its users lets go: the segment that owns it, and readers.
type pinned struct {
	f vfs.File
	// refs starts at 1 for the segment; 0 means closed, and is never left again.
	refs atomic.Int32
}

func newPinned(f vfs.File) *pinned {
	p := &pinned{f: f}
	p.refs.Store(1)
	return p
}

// acquire adds a user; false when the file is closed already.
func (p *pinned) acquire() bool {
	for {
		n := p.refs.Load()
		if n == 0 {
			return false
		}
		if p.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release drops a user.
func (p *pinned) release() error {
	if p.refs.Add(-1) == 0 {
		return p.f.Close()
	}
	return nil
}
