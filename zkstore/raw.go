package zkstore

import (
	"bytes"
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// overhead is more than a request of one path has beside path and data.
const overhead = 128

// dataStat is what a read of a node returns.
type dataStat struct {
	data []byte
	stat Stat
}

// kidsStat is what a read of children returns.
type kidsStat struct {
	names []string
	stat  Stat
}

// existsStat is what a look at a node returns.
type existsStat struct {
	exists bool
	stat   Stat
}

// Get reads a node. Null data is nil.
func (s *Session) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	abs := s.abs(path)
	r, err := retry(ctx, s, 0, func(c *zk.Conn) (dataStat, error) {
		data, st, err := c.Get(abs)
		return dataStat{data, statOf(st)}, err
	}, nil)
	return r.data, r.stat, wrap("get", path, err)
}

// GetW reads a node and leaves a watch on its data and on its end. There is no watch when there is no node.
func (s *Session) GetW(ctx context.Context, path string) ([]byte, Stat, <-chan Event, error) {
	abs := s.abs(path)
	w := s.watches.add(path, watchData)
	r, err := retry(ctx, s, 0, func(c *zk.Conn) (dataStat, error) {
		data, st, _, err := c.GetW(abs)
		return dataStat{data, statOf(st)}, err
	}, nil)
	if err != nil {
		s.watches.remove(w)
		return nil, Stat{}, nil, wrap("get", path, err)
	}
	return r.data, r.stat, w.ch, nil
}

// Exists looks whether there is a node.
func (s *Session) Exists(ctx context.Context, path string) (bool, Stat, error) {
	abs := s.abs(path)
	r, err := retry(ctx, s, 0, func(c *zk.Conn) (existsStat, error) {
		ok, st, err := c.Exists(abs)
		return existsStat{ok, statOf(st)}, err
	}, nil)
	return r.exists, r.stat, wrap("exists", path, err)
}

// ExistsW looks whether there is a node, and leaves a watch on its creation, its data and its end.
func (s *Session) ExistsW(ctx context.Context, path string) (bool, Stat, <-chan Event, error) {
	abs := s.abs(path)
	w := s.watches.add(path, watchData)
	r, err := retry(ctx, s, 0, func(c *zk.Conn) (existsStat, error) {
		ok, st, _, err := c.ExistsW(abs)
		return existsStat{ok, statOf(st)}, err
	}, nil)
	if err != nil {
		s.watches.remove(w)
		return false, Stat{}, nil, wrap("exists", path, err)
	}
	return r.exists, r.stat, w.ch, nil
}

// Children lists the names of the children of a node, in no order.
func (s *Session) Children(ctx context.Context, path string) ([]string, Stat, error) {
	abs := s.abs(path)
	r, err := retry(ctx, s, 0, func(c *zk.Conn) (kidsStat, error) {
		names, st, err := c.Children(abs)
		return kidsStat{names, statOf(st)}, err
	}, nil)
	return r.names, r.stat, wrap("children", path, err)
}

// ChildrenW lists the children of a node and leaves a watch on their list and on the node's end.
func (s *Session) ChildrenW(ctx context.Context, path string) ([]string, Stat, <-chan Event, error) {
	abs := s.abs(path)
	w := s.watches.add(path, watchChildren)
	r, err := retry(ctx, s, 0, func(c *zk.Conn) (kidsStat, error) {
		names, st, _, err := c.ChildrenW(abs)
		return kidsStat{names, statOf(st)}, err
	}, nil)
	if err != nil {
		s.watches.remove(w)
		return nil, Stat{}, nil, wrap("children", path, err)
	}
	return r.names, r.stat, w.ch, nil
}

// Create makes a node and returns its path, which has a number at its end if the mode is sequential. A sequential node
// may be made twice when the connection is lost; its readers must bear that.
func (s *Session) Create(ctx context.Context, path string, data []byte, mode Mode) (string, error) {
	abs := s.abs(path)
	made, err := retry(ctx, s, len(abs)+len(data)+overhead, func(c *zk.Conn) (string, error) {
		return c.Create(abs, data, int32(mode), openACL())
	}, func(ctx context.Context, failed error) (string, bool, error) {
		if !errors.Is(failed, ErrNodeExists) {
			return "", false, nil
		}
		ok, err := s.isCreated(ctx, CreateOp(path, data, mode))
		return abs, ok, err
	})
	if err != nil {
		return "", wrap("create", path, err)
	}
	rel, _ := s.relative(made)
	return rel, nil
}

// createAbs makes a persistent node without data at a path outside of the chroot.
func (s *Session) createAbs(ctx context.Context, abs string) error {
	_, err := retry(ctx, s, 0, func(c *zk.Conn) (string, error) {
		return c.Create(abs, nil, int32(Persistent), openACL())
	}, nil)
	return err
}

// Set replaces the data of a node that is at version; AnyVersion for whichever.
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	abs := s.abs(path)
	st, err := retry(ctx, s, len(abs)+len(data)+overhead, func(c *zk.Conn) (Stat, error) {
		st, err := c.Set(abs, data, version)
		return statOf(st), err
	}, func(ctx context.Context, failed error) (Stat, bool, error) {
		if !errors.Is(failed, ErrBadVersion) {
			return Stat{}, false, nil
		}
		return s.isSet(ctx, SetOp(path, data, version))
	})
	return st, wrap("set", path, err)
}

// Delete removes a node that is at version and has no children; AnyVersion for whichever.
func (s *Session) Delete(ctx context.Context, path string, version int32) error {
	abs := s.abs(path)
	_, err := retry(ctx, s, 0, func(c *zk.Conn) (struct{}, error) {
		return struct{}{}, c.Delete(abs, version)
	}, func(_ context.Context, failed error) (struct{}, bool, error) {
		return struct{}{}, errors.Is(failed, ErrNoNode), nil
	})
	return wrap("delete", path, err)
}

// Sync waits until the server of this session has caught up with the leader of the ensemble, so that later reads show
// what others had written before.
func (s *Session) Sync(ctx context.Context, path string) error {
	abs := s.abs(path)
	_, err := retry(ctx, s, 0, func(c *zk.Conn) (string, error) { return c.Sync(abs) }, nil)
	return wrap("sync", path, err)
}

// isCreated reports whether the node of a create is there as the create would have made it.
func (s *Session) isCreated(ctx context.Context, op Op) (bool, error) {
	data, st, err := s.Get(ctx, op.path)
	if errors.Is(err, ErrNoNode) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var owner int64
	if op.mode&Ephemeral != 0 {
		owner = s.ID()
	}
	return st.EphemeralOwner == owner && bytes.Equal(data, op.data), nil
}

// isSet reports whether a node has the data and the version that a set would have given it.
func (s *Session) isSet(ctx context.Context, op Op) (Stat, bool, error) {
	data, st, err := s.Get(ctx, op.path)
	if errors.Is(err, ErrNoNode) {
		return Stat{}, false, nil
	}
	if err != nil {
		return Stat{}, false, err
	}
	ok := bytes.Equal(data, op.data) && (op.version == AnyVersion || st.Version == op.version+1)
	return st, ok, nil
}
