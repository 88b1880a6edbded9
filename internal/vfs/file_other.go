//go:build !linux

package vfs

// Reserve implements File.
func (osFile) Reserve(int64, int64) error { return nil }

// WriteAllAt implements File.
func (f osFile) WriteAllAt(pieces [][]byte, off int64) error { return writeEach(f.File, pieces, off) }
