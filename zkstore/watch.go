package zkstore

import (
	"context"
	"errors"
	"sync"
)

// watchClass tells which events of a path a watch gets.
type watchClass int

const (
	watchData watchClass = iota
	watchChildren
)

// watch is one channel given to a caller. It gets one event.
type watch struct {
	path  string
	class watchClass
	ch    chan Event
}

// watchTable gives events to those who wait for them. The library has such a table, too, but loses events when a
// connection cannot restore its watches; here a new connection is an event itself.
type watchTable struct {
	mu struct {
		sync.Mutex
		byPath map[string]map[*watch]struct{}
		// listeners get all events.
		listeners map[int]func(Event)
		last      int
		over      bool
	}
}

func (t *watchTable) init() {
	t.mu.byPath = map[string]map[*watch]struct{}{}
	t.mu.listeners = map[int]func(Event){}
}

// add registers a watch before the request that sets it at the server, so that no event comes too early.
func (t *watchTable) add(path string, class watchClass) *watch {
	w := &watch{path: path, class: class, ch: make(chan Event, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.over {
		w.ch <- Event{Type: SessionOver}
		return w
	}
	if t.mu.byPath[path] == nil {
		t.mu.byPath[path] = map[*watch]struct{}{}
	}
	t.mu.byPath[path][w] = struct{}{}
	return w
}

func (t *watchTable) remove(w *watch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeLocked(w)
}

func (t *watchTable) removeLocked(w *watch) {
	delete(t.mu.byPath[w.path], w)
	if len(t.mu.byPath[w.path]) == 0 {
		delete(t.mu.byPath, w.path)
	}
}

// wants reports whether an event is for watches of a class.
func (c watchClass) wants(typ EventType) bool {
	switch typ {
	case NodeDeleted:
		return true
	case NodeChildrenChanged:
		return c == watchChildren
	default:
		return c == watchData
	}
}

// fire gives an event of the server to the watches of its path, and to all listeners.
func (t *watchTable) fire(e Event) {
	t.mu.Lock()
	for w := range t.mu.byPath[e.Path] {
		if w.class.wants(e.Type) {
			w.ch <- e // has room: a watch gets one event
			t.removeLocked(w)
		}
	}
	t.mu.Unlock()
	t.tell(e)
}

// fireAll gives an event to everybody.
func (t *watchTable) fireAll(e Event) {
	t.mu.Lock()
	if t.mu.over {
		t.mu.Unlock()
		return
	}
	t.mu.over = e.Type == SessionOver
	for _, set := range t.mu.byPath {
		for w := range set {
			w.ch <- e
		}
	}
	clear(t.mu.byPath)
	t.mu.Unlock()
	t.tell(e)
}

// tell calls the listeners without the lock.
func (t *watchTable) tell(e Event) {
	t.mu.Lock()
	list := make([]func(Event), 0, len(t.mu.listeners))
	for _, f := range t.mu.listeners {
		list = append(list, f)
	}
	t.mu.Unlock()
	for _, f := range list {
		f(e)
	}
}

// OnEvent calls f for every watch event of the session, for each Reconnected and for SessionOver, in order and on the
// goroutine that reads from ZooKeeper: f must not block and must not use the session. remove ends it.
func (s *Session) OnEvent(f func(Event)) (remove func()) {
	t := &s.watches
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.last++
	n := t.mu.last
	t.mu.listeners[n] = f
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.mu.listeners, n)
	}
}

// WatchChildren calls f with the names of the children of a node, in no order, now and after changes, until ctx or the
// session ends, whose error it returns. Changes that come fast may be seen as one. A node that is not there has no
// children.
func (s *Session) WatchChildren(ctx context.Context, path string, f func(children []string)) error {
	for {
		kids, ch, err := s.childrenOrNone(ctx, path)
		if err != nil {
			return err
		}
		f(kids)
		if err := s.await(ctx, ch); err != nil {
			return err
		}
	}
}

// childrenOrNone reads children, or leaves a watch on the creation of a node that is not there.
func (s *Session) childrenOrNone(ctx context.Context, path string) ([]string, <-chan Event, error) {
	for {
		kids, _, ch, err := s.ChildrenW(ctx, path)
		if !errors.Is(err, ErrNoNode) {
			return kids, ch, err
		}
		exists, _, ch, err := s.ExistsW(ctx, path)
		if err != nil || !exists {
			return nil, ch, err
		}
	}
}

// WatchData calls f with the data of a node now and after changes, as WatchChildren does. exists is false while there is
// no node.
func (s *Session) WatchData(ctx context.Context, path string, f func(data []byte, st Stat, exists bool)) error {
	for {
		data, st, ch, exists, err := s.dataOrNone(ctx, path)
		if err != nil {
			return err
		}
		f(data, st, exists)
		if err := s.await(ctx, ch); err != nil {
			return err
		}
	}
}

// dataOrNone reads a node, or leaves a watch on the creation of one that is not there.
func (s *Session) dataOrNone(ctx context.Context, path string) (data []byte, st Stat, ch <-chan Event, exists bool, err error) {
	for {
		data, st, ch, err = s.GetW(ctx, path)
		if !errors.Is(err, ErrNoNode) {
			return data, st, ch, err == nil, err
		}
		exists, _, ch, err = s.ExistsW(ctx, path)
		if err != nil || !exists {
			return nil, Stat{}, ch, false, err
		}
	}
}

// await waits for the event of a watch. Whatever it is, the node must be read again.
func (s *Session) await(ctx context.Context, ch <-chan Event) error {
	select {
	case <-ch:
		if s.ctx.Err() != nil {
			return ErrSessionExpired
		}
		return nil
	case <-s.ctx.Done():
		return ErrSessionExpired
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
