package log

import (
	"path/filepath"
	"sync"
	"time"
)

// removal is files or directories to be removed at some time.
type removal struct {
	at    time.Time
	paths []string
	dir   *logDir
}

// removals delays the removal of what was renamed to .deleted or -delete, so that readers that open by name, such as
// tools, can finish. It needs no order: there are few.
type removals struct {
	mu struct {
		sync.Mutex
		list []removal
	}
	// wake is told of every addition.
	wake chan struct{}
}

func newRemovals() *removals { return &removals{wake: make(chan struct{}, 1)} }

// add has paths removed at a time.
func (r *removals) add(at time.Time, paths []string, dir *logDir) {
	if len(paths) == 0 {
		return
	}
	r.mu.Lock()
	r.mu.list = append(r.mu.list, removal{at, paths, dir})
	r.mu.Unlock()
	signal(r.wake)
}

// moved tells that a directory has another name now. A removal that has begun may still miss its files; they are removed when
// the log is loaded the next time.
func (r *removals) moved(from, to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.mu.list {
		for i, p := range e.paths {
			if filepath.Dir(p) == from {
				e.paths[i] = filepath.Join(to, filepath.Base(p))
			}
		}
	}
}

// signal wakes a loop; one that was told already is not told twice.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// due takes out what is to be removed by now, and returns when the next is due; zero when there is none.
func (r *removals) due(now time.Time) (out []removal, next time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.mu.list[:0]
	for _, e := range r.mu.list {
		switch {
		case !e.at.After(now):
			out = append(out, e)
			continue
		case next.IsZero() || e.at.Before(next):
			next = e.at
		}
		kept = append(kept, e)
	}
	clear(r.mu.list[len(kept):])
	r.mu.list = kept
	return out, next
}

// flushQueue holds the logs that have rolled and want their old segments synced.
type flushQueue struct {
	mu struct {
		sync.Mutex
		logs map[*Log]struct{}
	}
	wake chan struct{}
}

func newFlushQueue() *flushQueue {
	q := &flushQueue{wake: make(chan struct{}, 1)}
	q.mu.logs = map[*Log]struct{}{}
	return q
}

// add has a log flushed soon.
func (q *flushQueue) add(l *Log) {
	q.mu.Lock()
	q.mu.logs[l] = struct{}{}
	q.mu.Unlock()
	signal(q.wake)
}

// take empties the queue.
func (q *flushQueue) take() []*Log {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]*Log, 0, len(q.mu.logs))
	for l := range q.mu.logs {
		out = append(out, l)
	}
	clear(q.mu.logs)
	return out
}
