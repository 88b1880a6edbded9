package replication

import (
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/log"
)

// AppendCall is one of several requests that are appended together.
type AppendCall struct {
	Entries []AppendEntry
	// Done is called exactly once, with one result for each entry.
	Done func([]AppendResult)
}

// maxSought bounds for how many entries others of the same partition are looked for, one by one.
const maxSought = 256

// joinedAppend is the work of one AppendJoined. It is pooled; the results are not, since they outlive it.
type joinedAppend struct {
	calls   []int // where the entries of each call begin, and the end
	entries []appending
	results []AppendResult
	wakeups wakeups

	// batch is what goes to one partition, members whose it is.
	batch   []log.LeaderAppend
	members []int
}

// appending is one entry on its way; p stays nil if it was refused before there was a partition.
type appending struct {
	en    *AppendEntry
	p     *Partition
	v     *view
	taken bool
}

var joinedAppends = sync.Pool{New: func() any { return new(joinedAppend) }}

// recycle forgets everything but the memory.
func (j *joinedAppend) recycle() {
	clear(j.entries)
	clear(j.batch[:cap(j.batch)])
	*j = joinedAppend{calls: j.calls[:0], entries: j.entries[:0], batch: j.batch[:0], members: j.members[:0]}
	joinedAppends.Put(j)
}

// layOut puts the entries of all calls into one row.
func (j *joinedAppend) layOut(calls []AppendCall) {
	for i := range calls {
		j.calls = append(j.calls, len(j.entries))
		for k := range calls[i].Entries {
			j.entries = append(j.entries, appending{en: &calls[i].Entries[k]})
		}
	}
	j.calls = append(j.calls, len(j.entries))
	j.results = make([]AppendResult, len(j.entries))
}

// resultsOf is the part of a call.
func (j *joinedAppend) resultsOf(call int) []AppendResult {
	return j.results[j.calls[call]:j.calls[call+1]:j.calls[call+1]]
}

// tell answers every call with what there is.
func (j *joinedAppend) tell(calls []AppendCall) {
	for i := range calls {
		calls[i].Done(j.resultsOf(i))
	}
}

// refuse fills all results with an error.
func (j *joinedAppend) refuse(err error) {
	for i := range j.entries {
		j.results[i] = refused(j.entries[i].en.TP, err)
	}
}

// append appends everything, partition by partition.
func (j *joinedAppend) append(m *ReplicaManager, req *AppendRequest) {
	for i := range j.entries {
		m.findPartition(req, &j.entries[i], &j.results[i])
	}
	for i := range j.entries {
		if a := &j.entries[i]; a.p != nil && !a.taken {
			j.gather(i)
			j.appendBatch(m, req, a.p)
		}
	}
}

// gather collects what is for the partition of entry i, in order.
func (j *joinedAppend) gather(i int) {
	j.batch, j.members = j.batch[:0], j.members[:0]
	last := i + 1
	if len(j.calls) > 2 && len(j.entries) <= maxSought {
		last = len(j.entries)
	}
	for k := i; k < last; k++ {
		if a := &j.entries[k]; a.p == j.entries[i].p {
			a.taken = true
			j.batch = append(j.batch, log.LeaderAppend{Records: a.en.Records})
			j.members = append(j.members, k)
		}
	}
}

// appendBatch appends what was gathered and fills in the results.
func (j *joinedAppend) appendBatch(m *ReplicaManager, req *AppendRequest, p *Partition) {
	v, e, err := p.append(req, j.batch)
	j.wakeups.add(e)
	for n, k := range j.members {
		a, out := &j.batch[n], &j.results[k]
		j.entries[k].v = v
		p.stats.produces.Inc()
		if err != nil {
			a.Err = err
		}
		if a.Err != nil {
			m.appendFailed(p, v, a.Info, a.Err, out)
			continue
		}
		out.Info = a.Info
		p.stats.appended(a.Info)
	}
}

// findPartition looks up where an entry goes, or fills in why it is refused.
func (m *ReplicaManager) findPartition(req *AppendRequest, a *appending, out *AppendResult) {
	*out = refused(a.en.TP, a.en.Err)
	switch {
	case a.en.Err != nil:
		out.CurrentLeader = m.imageHint(a.en.TP, a.en.Err)
		return
	case req.Origin == log.Client && isInternal(a.en.TP.Topic):
		out.Err = fmt.Errorf("append to internal topic %s: %w", a.en.TP.Topic, kerr.InvalidTopicException)
		return
	}
	if a.p, out.Err = m.Partition(a.en.TP); out.Err != nil {
		a.p = nil
		out.CurrentLeader = m.imageHint(a.en.TP, out.Err)
	}
}

// unflushed lists what flush.messages wants to be on the disk first.
func (j *joinedAppend) unflushed() []flushWait {
	var list []flushWait
	for i := range j.entries {
		if r := &j.results[i]; r.Err == nil && r.Info.FlushTo > 0 {
			list = append(list, flushWait{j.entries[i].p, j.entries[i].v, r})
		}
	}
	return list
}

// answer is what is left of a call once it is appended: what it waits for, and whom to tell.
type answer struct {
	results []AppendResult
	waits   []produceWait
	done    func([]AppendResult)
}

// answers lists what each call waits for; with acks other than -1 for nothing.
func (j *joinedAppend) answers(req *AppendRequest, calls []AppendCall) []answer {
	list := make([]answer, len(calls))
	var waits []produceWait
	if req.Acks == -1 {
		waits = make([]produceWait, 0, len(j.entries))
	}
	for i := range calls {
		from := len(waits)
		results := j.resultsOf(i)
		for k := range results {
			a := &j.entries[j.calls[i]+k]
			if r := &results[k]; r.Err == nil && req.Acks == -1 {
				waits = append(waits, produceWait{p: a.p, term: a.v.term, need: r.Info.LastOffset + 1, result: k})
			}
		}
		list[i] = answer{results: results, waits: waits[from:len(waits):len(waits)], done: calls[i].Done}
	}
	return list
}
