package zktree

import (
	"encoding/binary"
	"errors"
)

// ErrCorrupt tells that bytes are not what AppendTxn or AppendSnapshot wrote. The caller keeps checksums; this is the
// second line of defense.
var ErrCorrupt = errors.New("corrupt encoding of a tree")

// AppendTxn appends the transaction in the form of the journal. Integers are varints, strings and bytes have their
// length in front, plus one, so that 0 stands for null.
func AppendTxn(dst []byte, tx *Txn) []byte {
	dst = binary.AppendVarint(dst, tx.Zxid)
	dst = binary.AppendVarint(dst, tx.TimeMs)
	dst = binary.AppendVarint(dst, int64(tx.Session))
	dst = append(dst, byte(tx.Kind))
	switch tx.Kind {
	case KindOpenSession:
		dst = binary.AppendVarint(dst, int64(tx.TimeoutMs))
		dst = append(dst, tx.Password[:]...)
	case KindOps:
		dst = binary.AppendUvarint(dst, uint64(len(tx.Ops)))
		for i := range tx.Ops {
			dst = appendOp(dst, &tx.Ops[i])
		}
	case KindCloseSession:
	}
	return dst
}

func appendOp(dst []byte, op *Op) []byte {
	dst = append(dst, byte(op.Type))
	dst = appendBytes(dst, []byte(op.Path))
	dst = appendBytes(dst, op.Data)
	dst = binary.AppendVarint(dst, int64(op.Mode))
	dst = binary.AppendVarint(dst, int64(op.Version))
	return appendACL(dst, op.ACL)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(b))+1)
	return append(dst, b...)
}

func appendACL(dst []byte, list []ACL) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, a := range list {
		dst = binary.AppendVarint(dst, int64(a.Perms))
		dst = appendBytes(dst, []byte(a.Scheme))
		dst = appendBytes(dst, []byte(a.ID))
	}
	return dst
}

// DecodeTxn reads one transaction from the front of b and returns the rest. Nothing aliases b.
func DecodeTxn(b []byte) (Txn, []byte, error) {
	r := reader{b: b}
	tx := Txn{Zxid: r.varint(), TimeMs: r.varint(), Session: SessionID(r.varint()), Kind: Kind(r.byte())}
	switch tx.Kind {
	case KindOpenSession:
		tx.TimeoutMs = int32(r.varint())
		copy(tx.Password[:], r.take(PasswordLen))
	case KindOps:
		n := r.count()
		for range n {
			tx.Ops = append(tx.Ops, r.op())
		}
	case KindCloseSession:
	default:
		r.bad = true
	}
	if r.bad {
		return Txn{}, nil, ErrCorrupt
	}
	return tx, r.b, nil
}

// reader takes values from the front of b. After the first that is not there all are zero and bad is set.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.skip(n)
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.skip(n)
	return v
}

func (r *reader) skip(n int) {
	if n <= 0 {
		r.bad, r.b = true, nil
		return
	}
	r.b = r.b[n:]
}

// count reads the number of elements that follow; each has at least one byte.
func (r *reader) count() int {
	v := r.uvarint()
	if v > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return 0
	}
	return int(v)
}

func (r *reader) byte() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) bytes() []byte {
	v := r.uvarint()
	if v == 0 {
		return nil
	}
	if v-1 > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	out := make([]byte, v-1)
	copy(out, r.take(int(v-1)))
	return out
}

func (r *reader) acl() []ACL {
	n := r.count()
	list := make([]ACL, 0, n)
	for range n {
		list = append(list, ACL{Perms: Perm(r.varint()), Scheme: string(r.bytes()), ID: string(r.bytes())})
	}
	return list
}

func (r *reader) op() Op {
	return Op{
		Type: OpType(r.byte()), Path: string(r.bytes()), Data: r.bytes(),
		Mode: Mode(r.varint()), Version: int32(r.varint()), ACL: r.acl(),
	}
}
