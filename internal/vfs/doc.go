// Package vfs is the file system as the log sees it: positioned reads and writes, explicit syncs of files and
// directories, and nothing else. OS is the real one. Mem lives in memory, remembers what was synced and what was not,
// can be cloned as a machine would find it after a power cut, and can be told to fail.
//
// All names are slash-separated paths as os takes them. A File is safe for concurrent use; reads and writes carry their
// own position, so there is no shared cursor.
package vfs
