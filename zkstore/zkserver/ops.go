package zkserver

import (
	"fmt"

	"jackdaw/zkstore/zktree"
)

// do runs the request and writes the body of the answer. It is called with Server.mu held.
func (r *request) do() zktree.Code {
	switch r.op {
	case opPing:
		return zktree.OK
	case opCreate, opCreate2, opDelete, opSetData, opSetACL, opCheck:
		return r.write()
	case opMulti:
		return r.multi()
	case opExists, opGetData, opGetChildren, opGetChildren2:
		return r.readWatched()
	case opMultiRead:
		return r.multiRead()
	case opGetACL, opSync, opGetEphemerals, opCountChildren, opWhoAmI:
		return r.readPlain()
	case opSetWatches, opSetWatches2:
		return r.setWatches()
	case opAddWatch, opRemoveWatches, opCheckWatches:
		return r.changeWatch()
	case opAuth:
		return r.auth()
	case opCloseSession:
		r.last = true
		r.s.applyLocked(&zktree.Txn{Session: r.c.session, Kind: zktree.KindCloseSession})
		delete(r.s.mu.bySession, r.c.session)
		return zktree.OK
	default:
		// Containers, TTL nodes, reconfig, SASL.
		r.s.lg.Debug("zookeeper request of a kind that is not served", "op", int32(r.op))
		return zktree.Unimplemented
	}
}

// decodeOp reads the body of one changing operation.
func decodeOp(op opcode, d *decoder) (zktree.Op, bool) {
	o := zktree.Op{Path: d.string()}
	switch op {
	case opCreate, opCreate2:
		o.Type, o.Data, o.ACL, o.Mode = zktree.OpCreate, d.bytes(), d.acl(), zktree.Mode(d.int32())
	case opDelete:
		o.Type, o.Version = zktree.OpDelete, d.int32()
	case opSetData:
		o.Type, o.Data, o.Version = zktree.OpSetData, d.bytes(), d.int32()
	case opSetACL:
		o.Type, o.ACL, o.Version = zktree.OpSetACL, d.acl(), d.int32()
	case opCheck:
		o.Type, o.Version = zktree.OpCheck, d.int32()
	default:
		return o, false
	}
	return o, !d.bad
}

// encodeResult writes the result of one changing operation.
func encodeResult(e *encoder, op opcode, res zktree.Result) {
	switch op {
	case opCreate:
		e.string(res.Path)
	case opCreate2:
		e.string(res.Path)
		e.stat(res.Stat)
	case opSetData, opSetACL:
		e.stat(res.Stat)
	default:
	}
}

// write runs a transaction of one operation.
func (r *request) write() zktree.Code {
	op, ok := decodeOp(r.op, &r.in)
	if !ok {
		return zktree.MarshallingError
	}
	out := r.s.applyLocked(&zktree.Txn{Session: r.c.session, Kind: zktree.KindOps, Ops: []zktree.Op{op}})
	if out.Code == zktree.OK {
		encodeResult(r.out, r.op, out.Results[0])
		if r.op == opCheck {
			r.out.stat(out.Results[0].Stat)
		}
	}
	return out.Code
}

// multiHeader is what stands before each operation and result. ZooKeeper: MultiHeader.
func multiHeader(e *encoder, op opcode, done bool, code zktree.Code) {
	e.int32(int32(op))
	e.bool(done)
	e.int32(int32(code))
}

// nextOp reads the header of the next operation of a multi.
func nextOp(d *decoder) (op opcode, done bool) {
	op, done = opcode(d.int32()), d.bool()
	d.int32()
	return op, done || d.bad
}

// multi runs several operations, all or none. Its errors are in the body.
func (r *request) multi() zktree.Code {
	tx := zktree.Txn{Session: r.c.session, Kind: zktree.KindOps}
	var kinds []opcode
	for {
		kind, done := nextOp(&r.in)
		if done {
			break
		}
		if kind == opSetACL {
			return zktree.Unimplemented
		}
		op, ok := decodeOp(kind, &r.in)
		if !ok && !r.in.bad {
			return zktree.Unimplemented
		}
		kinds = append(kinds, kind)
		tx.Ops = append(tx.Ops, op)
	}
	if r.in.bad {
		return zktree.MarshallingError
	}
	out := r.s.applyLocked(&tx)
	for i, res := range out.Results {
		if out.Code != zktree.OK {
			multiHeader(r.out, opError, false, res.Code)
			r.out.int32(int32(res.Code))
			continue
		}
		multiHeader(r.out, kinds[i], false, zktree.OK)
		encodeResult(r.out, kinds[i], res)
	}
	multiHeader(r.out, opError, true, -1)
	return zktree.OK
}

// multiRead runs several reads, each with its own result.
func (r *request) multiRead() zktree.Code {
	for {
		kind, done := nextOp(&r.in)
		if done {
			break
		}
		path := r.in.string()
		r.in.bool() // a watch, which ZooKeeper ignores here
		if kind != opGetData && kind != opGetChildren {
			return zktree.Unimplemented
		}
		r.readOne(kind, path)
	}
	if r.in.bad {
		return zktree.MarshallingError
	}
	multiHeader(r.out, opError, true, -1)
	return zktree.OK
}

// readOne writes one result of a multiRead.
func (r *request) readOne(kind opcode, path string) {
	sub := &encoder{}
	code := r.read(kind, path, sub)
	if code != zktree.OK {
		multiHeader(r.out, opError, false, code)
		r.out.int32(int32(code))
		return
	}
	multiHeader(r.out, kind, false, zktree.OK)
	r.out.b = append(r.out.b, sub.b...)
}

// read writes what a read of the tree returns.
func (r *request) read(kind opcode, path string, e *encoder) zktree.Code {
	t := r.s.mu.tree
	switch kind {
	case opExists:
		st, code := t.Exists(path)
		e.stat(st)
		return code
	case opGetData:
		data, st, code := t.Data(path)
		e.bytes(data)
		e.stat(st)
		return code
	default:
		kids, st, code := t.Children(path)
		e.strings(kids)
		if kind == opGetChildren2 {
			e.stat(st)
		}
		return code
	}
}

// readWatched runs the reads that may leave a watch. Only exists leaves one on a node that is not there.
func (r *request) readWatched() zktree.Code {
	path, watch := r.in.string(), r.in.bool()
	if r.in.bad {
		return zktree.MarshallingError
	}
	code := r.read(r.op, path, r.out)
	if !watch {
		return code
	}
	kind := zktree.WatchData
	if r.op == opGetChildren || r.op == opGetChildren2 {
		kind = zktree.WatchChildren
	}
	if code == zktree.OK || code == zktree.NoNode && r.op == opExists {
		r.s.mu.tree.Watch(path, kind, r.c.id)
	}
	return code
}

// readPlain runs the reads without a watch.
func (r *request) readPlain() zktree.Code {
	t := r.s.mu.tree
	if r.op == opWhoAmI {
		r.out.int32(1)
		r.out.string("ip")
		r.out.string(r.c.addr.String())
		return zktree.OK
	}
	path := r.in.string()
	if r.in.bad {
		return zktree.MarshallingError
	}
	switch r.op {
	case opGetACL:
		acl, st, code := t.ACL(path)
		r.out.acl(acl)
		r.out.stat(st)
		return code
	case opSync:
		// There is nothing to catch up with: this is the only server.
		r.out.string(path)
		return zktree.OK
	case opGetEphemerals:
		r.out.strings(t.Ephemerals(r.c.session, path))
		return zktree.OK
	default:
		n, code := t.Descendants(path)
		r.out.int32(int32(n))
		return code
	}
}

// auth takes credentials. All nodes are open to anyone, so that they change nothing; only schemes that a ZooKeeper has
// without further set-up are taken.
func (r *request) auth() zktree.Code {
	r.in.int32()
	scheme := r.in.string()
	r.in.bytes()
	switch {
	case r.in.bad:
		return zktree.MarshallingError
	case scheme == "digest" || scheme == "ip" || scheme == "world":
		return zktree.OK
	default:
		r.last = true
		r.s.lg.Info("zookeeper client refused", "addr", r.c.addr, "scheme", fmt.Sprintf("%.40q", scheme))
		return zktree.AuthFailed
	}
}
