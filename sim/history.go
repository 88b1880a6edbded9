package sim

import (
	"encoding/binary"
	"maps"
	"slices"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
	"jackdaw/replication/isr"
)

// entry is a record as the oracle remembers it: who wrote it, its number among the records of that producer, and the
// leader epoch that it was appended in.
type entry struct {
	producer, number uint32
	epoch            int32
}

// name is one partition of one topic: a topic that is created again is another.
type name struct {
	tp metadata.TopicPartition
	id metadata.TopicID
}

// history is what the oracle knows of a partition.
type history struct {
	name
	// truth are the records that a high watermark has passed, by offset. It gets shorter only by what is counted as lost.
	truth []entry
	// last is the number of the last record of each producer in truth.
	last    map[uint32]uint32
	mirrors map[metadata.BrokerID]*mirror
	// leaders has who led in each epoch, newest is the highest epoch in which somebody did.
	leaders map[metadata.LeaderEpoch]metadata.BrokerID
	newest  metadata.LeaderEpoch
	// unclean is the epoch of the last leader that lacked records by right; what older leaders still do does not count.
	unclean metadata.LeaderEpoch
	// decided: a controller has chosen such a leader, which clients may hear before it does.
	decided bool
	// tainted: a leader lost records in a power cut and went on in the same epoch. Neither Kafka nor we can find that
	// out, so nothing is expected any more. Only without fsync.
	tainted bool
	dirty   bool
}

// mirror is a copy of what is in the log of one replica.
type mirror struct {
	records []entry
	// matched is how many of them are known to equal the truth.
	matched int
	// stale: an unclean election has left this replica with records that are not the truth any more; it has not heard.
	stale bool
	// damaged: a power cut took records, and the replica has not caught up since. removed: it was deleted, and the same.
	damaged, removed bool
	// held is what matched was before the replica was removed.
	held int
}

// oracle knows all histories.
type oracle struct {
	w         *world
	histories map[name]*history
	dirty     []*history
	ws        record.Workspace
}

func newOracle(w *world) *oracle { return &oracle{w: w, histories: map[name]*history{}} }

func (o *oracle) of(n name) *history {
	h := o.histories[n]
	if h == nil {
		h = &history{
			name: n, last: map[uint32]uint32{}, mirrors: map[metadata.BrokerID]*mirror{}, leaders: map[metadata.LeaderEpoch]metadata.BrokerID{},
			newest: metadata.NoEpoch, unclean: metadata.NoEpoch,
		}
		o.histories[n] = h
	}
	return h
}

func (h *history) mirror(id metadata.BrokerID) *mirror {
	m := h.mirrors[id]
	if m == nil {
		m = &mirror{}
		h.mirrors[id] = m
	}
	return m
}

// touch has the partition checked after this step.
func (o *oracle) touch(t *partition) { o.touchName(name{t.tp, t.id}) }

func (o *oracle) touchName(n name) {
	h := o.of(n)
	if !h.dirty {
		h.dirty = true
		o.dirty = append(o.dirty, h)
	}
}

// match extends and returns how much of a mirror equals the truth.
func (h *history) match(m *mirror) int {
	for m.matched < len(m.records) && m.matched < len(h.truth) && m.records[m.matched] == h.truth[m.matched] {
		m.matched++
	}
	return m.matched
}

// sync brings the mirror of a replica up to its log.
func (o *oracle) sync(t *partition) {
	o.touch(t)
	h := o.of(name{t.tp, t.id})
	m := h.mirror(t.p.id)
	end := t.log.EndOffset()
	if end < int64(len(m.records)) {
		m.records = m.records[:end]
		m.matched = min(m.matched, int(end))
		return
	}
	m.records = o.read(t.p, t.log, m.records)
}

// read appends what a log has from an offset on.
func (o *oracle) read(p *process, l *log.Log, have []entry) []entry {
	for end := l.EndOffset(); int64(len(have)) < end; {
		before := len(have)
		b, err := p.readLog(l, int64(before), end)
		if err != nil {
			o.w.violate("broker %d: %s cannot be read at %d: %v", p.id, l.TP(), before, err)
			return have
		}
		for len(b) > 0 {
			var batch record.Batch
			if batch, b, err = record.Next(b); err != nil {
				o.w.violate("broker %d: %s at %d: %v", p.id, l.TP(), before, err)
				return have
			}
			have = o.entries(batch, have)
		}
		if len(have) == before {
			o.w.violate("broker %d: %s has nothing at %d, but ends at %d", p.id, l.TP(), before, end)
			return have
		}
	}
	return have
}

// entries appends the records of a batch.
func (o *oracle) entries(b record.Batch, to []entry) []entry {
	if b.BaseOffset() != int64(len(to)) {
		o.w.violate("batch at %d where %d was expected", b.BaseOffset(), len(to))
	}
	for r, err := range b.Records(&o.ws) {
		if err != nil {
			o.w.violate("batch at %d: %v", b.BaseOffset(), err)
			break
		}
		v := binary.BigEndian.Uint64(r.Value)
		to = append(to, entry{uint32(v >> 32), uint32(v), b.LeaderEpoch()})
	}
	return to
}

// sent lists the records of a Produce request, which has one batch.
func (o *oracle) sent(records []byte) []entry { return o.entries(record.Batch(records), nil) }

// leads takes note of a leadership that began, and checks that nothing committed is missing.
func (o *oracle) leads(t *partition, s isr.State) {
	o.sync(t)
	h := o.of(name{t.tp, t.id})
	m := h.mirror(t.p.id)
	other, again := h.leaders[t.epoch]
	if again && other != t.p.id {
		o.w.violate("brokers %d and %d both lead %s in epoch %d", other, t.p.id, t.tp, t.epoch)
		return
	}
	h.leaders[t.epoch] = t.p.id
	o.w.result.Elections++
	if t.epoch < h.newest || t.epoch < h.unclean || h.tainted {
		return // it was told late
	}
	h.newest = t.epoch
	missing := len(h.truth) - h.match(m)
	switch {
	case m.damaged && again:
		o.w.result.DiskLoss++
		o.lose(h, m, t)
		h.tainted = true
	case s.Recovery == metadata.Recovering:
		o.w.result.Unclean++
		o.lose(h, m, t)
	case m.damaged:
		o.w.result.DiskLoss++
		o.lose(h, m, t) // a former leader may yet commit what only this one has lost
	case missing > 0:
		o.w.violate("the leader of %s in epoch %d, broker %d, lacks what was committed at %d to %d; it ends at %d", t.tp, t.epoch, t.p.id, m.matched,
			len(h.truth)-1, len(m.records))
	case m.stale && t.log.HighWatermark() > int64(len(h.truth)):
		o.regain(h, m, t)
	}
}

// regain is told of a leader whose mark is above the truth: one that had lost records by right led in between, this one did not
// hear of it, and they are back. What the others have copied meanwhile is not the truth any more, and the records may be lost
// again until they have copied these, too.
func (o *oracle) regain(h *history, m *mirror, t *partition) {
	t.p.note("committed records of %s are back from offset %d on", h.tp, len(h.truth))
	for _, other := range h.mirrors {
		other.stale, other.damaged = other != m, other != m
	}
	o.committed(t, t.log.HighWatermark())
}

// lose makes the log of a leader that lacks records by right the truth: what it shares with the former one, and what it takes
// for committed itself.
func (o *oracle) lose(h *history, m *mirror, t *partition) {
	lost := len(h.truth) - m.matched
	t.p.note("%d committed records of %s are lost from offset %d on", lost, h.tp, m.matched)
	o.w.result.Lost += lost
	h.truth = append(h.truth[:m.matched], m.records[m.matched:max(m.matched, int(t.log.HighWatermark()))]...)
	h.unclean = t.epoch
	clear(h.last)
	for _, other := range h.mirrors {
		other.stale = other != m
		other.matched = min(other.matched, m.matched) // what follows may be the truth now, or not any more
	}
	m.damaged = false
	h.match(m)
}

// electedUncleanly is told when a controller decides to lose records.
func (o *oracle) electedUncleanly(tp metadata.TopicPartition) {
	if !o.w.plan.unclean {
		o.w.violate("unclean election for %s, which nobody allowed", tp)
	}
	for n, h := range o.histories {
		h.decided = h.decided || n.tp == tp
	}
}

// committed takes note that a leader's high watermark rose to hw.
func (o *oracle) committed(t *partition, hw int64) {
	h := o.of(name{t.tp, t.id})
	if t.epoch < h.unclean || h.tainted {
		return
	}
	m := h.mirror(t.p.id)
	if n := min(int(hw), len(h.truth)); h.match(m) < n {
		o.w.violate("broker %d commits another record at %d of %s than was committed before", t.p.id, m.matched, t.tp)
		return
	}
	for i := len(h.truth); i < int(hw); i++ {
		o.commit(h, m.records[i])
	}
	h.match(m)
}

// commit adds one record to the truth. Those of an idempotent producer come each once and in order.
func (o *oracle) commit(h *history, e entry) {
	at := len(h.truth)
	if at > 0 && e.epoch < h.truth[at-1].epoch {
		o.w.violate("%s: a record of epoch %d at %d after one of epoch %d", h.tp, e.epoch, at, h.truth[at-1].epoch)
	}
	if o.w.admin.ordered(e.producer, h.name) {
		last, seen := h.last[e.producer]
		if seen && e.number != last+1 || !seen && h.unclean == metadata.NoEpoch && e.number != 0 {
			o.w.violate("%s: record %d of producer %d at %d comes after %d", h.tp, e.number, e.producer, at, last)
		}
	}
	h.last[e.producer] = e.number
	h.truth = append(h.truth, e)
	o.w.result.Committed++
}

// acknowledged checks an answer to acks=all: the records are committed, and enough replicas have them.
func (o *oracle) acknowledged(t *partition, first int64, batch []entry) {
	h := o.of(name{t.tp, t.id})
	o.w.result.Acked += len(batch)
	if h.tainted {
		return
	}
	if t.epoch < h.unclean {
		o.w.result.Lost += len(batch)
		t.p.note("acknowledged what an unclean election has lost: %s %d", t.tp, first)
		return
	}
	for i, e := range batch {
		at := int(first) + i
		if at >= len(h.truth) || h.truth[at].producer != e.producer || h.truth[at].number != e.number {
			o.w.violate("broker %d acknowledges record %d of producer %d at %d of %s, which is not committed there", t.p.id, e.number, e.producer, at, t.tp)
			return
		}
	}
	need := min(t.p.minISR(t.tp.Topic), len(t.core.Committed().Replicas))
	if n := h.holders(int(first) + len(batch)); n < need && (o.w.plan.fsync || !o.w.plan.power) {
		o.w.violate("broker %d acknowledges %s %d, which %d replicas have, with min.insync.replicas %d", t.p.id, t.tp, first, n, need)
	}
}

// holders counts the replicas that have all that was committed below an offset, or had it before they were removed.
func (h *history) holders(end int) int {
	n := 0
	for _, m := range h.mirrors {
		if h.match(m) >= end || m.held >= end {
			n++
		}
	}
	return n
}

// followed takes note of a successful fetch by a follower.
func (o *oracle) followed(t *partition) {
	h := o.of(name{t.tp, t.id})
	m := h.mirror(t.p.id)
	m.stale = t.epoch < h.unclean // a new replica may copy from a leader that has not heard yet
	if h.match(m) == len(h.truth) {
		m.damaged, m.removed, m.held = false, false, 0
	}
}

// deleted takes note of a replica that is removed.
func (o *oracle) deleted(id metadata.BrokerID, l *log.Log) {
	h := o.of(name{l.TP(), l.TopicID()})
	m := h.mirror(id)
	*m = mirror{removed: true, held: max(m.held, len(m.records))}
}

// opened compares what a broker finds on its disk with what was there before it died.
func (o *oracle) opened(p *process) {
	host := o.w.host(p.id)
	logs := p.logs.All()
	slices.SortFunc(logs, func(a, b *log.Log) int { return a.TP().Compare(b.TP()) })
	found := map[name]bool{}
	for _, l := range logs {
		if l.TopicID().IsZero() {
			continue
		}
		n := name{l.TP(), l.TopicID()}
		found[n] = true
		o.reopened(p, o.of(n), o.read(p, l, nil), host.power)
	}
	for _, n := range slices.SortedFunc(maps.Keys(o.histories), name.compare) {
		if m := o.histories[n].mirrors[p.id]; m != nil && !found[n] && len(m.records) > 0 {
			o.reopened(p, o.histories[n], nil, host.power)
		}
	}
}

func (n name) compare(o name) int {
	if c := n.tp.Compare(o.tp); c != 0 {
		return c
	}
	return slices.Compare(n.id[:], o.id[:])
}

// reopened takes over the content of a log after a restart.
func (o *oracle) reopened(p *process, h *history, now []entry, power bool) {
	m := h.mirror(p.id)
	before := h.match(m)
	same := slices.Equal(now, m.records)
	lost := len(now) < len(m.records) || !slices.Equal(now[:len(m.records)], m.records)
	m.records, m.matched = now, 0
	switch {
	case same:
		m.matched = before
	case !power:
		o.w.violate("broker %d has another log of %s after a restart: %d records", p.id, h.tp, len(now))
	case h.match(m) < before && o.w.plan.fsync && !m.stale:
		o.w.violate("broker %d lost records of %s in a power cut that were synced: %d of %d are left", p.id, h.tp, m.matched, before)
	default:
		p.note("has %d records of %s after the power cut", len(now), h.tp)
		m.damaged = m.damaged || lost && !o.w.plan.fsync
	}
}

// verifyLogs compares all logs with their mirrors.
func (p *process) verifyLogs() {
	for _, t := range p.sorted() {
		if t.log == nil {
			continue
		}
		m := p.w.oracle.of(name{t.tp, t.id}).mirror(p.id)
		if got := p.w.oracle.read(p, t.log, nil); !slices.Equal(got, m.records) {
			p.w.violate("the log of %s on broker %d is not what was written to it", t.tp, p.id)
		}
	}
}
