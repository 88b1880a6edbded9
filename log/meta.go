package log

import (
	"time"

	"jackdaw/internal/vfs"
	"jackdaw/log/checkpoint"
)

// Meta is the content of meta.properties: whose directory it is.
type Meta = checkpoint.Meta

// ReadMeta reads meta.properties of a log directory; ok is false when there is none.
func ReadMeta(fsys vfs.FS, dir string) (m Meta, ok bool, err error) {
	return checkpoint.ReadMeta(fsys, dir)
}

// WriteMeta replaces meta.properties of a log directory, which it makes if needed.
func WriteMeta(fsys vfs.FS, dir string, m Meta) error {
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	return checkpoint.WriteMeta(fsys, dir, m, time.Now())
}
