package zkstore

import (
	"context"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// pipeline calls f for 0 to n-1, MaxInFlight at a time, and waits for all. It stops early, with the error, when ctx or
// the session ends. f must not be long after either.
func (s *Session) pipeline(ctx context.Context, n int, f func(i int)) error {
	workers := min(n, s.c.cfg.MaxInFlight)
	var next atomic.Int64
	done := make(chan struct{}, workers)
	for range workers {
		s.calls.Go("zk-pipeline", func(context.Context) error {
			for ctx.Err() == nil && s.ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					break
				}
				f(i)
			}
			done <- struct{}{}
			return nil
		})
	}
	for range workers {
		select {
		case <-done:
		case <-s.calls.Context().Done():
			return ErrSessionExpired
		}
	}
	switch {
	case s.ctx.Err() != nil:
		return ErrSessionExpired
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return nil
	}
}

// GetMany reads many nodes at a time; results[i] belongs to paths[i]. err is only the end of ctx or session;
// there are no results then.
func (s *Session) GetMany(ctx context.Context, paths []string) ([]GetResult, error) {
	out := make([]GetResult, len(paths))
	err := s.pipeline(ctx, len(paths), func(i int) {
		out[i].Data, out[i].Stat, out[i].Err = s.Get(ctx, paths[i])
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// GetManyW is GetMany that leaves a watch on the data of each node that is there. Their events come to OnEvent only.
func (s *Session) GetManyW(ctx context.Context, paths []string) ([]GetResult, error) {
	out := make([]GetResult, len(paths))
	err := s.pipeline(ctx, len(paths), func(i int) {
		abs := s.abs(paths[i])
		r, err := retry(ctx, s, 0, func(c *zk.Conn) (dataStat, error) {
			data, st, _, err := c.GetW(abs)
			return dataStat{data, statOf(st)}, err
		}, nil)
		out[i] = GetResult{Data: r.data, Stat: r.stat, Err: wrap("get", paths[i], err)}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// GroupResult is the result of one group of DoMany.
type GroupResult struct {
	Ops []OpResult
	// Err is the error of the operation that failed.
	Err error
}

// DoMany runs each group as one Multi, many at a time and in no order; results[i] belongs to groups[i]. err is only the
// end of ctx or session.
func (s *Session) DoMany(ctx context.Context, groups [][]Op) ([]GroupResult, error) {
	out := make([]GroupResult, len(groups))
	err := s.pipeline(ctx, len(groups), func(i int) {
		out[i].Ops, out[i].Err = s.Multi(ctx, groups[i]...)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
