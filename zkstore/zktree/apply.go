package zktree

import (
	"fmt"
	"maps"
	"slices"
)

// Apply runs a transaction, all of it or nothing. It sets tx.Zxid when the tree was changed.
// Operations of a session that does not exist fail with SessionExpired.
// ZooKeeper: PrepRequestProcessor.pRequest, DataTree.processTxn.
func (t *Tree) Apply(tx *Txn) Outcome {
	tx.Zxid = t.zxid + 1
	var out Outcome
	switch tx.Kind {
	case KindOpenSession:
		out = t.openSession(tx)
	case KindCloseSession:
		out = t.closeSession(tx)
	default:
		out = t.applyOps(tx)
	}
	if !out.Changed {
		tx.Zxid = 0
		return out
	}
	t.zxid = tx.Zxid
	out.Notices = t.notify()
	return out
}

// Replay runs a transaction that Apply has run before and checks that it does the same.
func (t *Tree) Replay(tx Txn) error {
	want := tx.Zxid
	out := t.Apply(&tx)
	if !out.Changed || tx.Zxid != want {
		return fmt.Errorf("transaction 0x%x cannot be repeated on a tree at 0x%x: %w", want, t.zxid, out.Code)
	}
	return nil
}

// applyOps runs the operations, or takes all back when one fails. Checks alone change nothing.
func (t *Tree) applyOps(tx *Txn) Outcome {
	t.undo, t.fired = t.undo[:0], t.fired[:0]
	out := Outcome{Results: make([]Result, len(tx.Ops))}
	if _, ok := t.sessions[tx.Session]; !ok {
		return out.fail(0, SessionExpired)
	}
	for i := range tx.Ops {
		r := t.applyOp(tx, &tx.Ops[i])
		if r.Code != OK {
			for _, f := range slices.Backward(t.undo) {
				f()
			}
			t.fired = t.fired[:0]
			return out.fail(i, r.Code)
		}
		out.Results[i] = r
	}
	out.Changed = len(t.undo) > 0
	return out
}

// fail makes the outcome of a transaction whose i-th operation failed.
func (o Outcome) fail(i int, c Code) Outcome {
	o.Code = c
	for j := range o.Results {
		switch {
		case j < i:
			o.Results[j] = Result{Code: OK}
		case j == i:
			o.Results[j] = Result{Code: c}
		default:
			o.Results[j] = Result{Code: RuntimeInconsistency}
		}
	}
	return o
}

// applyOp runs one operation.
func (t *Tree) applyOp(tx *Txn, op *Op) Result {
	switch op.Type {
	case OpCreate:
		return t.create(tx, op)
	case OpDelete:
		return t.deleteOp(tx, op)
	case OpSetData:
		return t.setData(tx, op)
	case OpSetACL:
		return t.setACL(op)
	case OpCheck:
		return t.check(op)
	default:
		return Result{Code: Unimplemented}
	}
}

// create adds a node. ZooKeeper: PrepRequestProcessor.pRequest2TxnCreate, DataTree.createNode.
func (t *Tree) create(tx *Txn, op *Op) Result {
	if !op.Mode.valid() {
		return Result{Code: Unimplemented}
	}
	base := op.Path
	if op.Mode.sequential() {
		base += "1" // only so that a path that ends in a slash is valid, as ZooKeeper checks it
	}
	if base == "/" || !ValidPath(base) {
		return Result{Code: BadArguments}
	}
	if !validACL(op.ACL) {
		return Result{Code: InvalidACL}
	}
	parentPath, _ := split(base)
	parent, ok := t.nodes[parentPath]
	if !ok {
		return Result{Code: NoNode}
	}
	if !parent.permits(PermCreate) {
		return Result{Code: NoAuth}
	}
	path := op.Path
	if op.Mode.sequential() {
		path = fmt.Sprintf("%s%010d", path, parent.stat.CVersion)
	}
	switch {
	case t.nodes[path] != nil:
		return Result{Code: NodeExists}
	case parent.stat.EphemeralOwner != 0:
		return Result{Code: NoChildrenForEphemerals}
	}
	n := t.insert(tx, op, path, parent)
	t.fired = append(t.fired, change{Created, path})
	return Result{Path: path, Stat: n.visible()}
}

// insert puts the node of a create, which has been checked, into the tree.
func (t *Tree) insert(tx *Txn, op *Op, path string, parent *node) *node {
	n := &node{data: op.Data, acl: op.ACL, stat: Stat{
		CZxid: tx.Zxid, MZxid: tx.Zxid, PZxid: tx.Zxid, CTimeMs: tx.TimeMs, MTimeMs: tx.TimeMs,
	}}
	if op.Mode.ephemeral() {
		n.stat.EphemeralOwner = tx.Session
	}
	before := parent.stat
	t.attach(path, n, parent)
	parent.stat.CVersion++
	parent.stat.PZxid = tx.Zxid
	t.undo = append(t.undo, func() {
		t.detach(path, n, parent)
		parent.stat = before
	})
	return n
}

// attach links a node.
func (t *Tree) attach(path string, n, parent *node) {
	_, name := split(path)
	t.nodes[path] = n
	if parent.children == nil {
		parent.children = map[string]struct{}{}
	}
	parent.children[name] = struct{}{}
	t.dataBytes += int64(len(path) + len(n.data))
	if owner := n.stat.EphemeralOwner; owner != 0 {
		if t.ephemerals[owner] == nil {
			t.ephemerals[owner] = map[string]struct{}{}
		}
		t.ephemerals[owner][path] = struct{}{}
	}
}

// detach unlinks a node.
func (t *Tree) detach(path string, n, parent *node) {
	_, name := split(path)
	delete(t.nodes, path)
	delete(parent.children, name)
	t.dataBytes -= int64(len(path) + len(n.data))
	if owner := n.stat.EphemeralOwner; owner != 0 {
		delete(t.ephemerals[owner], path)
		if len(t.ephemerals[owner]) == 0 {
			delete(t.ephemerals, owner)
		}
	}
}

// deleteOp removes a node without children. ZooKeeper: PrepRequestProcessor, OpCode.delete.
func (t *Tree) deleteOp(tx *Txn, op *Op) Result {
	if op.Path == "/" || !ValidPath(op.Path) || op.Path == "/zookeeper" {
		return Result{Code: BadArguments}
	}
	parentPath, _ := split(op.Path)
	n, ok := t.nodes[op.Path]
	if !ok {
		return Result{Code: NoNode}
	}
	switch {
	case !t.nodes[parentPath].permits(PermDelete):
		return Result{Code: NoAuth}
	case op.Version != AnyVersion && op.Version != n.stat.Version:
		return Result{Code: BadVersion}
	case len(n.children) > 0:
		return Result{Code: NotEmpty}
	}
	t.remove(tx, op.Path)
	return Result{}
}

// remove takes a node out of the tree.
func (t *Tree) remove(tx *Txn, path string) {
	parentPath, _ := split(path)
	n, parent := t.nodes[path], t.nodes[parentPath]
	before := parent.stat
	t.detach(path, n, parent)
	parent.stat.PZxid = tx.Zxid
	t.undo = append(t.undo, func() {
		t.attach(path, n, parent)
		parent.stat = before
	})
	t.fired = append(t.fired, change{Deleted, path})
}

// setData replaces the data of a node.
func (t *Tree) setData(tx *Txn, op *Op) Result {
	n, c := t.readable(op.Path, PermWrite)
	if c != OK {
		return Result{Code: c}
	}
	if op.Version != AnyVersion && op.Version != n.stat.Version {
		return Result{Code: BadVersion}
	}
	data, stat := n.data, n.stat
	t.undo = append(t.undo, func() {
		t.dataBytes += int64(len(data) - len(n.data))
		n.data, n.stat = data, stat
	})
	t.dataBytes += int64(len(op.Data) - len(n.data))
	n.data = op.Data
	n.stat.Version++
	n.stat.MZxid, n.stat.MTimeMs = tx.Zxid, tx.TimeMs
	t.fired = append(t.fired, change{DataChanged, op.Path})
	return Result{Stat: n.visible()}
}

// setACL replaces the access list of a node; Version is compared with the ACL's own.
func (t *Tree) setACL(op *Op) Result {
	n, c := t.readable(op.Path, PermAdmin)
	switch {
	case c != OK:
		return Result{Code: c}
	case !validACL(op.ACL):
		return Result{Code: InvalidACL}
	case op.Version != AnyVersion && op.Version != n.stat.AVersion:
		return Result{Code: BadVersion}
	}
	acl, stat := n.acl, n.stat
	t.undo = append(t.undo, func() { n.acl, n.stat = acl, stat })
	n.acl = op.ACL
	n.stat.AVersion++
	return Result{Stat: n.visible()}
}

// check compares the version of a node.
func (t *Tree) check(op *Op) Result {
	n, c := t.readable(op.Path, PermRead)
	switch {
	case c != OK:
		return Result{Code: c}
	case op.Version != AnyVersion && op.Version != n.stat.Version:
		return Result{Code: BadVersion}
	}
	return Result{Stat: n.visible()}
}

// closeSession ends a session and deletes its ephemeral nodes, in the order of their paths.
func (t *Tree) closeSession(tx *Txn) Outcome {
	if _, ok := t.sessions[tx.Session]; !ok {
		return Outcome{Code: SessionExpired}
	}
	t.undo, t.fired = t.undo[:0], t.fired[:0]
	delete(t.sessions, tx.Session)
	for _, path := range slices.Sorted(maps.Keys(t.ephemerals[tx.Session])) {
		t.remove(tx, path)
	}
	return Outcome{Changed: true}
}
