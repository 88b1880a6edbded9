package zktree

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"
)

// AppendSnapshot appends the whole tree with its sessions, without watches. Paths are sorted, so that parents come
// before their children and equal trees have equal snapshots.
func (t *Tree) AppendSnapshot(dst []byte) []byte {
	dst = binary.AppendVarint(dst, t.zxid)
	dst = binary.AppendUvarint(dst, uint64(len(t.sessions)))
	for _, id := range slices.Sorted(maps.Keys(t.sessions)) {
		s := t.sessions[id]
		dst = binary.AppendVarint(dst, int64(id))
		dst = binary.AppendVarint(dst, s.timeout.Milliseconds())
		dst = append(dst, s.password[:]...)
	}
	dst = binary.AppendUvarint(dst, uint64(len(t.nodes)))
	for _, path := range slices.Sorted(maps.Keys(t.nodes)) {
		dst = appendNode(dst, path, t.nodes[path])
	}
	return dst
}

func appendNode(dst []byte, path string, n *node) []byte {
	dst = appendBytes(dst, []byte(path))
	dst = appendBytes(dst, n.data)
	dst = appendACL(dst, n.acl)
	for _, v := range []int64{
		n.stat.CZxid, n.stat.MZxid, n.stat.PZxid, n.stat.CTimeMs, n.stat.MTimeMs,
		int64(n.stat.Version), int64(n.stat.CVersion), int64(n.stat.AVersion), int64(n.stat.EphemeralOwner),
	} {
		dst = binary.AppendVarint(dst, v)
	}
	return dst
}

// LoadSnapshot builds a tree from what AppendSnapshot wrote. Nothing aliases b.
func LoadSnapshot(b []byte) (*Tree, error) {
	r := reader{b: b}
	t := empty()
	t.zxid = r.varint()
	for range r.count() {
		id := SessionID(r.varint())
		s := &session{timeout: time.Duration(r.varint()) * time.Millisecond}
		copy(s.password[:], r.take(PasswordLen))
		t.sessions[id] = s
	}
	for range r.count() {
		if !t.loadNode(&r) {
			return nil, ErrCorrupt
		}
	}
	if r.bad || len(r.b) > 0 || t.nodes["/"] == nil {
		return nil, ErrCorrupt
	}
	return t, nil
}

// loadNode reads one node and links it to its parent, which must be there.
func (t *Tree) loadNode(r *reader) bool {
	path := string(r.bytes())
	n := &node{data: r.bytes(), acl: r.acl()}
	n.stat = Stat{
		CZxid: r.varint(), MZxid: r.varint(), PZxid: r.varint(), CTimeMs: r.varint(), MTimeMs: r.varint(),
		Version: int32(r.varint()), CVersion: int32(r.varint()), AVersion: int32(r.varint()),
		EphemeralOwner: SessionID(r.varint()),
	}
	if r.bad || !ValidPath(path) || t.nodes[path] != nil {
		return false
	}
	if path == "/" {
		t.nodes[path] = n
		t.dataBytes += int64(len(n.data))
		return true
	}
	parentPath, _ := split(path)
	parent := t.nodes[parentPath]
	if parent == nil {
		return false
	}
	t.attach(path, n, parent)
	return true
}
