package zktree

import "slices"

// EventType is the kind of a watch event, with ZooKeeper's number.
type EventType int32

// The events. ZooKeeper: Watcher.Event.EventType.
const (
	Created         EventType = 1
	Deleted         EventType = 2
	DataChanged     EventType = 3
	ChildrenChanged EventType = 4
)

// WatcherID names who watches: a connection.
type WatcherID int64

// Notice is one event for one watcher.
type Notice struct {
	Watcher WatcherID
	Type    EventType
	Path    string
}

// WatchKind is what a watch is set on.
type WatchKind uint8

// The kinds. Data watches of existing and of missing nodes are one kind. Data and child watches fire once; the other two
// stay until they are removed (ZooKeeper 3.6).
const (
	WatchData WatchKind = iota + 1
	WatchChildren
	WatchPersistent
	WatchRecursive
)

// change is something that happened to a node in the transaction under way.
type change struct {
	typ  EventType
	path string
}

// watchTable holds the watches of one kind by path and by watcher.
type watchTable struct {
	byPath map[string]map[WatcherID]struct{}
	byWho  map[WatcherID]map[string]struct{}
}

func newWatchTable() watchTable {
	return watchTable{byPath: map[string]map[WatcherID]struct{}{}, byWho: map[WatcherID]map[string]struct{}{}}
}

func (w *watchTable) len() int {
	n := 0
	for _, m := range w.byPath {
		n += len(m)
	}
	return n
}

func (w *watchTable) add(path string, who WatcherID) {
	if w.byPath[path] == nil {
		w.byPath[path] = map[WatcherID]struct{}{}
	}
	w.byPath[path][who] = struct{}{}
	if w.byWho[who] == nil {
		w.byWho[who] = map[string]struct{}{}
	}
	w.byWho[who][path] = struct{}{}
}

func (w *watchTable) has(path string, who WatcherID) bool {
	_, ok := w.byPath[path][who]
	return ok
}

func (w *watchTable) remove(path string, who WatcherID) {
	delete(w.byPath[path], who)
	if len(w.byPath[path]) == 0 {
		delete(w.byPath, path)
	}
	delete(w.byWho[who], path)
	if len(w.byWho[who]) == 0 {
		delete(w.byWho, who)
	}
}

// take removes the watches of a path and returns who had them.
func (w *watchTable) take(path string) map[WatcherID]struct{} {
	m := w.byPath[path]
	for who := range m {
		delete(w.byWho[who], path)
		if len(w.byWho[who]) == 0 {
			delete(w.byWho, who)
		}
	}
	delete(w.byPath, path)
	return m
}

func (w *watchTable) forget(who WatcherID) {
	for path := range w.byWho[who] {
		w.remove(path, who)
	}
}

// table returns the watches of a kind.
func (t *Tree) table(k WatchKind) *watchTable {
	switch k {
	case WatchData:
		return &t.data
	case WatchChildren:
		return &t.kids
	case WatchPersistent:
		return &t.persistent
	default:
		return &t.recursive
	}
}

// Watch sets a watch. It may be set on a path without a node.
func (t *Tree) Watch(path string, k WatchKind, who WatcherID) { t.table(k).add(path, who) }

// HasWatch reports whether the watch is set.
func (t *Tree) HasWatch(path string, k WatchKind, who WatcherID) bool {
	return t.table(k).has(path, who)
}

// Unwatch removes a watch and reports whether there was one.
func (t *Tree) Unwatch(path string, k WatchKind, who WatcherID) bool {
	if !t.table(k).has(path, who) {
		return false
	}
	t.table(k).remove(path, who)
	return true
}

// Forget removes all watches of a watcher, when its connection is gone.
func (t *Tree) Forget(who WatcherID) {
	for _, k := range []WatchKind{WatchData, WatchChildren, WatchPersistent, WatchRecursive} {
		t.table(k).forget(who)
	}
}

// notify turns the changes of the transaction into events and uses up the watches that fire once.
// ZooKeeper: DataTree.createNode, deleteNode, setData; WatchManager.triggerWatch.
func (t *Tree) notify() []Notice {
	var out []Notice
	for _, c := range t.fired {
		out = t.notifyNode(out, c)
		if c.typ != DataChanged {
			parent, _ := split(c.path)
			out = t.notifyParent(out, parent)
		}
	}
	t.fired = t.fired[:0]
	return out
}

// notifyNode tells those who watch the node itself, and those who watch all below an ancestor.
func (t *Tree) notifyNode(out []Notice, c change) []Notice {
	who := map[WatcherID]struct{}{}
	collect := func(m map[WatcherID]struct{}) {
		for w := range m {
			who[w] = struct{}{}
		}
	}
	collect(t.data.take(c.path))
	if c.typ == Deleted {
		collect(t.kids.take(c.path))
	}
	collect(t.persistent.byPath[c.path])
	if len(t.recursive.byPath) > 0 {
		for p := c.path; ; p, _ = split(p) {
			collect(t.recursive.byPath[p])
			if p == "/" {
				break
			}
		}
	}
	return appendNotices(out, who, c.typ, c.path)
}

// notifyParent tells those who watch the children of a node.
func (t *Tree) notifyParent(out []Notice, parent string) []Notice {
	who := t.kids.take(parent)
	if more := t.persistent.byPath[parent]; len(more) > 0 {
		all := map[WatcherID]struct{}{}
		for _, m := range []map[WatcherID]struct{}{who, more} {
			for w := range m {
				all[w] = struct{}{}
			}
		}
		who = all
	}
	return appendNotices(out, who, ChildrenChanged, parent)
}

// appendNotices adds one event for each watcher, in the order of their ids.
func appendNotices(out []Notice, who map[WatcherID]struct{}, typ EventType, path string) []Notice {
	from := len(out)
	for w := range who {
		out = append(out, Notice{Watcher: w, Type: typ, Path: path})
	}
	slices.SortFunc(out[from:], func(a, b Notice) int {
		switch {
		case a.Watcher < b.Watcher:
			return -1
		case a.Watcher > b.Watcher:
			return 1
		default:
			return 0
		}
	})
	return out
}

// Rewatch is what a client sends after it has reconnected: the watches that it had when it last saw zxid Seen.
type Rewatch struct {
	Seen                                         int64
	Data, Exist, Children, Persistent, Recursive []string
}

// Restore sets the watches again, and returns the events that were missed instead of watches that would have fired.
// ZooKeeper: DataTree.setWatches.
func (t *Tree) Restore(who WatcherID, r Rewatch) []Notice {
	var out []Notice
	restore := func(paths []string, k WatchKind, missed func(n *node) EventType) {
		for _, p := range paths {
			if typ := missed(t.nodes[p]); typ != 0 {
				out = append(out, Notice{who, typ, p})
			} else {
				t.Watch(p, k, who)
			}
		}
	}
	restore(r.Data, WatchData, func(n *node) EventType {
		switch {
		case n == nil:
			return Deleted
		case n.stat.MZxid > r.Seen:
			return DataChanged
		}
		return 0
	})
	restore(r.Exist, WatchData, func(n *node) EventType {
		if n != nil {
			return Created
		}
		return 0
	})
	restore(r.Children, WatchChildren, func(n *node) EventType {
		switch {
		case n == nil:
			return Deleted
		case n.stat.PZxid > r.Seen:
			return ChildrenChanged
		}
		return 0
	})
	never := func(*node) EventType { return 0 }
	restore(r.Persistent, WatchPersistent, never)
	restore(r.Recursive, WatchRecursive, never)
	return out
}
