package sim

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// produceTimeout is request.timeout.ms of the producers, and appendTimeout what they grant the broker.
const (
	produceTimeout = 500 * time.Millisecond
	appendTimeout  = 400 * time.Millisecond
)

// producer sends records to one partition, one batch after the other. With acks=all it is idempotent and repeats a batch
// until it is acknowledged; with acks=1 it does not care.
type producer struct {
	w    *world
	at   name
	acks int16
	// id is an index into admin.producers. An idempotent producer that has to begin anew gets another one.
	id   uint32
	next uint32
	open []byte // the batch under way, nil for none
	size uint32 // records in open
	// acked is when the last batch was acknowledged.
	acked time.Duration
	gone  bool
	// seen is the highest leader epoch heard of: older metadata is not believed any more (KIP-320).
	seen metadata.LeaderEpoch
}

func (a *admin) producer(at name, acks int16) {
	p := &producer{w: a.w, at: at, acks: acks, id: uint32(len(a.producers))}
	a.producers = append(a.producers, p)
	a.w.after(nil, a.w.delay(), p.produce)
}

// ordered reports whether the records of a producer must be committed to a partition each once and in order. A request names no
// topic id, so that a late one may be appended to another topic of the same name.
func (a *admin) ordered(id uint32, to name) bool {
	return a.producers[id].acks == -1 && a.producers[id].at == to
}

// produce begins the next batch.
func (p *producer) produce() {
	if !p.w.admin.exists(p.at) {
		p.gone = true
		return
	}
	if p.w.admin.quiet {
		return
	}
	p.size = uint32(1 + p.w.rng.IntN(3))
	var o record.BuilderOptions
	if p.acks == -1 {
		o.Producer = &record.Producer{ID: int64(p.id), Epoch: 0, BaseSequence: int32(p.next)}
	}
	b := record.NewBuilder(record.None, o)
	for i := range p.size {
		value := binary.BigEndian.AppendUint64(nil, uint64(p.id)<<32|uint64(p.next+i))
		b.Append(epoch.Add(p.w.now).UnixMilli(), nil, value, nil)
	}
	p.open = b.Build()
	p.send()
}

// leader asks some broker who leads.
func (p *producer) leader() metadata.BrokerID {
	h := p.w.hosts[p.w.rng.IntN(len(p.w.hosts))]
	if h.proc == nil {
		return metadata.NoBroker
	}
	topic, ok := h.proc.image.Topic(p.at.tp.Topic)
	if !ok || topic.ID != p.at.id {
		return metadata.NoBroker
	}
	s, ok := topic.Partitions[p.at.tp.Partition]
	if !ok || s.LeaderEpoch < p.seen {
		return metadata.NoBroker
	}
	p.seen = s.LeaderEpoch
	return s.Leader
}

func (p *producer) send() {
	if !p.w.admin.exists(p.at) {
		p.gone = true
		return
	}
	to := p.leader()
	if to < 1 {
		p.w.after(nil, p.w.between(5*time.Millisecond, 60*time.Millisecond), p.send)
		return
	}
	batch := slices.Clone(p.open) // it is patched in place
	p.w.call(nil, to, produceTimeout, func(q *process, answer func(any)) {
		q.produce(p.at.tp, p.acks, batch, appendTimeout, func(_ int64, err error) {
			switch t := q.parts[p.at.tp]; {
			case err == nil:
				answer(true)
			case errors.Is(err, kerr.OutOfOrderSequenceNumber) && t != nil && t.epoch < p.w.oracle.of(p.at).newest:
				answer(errOvertaken)
			default:
				answer(err)
			}
		})
	}, p.answered)
}

// answered takes the answer, or the lack of one.
func (p *producer) answered(v any, err error) {
	if refusal, ok := v.(error); ok {
		err = refusal
	}
	switch {
	case err == nil:
		p.acked = p.w.now
		p.done()
	case errors.Is(err, errOvertaken):
		p.replace()
	case errors.Is(err, kerr.OutOfOrderSequenceNumber) || errors.Is(err, kerr.InvalidProducerEpoch):
		p.refused(err)
	case p.acks == 1:
		p.done() // lost or not, the next record follows
	default:
		p.w.after(nil, p.w.between(time.Millisecond, 60*time.Millisecond), p.send)
	}
}

func (p *producer) done() {
	p.next += p.size
	p.open = nil
	p.w.after(nil, p.w.between(time.Millisecond, 150*time.Millisecond), p.produce)
}

// errOvertaken is the answer of a leader that has not heard of a later one, which has acknowledged more: the producer, whose
// metadata were old, had met the later one by chance.
var errOvertaken = errors.New("sequence number out of order at a former leader")

// refused: the leader misses a batch that was acknowledged. That happens only after a loss.
func (p *producer) refused(err error) {
	if h := p.w.oracle.of(p.at); h.unclean == metadata.NoEpoch && !h.decided && !h.tainted {
		p.w.violate("producer %d of %s: %v without an unclean election", p.id, p.at.tp, err)
	}
	p.replace()
}

// replace lets a new producer go on.
func (p *producer) replace() {
	p.gone = true
	p.w.admin.producer(p.at, p.acks)
}
