package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"jackdaw/coordinator"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// CommitRequest is an OffsetCommit or TxnOffsetCommit. The shard does not keep its slices.
type CommitRequest struct {
	MemberRequest
	// Producer is set for the offsets of a transaction; its sequence is not used.
	Producer *record.Producer
	// KnowsEpochs says that the generation may be the epoch of a member of a consumer group: OffsetCommit 9 on.
	KnowsEpochs bool
	Offsets     []CommitOffset
}

// CommitOffset is one offset to be committed.
type CommitOffset struct {
	TP          metadata.TopicPartition
	Offset      int64
	LeaderEpoch int32 // -1 when the client does not say
	Metadata    string
	// Timestamp is the time of the commit in ms: OffsetCommit 1 only, else -1 for now.
	Timestamp int64
	// Retention in ms is OffsetCommit 2 to 4, else -1 for offsets.retention.minutes.
	Retention int64
}

// Commit stores offsets. The reply is one error or nil for each, []error. Kafka: GroupCoordinator.handleCommitOffsets,
// handleTxnCommitOffsets.
func (s *Shard) Commit(now time.Time, t coordinator.Ticket, r CommitRequest) coordinator.Effects {
	s.now = now
	errs := make([]error, len(r.Offsets))
	g, err := s.committer(&r)
	if err != nil {
		for i := range errs {
			errs[i] = err
		}
		s.reply(t, errs)
		return s.effects()
	}
	w := &commitWrite{g: g, ticket: t, producer: r.Producer, errs: errs}
	var records []coordinator.Record
	for i := range r.Offsets {
		o := &r.Offsets[i]
		if MetadataTooLarge(o.Metadata, s.cfg.MaxMetadata) {
			errs[i] = kerr.OffsetMetadataTooLarge
			continue
		}
		c := committing{tp: o.TP, index: i, value: s.offsetOf(o)}
		c.tp.Topic = s.intern(c.tp.Topic)
		w.offsets = append(w.offsets, c)
		records = append(records, coordinator.Record{Key: offsetKey(g.id, c.tp), Value: c.value.encode()})
	}
	if len(records) == 0 {
		s.reply(t, errs)
		return s.effects()
	}
	p := plainProducer()
	if r.Producer != nil {
		p.ID, p.Epoch = r.Producer.ID, r.Producer.Epoch
	}
	s.write(coordinator.Write{Records: records, Producer: p, Transactional: r.Producer != nil, Tag: w})
	return s.effects()
}

// committer checks that the sender may commit and returns the group, made for one who only stores offsets. Such a one, with
// neither member nor generation, may commit as long as the group has no members; transactions of old clients, which name
// no member, always may. Kafka: validateOffsetCommit, doCommitOffsets.
func (s *Shard) committer(r *CommitRequest) (*group, error) {
	g := s.groups[r.Group]
	txn := r.Producer != nil
	if g != nil && g.consumer != nil {
		return g, g.consumer.checkCommit(r)
	}
	if g == nil {
		if r.Generation >= 0 && r.KnowsEpochs && s.cfg.Consumer.Enabled {
			return nil, kerr.GroupIDNotFound
		}
		if r.Generation >= 0 && !txn {
			return nil, kerr.IllegalGeneration
		}
		if r.Generation < 0 {
			return s.group(r.Group), nil
		}
		return nil, kerr.UnknownMemberID
	}
	if r.Generation < 0 && g.state == Empty {
		return g, nil
	}
	if r.Generation < 0 && r.MemberID == "" && r.InstanceID == nil {
		if txn {
			return g, nil
		}
		return nil, kerr.UnknownMemberID
	}
	_, m, err := s.current(r.Group, r.MemberID, r.InstanceID, r.Generation)
	if err != nil || txn {
		return g, err
	}
	s.heard(g, m)
	if g.state == CompletingRebalance {
		// It has joined, so it must take its assignment first: the offsets may be another's by then.
		return nil, kerr.RebalanceInProgress
	}
	return g, nil
}

// MetadataTooLarge applies offset.metadata.max.bytes, which Kafka compares with the string's length in UTF-16 units.
func MetadataTooLarge(m string, limit int) bool {
	if len(m) <= limit {
		return false
	}
	n := 0
	for _, r := range m {
		n++
		if r >= 0x10000 {
			n++
		}
	}
	return n > limit
}

func (s *Shard) offsetOf(o *CommitOffset) offset {
	v := offset{
		offset: o.Offset, leaderEpoch: o.LeaderEpoch, metadata: o.Metadata,
		committedMs: s.now.UnixMilli(), expireMs: noTimestamp,
	}
	if o.Retention >= 0 {
		v.expireMs = v.committedMs + o.Retention
	}
	if o.Timestamp >= 0 {
		v.committedMs = o.Timestamp
	}
	return v
}

// committing is one offset of a write; index is its place in the request.
type committing struct {
	tp    metadata.TopicPartition
	index int
	value offset
}

// commitWrite stores offsets, of a transaction if producer is not nil.
type commitWrite struct {
	g        *group
	ticket   coordinator.Ticket
	producer *record.Producer
	offsets  []committing
	errs     []error
}

// appended makes the offsets pending: those of a transaction until its marker, the others until they are committed.
func (w *commitWrite) appended(s *Shard, at int64) {
	for i := range w.offsets {
		o := &w.offsets[i]
		o.value.at = at + int64(i)
		if w.producer == nil {
			w.g.offsets.begin(o.tp)
			continue
		}
		w.g.offsets.addOpen(w.producer.ID, o.tp, o.value)
		s.noteOpen(w.producer.ID, w.g)
	}
}

func (w *commitWrite) rejected(s *Shard, err error) {
	err = offsetWriteError(err)
	for i := range w.offsets {
		w.errs[w.offsets[i].index] = err
	}
	s.reply(w.ticket, w.errs)
	w.ticket = coordinator.NoTicket
}

func (w *commitWrite) late(s *Shard, err error) { w.rejected(s, err) }

func (w *commitWrite) committed(s *Shard) {
	if w.producer == nil {
		for i := range w.offsets {
			o := &w.offsets[i]
			w.g.offsets.set(o.tp, o.value)
			w.g.offsets.end(o.tp)
		}
	}
	s.reply(w.ticket, w.errs)
}

func (s *Shard) noteOpen(producerID int64, g *group) {
	if s.open[producerID] == nil {
		s.open[producerID] = map[*group]bool{}
	}
	s.open[producerID][g] = true
}

// EndTxn ends the transaction of a producer in this partition; marker is the offset of its marker, which is committed.
// The reply is a Result. Kafka: GroupMetadataManager.handleTxnCompletion.
func (s *Shard) EndTxn(now time.Time, t coordinator.Ticket, producerID, marker int64, commit bool) coordinator.Effects {
	s.now = now
	s.endTxn(producerID, marker, commit)
	s.reply(t, Result{})
	return s.effects()
}

func (s *Shard) endTxn(producerID, marker int64, commit bool) {
	groups := s.open[producerID]
	for g := range groups {
		if g.offsets.endTxn(producerID, marker, commit) {
			delete(groups, g)
		}
	}
	if len(groups) == 0 {
		delete(s.open, producerID)
	}
}
