package zkserver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"strconv"
	"strings"

	"jackdaw/internal/vfs"
	"jackdaw/zkstore/zktree"
)

const (
	journalMagic   = "JDZKJRN1"
	snapshotMagic  = "JDZKSNP1"
	journalPrefix  = "journal."
	snapshotPrefix = "snapshot."
	groupHeader    = 12 // length, its checksum, checksum of the payload
	snapshotHeader = 8  // checksum, length
	sector         = 512
)

// CorruptError tells that a file of the server is damaged in a way that a crash does not explain.
type CorruptError struct {
	File string
	// Pos is the byte position of the damage.
	Pos    int64
	Reason string
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is corrupt at byte %d: %s", e.File, e.Pos, e.Reason)
}

// castagnoli is the polynomial that processors have an instruction for.
func checksum(p []byte) uint32 { return crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)) }

// journal is the file that changes are appended to, one group at a time. Owned by the commit goroutine.
type journal struct {
	f    vfs.File
	pos  int64
	sync bool
}

// createJournal makes the file for transactions from first on. A file of that name has none and is replaced.
func createJournal(fsys vfs.FS, dir string, first int64, sync bool) (*journal, error) {
	f, err := fsys.OpenFile(fileName(dir, journalPrefix, first), vfs.Write|vfs.Create|vfs.Trunc)
	if err != nil {
		return nil, err
	}
	j := &journal{f: f, pos: int64(len(journalMagic)), sync: sync}
	if _, err := f.WriteAt([]byte(journalMagic), 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), fsys.SyncDir(dir)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

// append writes one group, which begins with groupHeader free bytes, and makes it durable.
func (j *journal) append(group []byte) error {
	payload := group[groupHeader:]
	binary.BigEndian.PutUint32(group, uint32(len(payload)))
	binary.BigEndian.PutUint32(group[4:], checksum(group[:4]))
	binary.BigEndian.PutUint32(group[8:], checksum(payload))
	if _, err := j.f.WriteAt(group, j.pos); err != nil {
		return err
	}
	j.pos += int64(len(group))
	if !j.sync {
		return nil
	}
	return j.f.Sync()
}

func (j *journal) close() error { return errors.Join(j.f.Sync(), j.f.Close()) }

// replay runs the groups of a journal on the tree, skipping what the tree has already. good is where the last whole
// group ends. torn tells that an unfinished group follows, which only the last journal may have.
func replay(t *zktree.Tree, name string, b []byte) (good int64, torn bool, err error) {
	if len(b) < len(journalMagic) {
		return 0, true, nil
	}
	if string(b[:len(journalMagic)]) != journalMagic {
		return 0, false, &CorruptError{File: name, Reason: "not a journal"}
	}
	pos := len(journalMagic)
	for pos < len(b) {
		payload, next, state := nextGroup(b, pos)
		switch state {
		case groupTorn:
			return int64(pos), true, nil
		case groupCorrupt:
			return int64(pos), false, &CorruptError{File: name, Pos: int64(pos), Reason: "checksum does not match and more groups follow"}
		case groupWhole:
		}
		if err := replayGroup(t, payload); err != nil {
			return int64(pos), false, &CorruptError{File: name, Pos: int64(pos), Reason: err.Error()}
		}
		pos = next
	}
	return int64(pos), false, nil
}

// replayGroup runs the transactions of one group.
func replayGroup(t *zktree.Tree, payload []byte) error {
	for len(payload) > 0 {
		tx, rest, err := zktree.DecodeTxn(payload)
		if err != nil {
			return err
		}
		payload = rest
		if tx.Zxid <= t.Zxid() {
			continue
		}
		if err := t.Replay(tx); err != nil {
			return err
		}
	}
	return nil
}

type groupState int

const (
	groupWhole groupState = iota
	groupTorn
	groupCorrupt
)

// nextGroup reads the group at pos. A group is written only when the one before is durable, so after a crash only the
// last can be damaged; damage with anything but zeros after it has another cause.
func nextGroup(b []byte, pos int) (payload []byte, next int, state groupState) {
	if len(b)-pos < groupHeader {
		return nil, 0, groupTorn
	}
	head := b[pos : pos+groupHeader]
	if checksum(head[:4]) != binary.BigEndian.Uint32(head[4:]) {
		// Not written at all, or half of it: a header may lie in two sectors.
		return nil, 0, tornIf(allZero(b[pos+groupHeader:]) || pos%sector > sector-groupHeader)
	}
	n := int(binary.BigEndian.Uint32(head))
	if n > len(b)-pos-groupHeader {
		return nil, 0, groupTorn
	}
	payload = b[pos+groupHeader : pos+groupHeader+n]
	next = pos + groupHeader + n
	if checksum(payload) != binary.BigEndian.Uint32(head[8:]) {
		return nil, 0, tornIf(allZero(b[next:]))
	}
	return payload, next, groupWhole
}

func tornIf(yes bool) groupState {
	if yes {
		return groupTorn
	}
	return groupCorrupt
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// encodeSnapshot wraps the payload of a snapshot file.
func encodeSnapshot(t *zktree.Tree) []byte {
	head := len(snapshotMagic) + snapshotHeader
	b := make([]byte, head, 4096)
	copy(b, snapshotMagic)
	b = t.AppendSnapshot(b)
	binary.BigEndian.PutUint32(b[len(snapshotMagic):], checksum(b[head:]))
	binary.BigEndian.PutUint32(b[len(snapshotMagic)+4:], uint32(len(b)-head))
	return b
}

// decodeSnapshot reads a snapshot file.
func decodeSnapshot(name string, b []byte) (*zktree.Tree, error) {
	head := len(snapshotMagic) + snapshotHeader
	if len(b) < head || string(b[:len(snapshotMagic)]) != snapshotMagic {
		return nil, &CorruptError{File: name, Reason: "not a snapshot"}
	}
	payload := b[head:]
	if int(binary.BigEndian.Uint32(b[len(snapshotMagic)+4:])) != len(payload) ||
		binary.BigEndian.Uint32(b[len(snapshotMagic):]) != checksum(payload) {
		return nil, &CorruptError{File: name, Reason: "length or checksum does not match"}
	}
	t, err := zktree.LoadSnapshot(payload)
	if err != nil {
		return nil, &CorruptError{File: name, Reason: err.Error()}
	}
	return t, nil
}

// fileName gives the path of a journal or snapshot.
func fileName(dir, prefix string, zxid int64) string {
	return filepath.Join(dir, fmt.Sprintf("%s%016x", prefix, zxid))
}

// parseName reads what fileName made.
func parseName(name, prefix string) (zxid int64, ok bool) {
	s, found := strings.CutPrefix(name, prefix)
	if !found || len(s) != 16 {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 16, 64)
	return v, err == nil
}
