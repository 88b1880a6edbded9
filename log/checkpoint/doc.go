// Package checkpoint reads and writes the small files of a log directory: offset checkpoints, meta.properties,
// partition.metadata and the mark of a clean shutdown.
//
// All are replaced atomically, with syncs of the file and of its directory, so that a crash leaves the old one or the new.
package checkpoint
