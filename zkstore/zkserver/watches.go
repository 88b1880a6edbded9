package zkserver

import "jackdaw/zkstore/zktree"

// setWatches restores the watches of a client that has reconnected.
func (r *request) setWatches() zktree.Code {
	w := zktree.Rewatch{Seen: r.in.int64(), Data: r.in.strings(), Exist: r.in.strings(), Children: r.in.strings()}
	if r.op == opSetWatches2 {
		w.Persistent, w.Recursive = r.in.strings(), r.in.strings()
	}
	if r.in.bad {
		return zktree.MarshallingError
	}
	for _, n := range r.s.mu.tree.Restore(r.c.id, w) {
		r.s.sendLocked(r.c, eventFrame(n))
	}
	return zktree.OK
}

// The types of watches in removeWatches and checkWatches. ZooKeeper: Watcher.WatcherType.
const (
	watchTypeChildren            = 1
	watchTypeData                = 2
	watchTypeAny                 = 3
	watchTypePersistent          = 4
	watchTypePersistentRecursive = 5
)

// kindsOf translates the type of a watch.
func kindsOf(typ int32) []zktree.WatchKind {
	switch typ {
	case watchTypeChildren:
		return []zktree.WatchKind{zktree.WatchChildren}
	case watchTypeData:
		return []zktree.WatchKind{zktree.WatchData}
	case watchTypeAny:
		return []zktree.WatchKind{zktree.WatchData, zktree.WatchChildren, zktree.WatchPersistent, zktree.WatchRecursive}
	case watchTypePersistent:
		return []zktree.WatchKind{zktree.WatchPersistent}
	case watchTypePersistentRecursive:
		return []zktree.WatchKind{zktree.WatchRecursive}
	default:
		return nil
	}
}

// changeWatch adds, removes or looks for a watch of its own.
func (r *request) changeWatch() zktree.Code {
	path, arg := r.in.string(), r.in.int32()
	if r.in.bad {
		return zktree.MarshallingError
	}
	if !zktree.ValidPath(path) {
		return zktree.BadArguments
	}
	t := r.s.mu.tree
	if r.op == opAddWatch {
		return r.addWatch(path, arg)
	}
	kinds := kindsOf(arg)
	if kinds == nil {
		return zktree.BadArguments
	}
	found := false
	for _, k := range kinds {
		if r.op == opRemoveWatches {
			found = t.Unwatch(path, k, r.c.id) || found
		} else {
			found = t.HasWatch(path, k, r.c.id) || found
		}
	}
	if !found {
		return zktree.NoWatcher
	}
	return zktree.OK
}

// addWatch sets a persistent watch. ZooKeeper: AddWatchMode.
func (r *request) addWatch(path string, mode int32) zktree.Code {
	const persistent, recursive = 0, 1
	switch mode {
	case persistent:
		r.s.mu.tree.Watch(path, zktree.WatchPersistent, r.c.id)
	case recursive:
		r.s.mu.tree.Watch(path, zktree.WatchRecursive, r.c.id)
	default:
		return zktree.BadArguments
	}
	// The body is an error response.
	r.out.int32(int32(zktree.OK))
	return zktree.OK
}
