//go:build !linux

package vfs

// Reserve implements File.
func (osFile) Reserve(int64, int64) error { return nil }
