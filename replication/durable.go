package replication

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/internal/run"
	"jackdaw/metadata"
)

// flushWait is an append that flush.messages wants to be on the disk before anybody is told.
type flushWait struct {
	p      *Partition
	v      *view
	result *AppendResult
}

// flushersRunning returns where flushes may run, nil when they have to be waited for. Who appends does not wait for the disk: the
// next request of its connection is appended meanwhile, and shares the fsync after this one.
func (m *ReplicaManager) flushersRunning() *run.Group {
	g := m.flushers.Load()
	if g == nil || g.Context().Err() != nil {
		return nil
	}
	return g
}

// appendDurably goes on with appends in a goroutine. req is a copy, so that others need no memory for theirs.
func (m *ReplicaManager) appendDurably(g *run.Group, req AppendRequest, list []flushWait, answers []answer) {
	g.Go("durable-append", func(context.Context) error {
		m.flush(list)
		for _, a := range answers {
			m.appended(&req, a)
		}
		return nil
	})
}

// flush makes appends durable, and only then counts them. An error is the answer for its partition.
func (m *ReplicaManager) flush(list []flushWait) {
	var w wakeups
	for _, f := range list {
		e, err := f.p.flushed(f.v, f.result)
		if err != nil {
			m.appendFailed(f.p, f.p.view.Load(), f.result.Info, err, f.result)
		}
		w.add(e)
	}
	m.wake(&w)
}

// flushed waits for the disk, and tells the core of an append if we lead in the same term still. A log that was replaced by its
// copy meanwhile was synced before.
func (p *Partition) flushed(v *view, r *AppendResult) (effects, error) {
	if err := v.log.FlushTo(r.Info.FlushTo); err != nil && !p.replaced(v, err) {
		return effects{}, p.wrap("flush", err)
	}
	p.tenure.RLock()
	defer p.tenure.RUnlock()
	now, err := p.check(metadata.NoEpoch, true)
	if err == nil && now.term != v.term {
		err = kerr.NotLeaderForPartition
	}
	if err != nil {
		return effects{}, p.wrap("append to", err)
	}
	return p.count(now, &r.Info), nil
}
