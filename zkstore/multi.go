package zkstore

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// Multi runs operations, all or none. When one fails err is its error, and results tell for each operation whether it
// is the one that failed or was rolled back.
func (s *Session) Multi(ctx context.Context, ops ...Op) ([]OpResult, error) {
	reqs, size := s.requests(ops)
	var back []OpResult
	raw, err := retry(ctx, s, size, func(c *zk.Conn) ([]zk.MultiResponse, error) {
		return c.Multi(reqs...)
	}, func(ctx context.Context, _ error) ([]zk.MultiResponse, bool, error) {
		var done bool
		var err error
		back, done, err = s.wereDone(ctx, ops)
		return nil, done, err
	})
	switch {
	case err == nil && back != nil:
		return back, nil
	case err == nil:
		return s.results(ops, raw), nil
	case len(raw) != len(ops):
		return failAll(len(ops), err), wrap("multi", firstPath(ops), err)
	default:
		results, at := failed(raw)
		return results, wrap("multi", ops[at].path, results[at].Err)
	}
}

// requests builds what the library takes.
func (s *Session) requests(ops []Op) (reqs []any, size int) {
	reqs = make([]any, len(ops))
	for i, op := range ops {
		path := s.abs(op.path)
		size += len(path) + len(op.data) + overhead
		switch op.kind {
		case opCreate:
			reqs[i] = &zk.CreateRequest{Path: path, Data: op.data, Acl: openACL(), Flags: int32(op.mode)}
		case opSet:
			reqs[i] = &zk.SetDataRequest{Path: path, Data: op.data, Version: op.version}
		case opDelete:
			reqs[i] = &zk.DeleteRequest{Path: path, Version: op.version}
		case opCheck:
			reqs[i] = &zk.CheckVersionRequest{Path: path, Version: op.version}
		}
	}
	return reqs, size
}

// results converts the answers of a transaction that was done.
func (s *Session) results(ops []Op, raw []zk.MultiResponse) []OpResult {
	out := make([]OpResult, len(ops))
	for i := range out {
		if i >= len(raw) {
			break
		}
		path, _ := s.relative(raw[i].String)
		if raw[i].String == "" {
			path = ops[i].path
		}
		out[i] = OpResult{Path: path, Stat: statOf(raw[i].Stat)}
	}
	return out
}

// failed converts the answers of a transaction that was not done; at is the operation that failed, all others were
// rolled back.
func failed(raw []zk.MultiResponse) (out []OpResult, at int) {
	out = failAll(len(raw), ErrRolledBack)
	for i, r := range raw {
		if r.Error != nil {
			out[i].Err = translate(r.Error)
			return out, i
		}
	}
	return out, 0
}

func failAll(n int, err error) []OpResult {
	out := make([]OpResult, n)
	for i := range out {
		out[i].Err = err
	}
	return out
}

func firstPath(ops []Op) string {
	if len(ops) == 0 {
		return "/"
	}
	return ops[0].path
}

// wereDone reads back whether a transaction was done whose answer was lost. Since it is all or nothing, one operation
// that was not done decides. Transactions of checks alone are never asked about.
func (s *Session) wereDone(ctx context.Context, ops []Op) ([]OpResult, bool, error) {
	out := make([]OpResult, len(ops))
	changes := 0
	for i, op := range ops {
		out[i].Path = op.path
		var ok bool
		var err error
		switch op.kind {
		case opCheck:
			continue
		case opCreate:
			// A set of the same path in the same transaction decides for both.
			if setAfter(ops[i+1:], op.path) {
				continue
			}
			ok, err = s.isCreated(ctx, op)
		case opSet:
			out[i].Stat, ok, err = s.isSetOrOwned(ctx, op)
		case opDelete:
			_, _, err = s.Get(ctx, op.path)
			ok = errors.Is(err, ErrNoNode)
			if ok {
				err = nil
			}
		}
		if err != nil || !ok {
			return nil, false, err
		}
		changes++
	}
	return out, changes > 0, nil
}

// isSetOrOwned is isSet; an ephemeral node must be this session's own.
func (s *Session) isSetOrOwned(ctx context.Context, op Op) (Stat, bool, error) {
	st, ok, err := s.isSet(ctx, op)
	return st, ok && (st.EphemeralOwner == 0 || st.EphemeralOwner == s.ID()), err
}

func setAfter(ops []Op, path string) bool {
	for _, op := range ops {
		if op.kind == opSet && op.path == path {
			return true
		}
	}
	return false
}
