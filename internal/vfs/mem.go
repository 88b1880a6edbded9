package vfs

import (
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// Op names what a fault rule is asked about.
type Op string

// The operations of a Mem.
const (
	OpOpen     Op = "open"
	OpRead     Op = "read"
	OpWrite    Op = "write"
	OpTruncate Op = "truncate"
	OpSync     Op = "sync"
	OpRename   Op = "rename"
	OpRemove   Op = "remove"
	OpMkdir    Op = "mkdir"
	OpSyncDir  Op = "syncdir"
)

// Mem is a file system in memory for tests. It distinguishes what was written from what was synced, for file contents and
// for directory entries separately, as a disk with a write cache does.
type Mem struct {
	mu struct {
		sync.Mutex
		// now and durable map every path to its node: as seen by the process, and as found after a power cut.
		now, durable map[string]*memNode
		locks        map[string]bool
		clock        int64
		steps        int
	}
	// fault is asked before every operation; an error it returns is the operation's result. Set by NewMem only.
	fault func(op Op, name string) error
}

// memNode is an inode. Guarded by the Mem's mutex.
type memNode struct {
	dir     bool
	data    []byte
	durable []byte
	mtime   int64
}

// NewMem returns an empty file system. fault may be nil; it is called without a lock held.
func NewMem(fault func(op Op, name string) error) *Mem {
	m := &Mem{fault: fault}
	m.mu.now = map[string]*memNode{"/": {dir: true}}
	m.mu.durable = map[string]*memNode{"/": m.mu.now["/"]}
	m.mu.locks = map[string]bool{}
	return m
}

// CrashClone returns the file system as a new process finds it after a power cut: only synced directory entries, and in
// each file what was synced. keep decides about every file that has more: it gets the name, the synced and the current
// content, and returns what the disk holds; nil keeps the synced content. Open files of m stay usable.
func (m *Mem) CrashClone(keep func(name string, synced, current []byte) []byte) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := NewMem(nil)
	for _, name := range slices.Sorted(maps.Keys(m.mu.durable)) { // sorted, so that keep can use a seeded source
		n := m.mu.durable[name]
		content := n.durable
		if keep != nil && !n.dir && !slices.Equal(n.durable, n.data) {
			content = keep(name, n.durable, n.data)
		}
		c.put(name, n, content)
	}
	return c
}

// KillClone returns the file system as a new process finds it after this one was killed: everything written is there,
// locks are not.
func (m *Mem) KillClone() *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := NewMem(nil)
	for name, n := range m.mu.now {
		c.put(name, n, n.data)
	}
	return c
}

// put adds a durable copy of a node to a clone that is being made.
func (m *Mem) put(name string, n *memNode, content []byte) {
	cp := &memNode{dir: n.dir, data: slices.Clone(content), durable: slices.Clone(content), mtime: n.mtime}
	m.mu.now[name] = cp
	m.mu.durable[name] = cp
}

// Steps counts the operations that changed something, to crash after each of them in turn.
func (m *Mem) Steps() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.steps
}

// ask consults the fault rule.
func (m *Mem) ask(op Op, name string) error {
	if m.fault == nil {
		return nil
	}
	if err := m.fault(op, name); err != nil {
		return &fs.PathError{Op: string(op), Path: name, Err: err}
	}
	return nil
}

func clean(name string) string { return path.Clean("/" + name) }

// changedLocked counts a change and returns its time.
func (m *Mem) changedLocked() int64 {
	m.mu.steps++
	m.mu.clock++
	return m.mu.clock
}

// OpenFile implements FS.
func (m *Mem) OpenFile(name string, flag Flag) (File, error) {
	if err := m.ask(OpOpen, name); err != nil {
		return nil, err
	}
	p := clean(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.mu.now[p]
	switch {
	case ok && n.dir:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	case ok && flag&(Create|Exclusive) == Create|Exclusive:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	case !ok && flag&Create == 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case !ok:
		if d, ok := m.mu.now[path.Dir(p)]; !ok || !d.dir {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		n = &memNode{mtime: m.changedLocked()}
		m.mu.now[p] = n
	case flag&Trunc != 0:
		n.data = nil
		n.mtime = m.changedLocked()
	}
	return &memFile{m: m, name: name, n: n, write: flag&Write != 0}, nil
}

// ReadDir implements FS.
func (m *Mem) ReadDir(name string) ([]Entry, error) {
	if err := m.ask(OpRead, name); err != nil {
		return nil, err
	}
	p := clean(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if d, ok := m.mu.now[p]; !ok || !d.dir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	var out []Entry
	for q, n := range m.mu.now {
		if q != "/" && path.Dir(q) == p {
			out = append(out, n.entry(path.Base(q)))
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (n *memNode) entry(name string) Entry {
	return Entry{Name: name, Dir: n.dir, Size: int64(len(n.data)), ModTimeMs: n.mtime}
}

// Stat implements FS.
func (m *Mem) Stat(name string) (Entry, error) {
	if err := m.ask(OpRead, name); err != nil {
		return Entry{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, ok := m.mu.now[clean(name)]
	if !ok {
		return Entry{}, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return n.entry(path.Base(clean(name))), nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(name string) error {
	if err := m.ask(OpMkdir, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := clean(name); p != "/"; p = path.Dir(p) {
		if n, ok := m.mu.now[p]; ok {
			if !n.dir {
				return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
			}
			continue
		}
		m.mu.now[p] = &memNode{dir: true, mtime: m.changedLocked()}
	}
	return nil
}

// Rename implements FS. A renamed directory takes its tree along.
func (m *Mem) Rename(oldName, newName string) error {
	if err := m.ask(OpRename, oldName); err != nil {
		return err
	}
	from, to := clean(oldName), clean(newName)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.mu.now[from]; !ok {
		return &fs.PathError{Op: "rename", Path: oldName, Err: fs.ErrNotExist}
	}
	m.changedLocked()
	moveTree(m.mu.now, from, to)
	return nil
}

// moveTree renames a path and all below it in a table.
func moveTree(t map[string]*memNode, from, to string) {
	moved := map[string]*memNode{}
	for p, n := range t {
		if p == from || strings.HasPrefix(p, from+"/") {
			moved[to+p[len(from):]] = n
			delete(t, p)
		}
	}
	for p, n := range moved {
		t[p] = n
	}
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	if err := m.ask(OpRemove, name); err != nil {
		return err
	}
	p := clean(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.mu.now[p]; !ok {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	for q := range m.mu.now {
		if strings.HasPrefix(q, p+"/") {
			return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrInvalid}
		}
	}
	m.changedLocked()
	delete(m.mu.now, p)
	return nil
}

// RemoveAll implements FS.
func (m *Mem) RemoveAll(name string) error {
	if err := m.ask(OpRemove, name); err != nil {
		return err
	}
	p := clean(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changedLocked()
	for q := range m.mu.now {
		if q == p || strings.HasPrefix(q, p+"/") {
			delete(m.mu.now, q)
		}
	}
	return nil
}

// SyncDir implements FS: the entries of this directory become durable, added and removed ones. A directory that was
// moved here brings its durable tree along, and one that left loses it.
func (m *Mem) SyncDir(name string) error {
	if err := m.ask(OpSyncDir, name); err != nil {
		return err
	}
	p := clean(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if d, ok := m.mu.now[p]; !ok || !d.dir {
		return &fs.PathError{Op: "syncdir", Path: name, Err: fs.ErrNotExist}
	}
	m.mu.steps++
	m.syncMovesLocked(p)
	for q, n := range m.mu.durable {
		if q != "/" && path.Dir(q) == p && m.mu.now[q] != n {
			removeTree(m.mu.durable, q)
		}
	}
	for q, n := range m.mu.now {
		if path.Dir(q) == p && q != "/" {
			m.mu.durable[q] = n
		}
	}
	for ; p != "/"; p = path.Dir(p) { // ext4 and xfs do not lose the parent of a synced directory
		m.mu.durable[p] = m.mu.now[p]
	}
	return nil
}

// syncMovesLocked moves durable subtrees of directories below p that were renamed since the last sync.
func (m *Mem) syncMovesLocked(p string) {
	for q, n := range m.mu.now {
		if !n.dir || path.Dir(q) != p || q == "/" || m.mu.durable[q] == n {
			continue
		}
		for old, dn := range m.mu.durable {
			if dn == n && old != q {
				moveTree(m.mu.durable, old, q)
				break
			}
		}
	}
}

func removeTree(t map[string]*memNode, p string) {
	for q := range t {
		if q == p || strings.HasPrefix(q, p+"/") {
			delete(t, q)
		}
	}
}

// Lock implements FS.
func (m *Mem) Lock(name string) (io.Closer, error) {
	f, err := m.OpenFile(name, Write|Create)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.locks[clean(name)] {
		return nil, ErrLocked
	}
	m.mu.locks[clean(name)] = true
	return &memLock{m: m, name: clean(name), f: f}, nil
}

// Free implements FS.
func (m *Mem) Free(string) (free, total uint64, err error) { return 1 << 40, 1 << 40, nil }

type memLock struct {
	m    *Mem
	name string
	f    File
}

// Close releases the lock.
func (l *memLock) Close() error {
	l.m.mu.Lock()
	delete(l.m.mu.locks, l.name)
	l.m.mu.Unlock()
	return l.f.Close()
}

// Fork returns an independent file system with the same content, as KillClone, that asks another fault rule.
func (m *Mem) Fork(fault func(op Op, name string) error) *Mem {
	c := m.KillClone()
	c.fault = fault
	return c
}
