package replication

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/replication/isr"
)

// prepare makes logs fit to be fetched for, once in each leader epoch. A log without any epoch was written in an old
// format: only what is committed is surely the leader's too. Partitions that cannot be prepared leave f.ready.
// Kafka: AbstractFetcherThread.truncateToHighWatermark.
func (f *fetcher) prepare() {
	kept := f.ready[:0]
	for _, s := range f.ready {
		if s.checked {
			kept = append(kept, s)
			continue
		}
		if err := s.p.dropUnknown(s.epoch); err != nil {
			f.localError(s, err)
			continue
		}
		s.checked = true
		kept = append(kept, s)
	}
	f.ready = kept
}

// apply takes the answer apart. What needs another request comes last, since it ends the life of the answer's memory.
func (f *fetcher) apply(ctx context.Context, resp *kmsg.FetchResponse) {
	var outside []*fetchState
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			rp := &t.Partitions[j]
			s := f.session.asked[sessionKey{id: t.TopicID, topic: t.Topic, partition: rp.Partition}]
			if s == nil || !f.current(s) {
				continue // stopped, or in a new epoch since the request was sent
			}
			if f.partition(s, rp) {
				outside = append(outside, s)
			}
		}
	}
	for _, s := range outside {
		if err := f.backIntoRange(ctx, s); err != nil {
			f.lg.Warn("offset out of range at the leader, not resolved yet", "partition", s.p.tp, "err", err)
			f.pause(s)
		}
	}
}

// partition applies the answer for one partition, and reports whether our log is out of the leader's range.
func (f *fetcher) partition(s *fetchState, rp *kmsg.FetchResponseTopicPartition) (outside bool) {
	err := kerr.ErrorForCode(rp.ErrorCode)
	switch {
	case err == nil && (rp.DivergingEpoch.Epoch >= 0 || rp.DivergingEpoch.EndOffset >= 0):
		f.diverged(s, isr.EpochEnd{Epoch: metadata.LeaderEpoch(rp.DivergingEpoch.Epoch), EndOffset: rp.DivergingEpoch.EndOffset})
	case err == nil:
		f.append(s, rp)
	case errors.Is(err, kerr.OffsetOutOfRange):
		return true
	default:
		f.leaderError(s, err)
	}
	return false
}

// leaderError deals with an error that the leader answered for a partition.
// Kafka: AbstractFetcherThread.processFetchRequest.
func (f *fetcher) leaderError(s *fetchState, err error) {
	if errors.Is(err, kerr.FencedLeaderEpoch) {
		f.lg.Info("leader is in a later epoch, waiting for the controller", "partition", s.p.tp, "leaderEpoch", s.epoch)
		f.giveUp(s)
		return
	}
	f.lg.Info("leader has an error for the partition, trying again", "partition", s.p.tp, "leaderEpoch", s.epoch, "err", err)
	f.pause(s)
}

// localError deals with an error of our own log.
func (f *fetcher) localError(s *fetchState, err error) {
	switch {
	case errors.Is(err, errOtherRole):
		f.pause(s) // the controller was faster: this state is about to be replaced
	case isStorage(err):
		f.fail(s, "log cannot be written", err)
	default:
		f.lg.Error("records from the leader cannot be appended, trying again", "partition", s.p.tp, "err", err)
		f.pause(s)
	}
}

// append takes over records, the high watermark and the log start.
func (f *fetcher) append(s *fetchState, rp *kmsg.FetchResponseTopicPartition) {
	info, moved, err := s.p.appendFetched(s.epoch, rp.RecordBatches, rp.HighWatermark, rp.LogStartOffset)
	if err != nil {
		f.localError(s, err)
		return
	}
	if n := len(rp.RecordBatches); n > 0 {
		f.m.metrics.replicationBytesIn.Add(float64(n))
		if t := f.m.cfg.FollowerThrottle; t != nil && t.Throttled(s.p.tp) {
			t.Record(n)
		}
	}
	f.mu.Lock()
	s.errors = 0
	s.lag = max(0, rp.HighWatermark-(info.LastOffset+1))
	f.mu.Unlock()
	if moved {
		f.m.fetch.Check(fetchKey{s.p.tp, byHighWatermark})
	}
}

// diverged cuts our log where the leader says that the histories part, or asks again with the epoch that is then last.
func (f *fetcher) diverged(s *fetchState, leader isr.EpochEnd) {
	cut, err := s.p.cutAt(s.epoch, leader)
	if err != nil {
		f.localError(s, err)
		return
	}
	if !cut {
		// Nothing has changed, so the leader would say the same again.
		f.lg.Warn("log parts from the leader's, but there is nothing to cut", "partition", s.p.tp,
			"epoch", leader.Epoch, "endOffset", leader.EndOffset)
		f.pause(s)
	}
}

// backIntoRange asks the leader for its ends and moves our log between them.
func (f *fetcher) backIntoRange(ctx context.Context, s *fetchState) error {
	l := s.p.Log()
	if l == nil {
		return nil
	}
	end, err := f.listOffset(ctx, s, LatestTimestamp)
	if err != nil {
		return err
	}
	start := int64(0)
	if end >= l.EndOffset() {
		if start, err = f.listOffset(ctx, s, EarliestTimestamp); err != nil {
			return err
		}
	}
	switch moved, err := s.p.resetTo(s.epoch, end, start); {
	case err != nil:
		f.localError(s, err)
	case !moved:
		f.pause(s) // the leader has moved meanwhile, or would say the same again
	}
	return nil
}

// listOffset asks the leader for one of its ends.
func (f *fetcher) listOffset(ctx context.Context, s *fetchState, timestamp int64) (int64, error) {
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.Timestamp = s.p.tp.Partition, int32(s.epoch), timestamp
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = s.p.tp.Topic
	t.Partitions = append(t.Partitions, p)
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version = f.m.cfg.ListOffsetsVersion
	req.ReplicaID = int32(f.m.cfg.BrokerID)
	req.Topics = append(req.Topics, t)
	resp, err := f.conn.Request(ctx, req)
	if err != nil {
		return 0, fmt.Errorf("list offsets: %w", err)
	}
	answer, ok := resp.(*kmsg.ListOffsetsResponse)
	if !ok || len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		return 0, fmt.Errorf("list offsets answered with %T for another partition", resp)
	}
	got := &answer.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return 0, fmt.Errorf("list offsets: %w", err)
	}
	return got.Offset, nil
}

// errOtherRole tells a fetcher that the partition is no longer followed in its epoch.
var errOtherRole = errors.New("replica no longer follows in this epoch")

// followingLocked returns the log if the partition still follows in the epoch.
func (p *Partition) followingLocked(epoch metadata.LeaderEpoch) (*view, error) {
	v := p.view.Load()
	if v.role != isr.Follower || v.epoch != epoch || v.log == nil {
		return nil, errOtherRole
	}
	return v, nil
}

// appendFetched appends what the leader sent and takes over its high watermark and log start. moved tells that the high
// watermark changed. Kafka: ReplicaFetcherThread.processPartitionData.
func (p *Partition) appendFetched(epoch metadata.LeaderEpoch, records []byte, leaderHW, leaderStart int64) (info log.AppendInfo, moved bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, err := p.followingLocked(epoch)
	if err != nil {
		return info, false, err
	}
	info.LastOffset = v.log.EndOffset() - 1
	if len(records) > 0 {
		if info, err = v.log.AppendAsFollower(records); err != nil {
			return info, false, p.wrap("append to", err)
		}
	}
	if hw := isr.FollowerHW(v.log.EndOffset(), leaderHW); hw != v.log.HighWatermark() {
		v.log.SetHighWatermark(hw)
		moved = true
	}
	if leaderStart > v.log.StartOffset() {
		if err := v.log.IncrementStartOffset(min(leaderStart, v.log.HighWatermark())); err != nil {
			return info, moved, p.wrap("raise log start of", err)
		}
	}
	return info, moved, nil
}

// dropUnknown cuts a log that has records but no epochs to its high watermark.
func (p *Partition) dropUnknown(epoch metadata.LeaderEpoch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, err := p.followingLocked(epoch)
	if err != nil {
		return err
	}
	if _, known := v.log.LatestEpoch(); known || v.log.EndOffset() <= v.log.HighWatermark() {
		return nil
	}
	return p.truncateLocked(v, v.log.HighWatermark(), "log has no leader epochs")
}

// cutAt cuts by leader epoch, and reports whether that changed anything.
func (p *Partition) cutAt(epoch metadata.LeaderEpoch, leader isr.EpochEnd) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, err := p.followingLocked(epoch)
	if err != nil {
		return false, err
	}
	local, known := v.log.EndOffsetForEpoch(leader.Epoch)
	end, last := v.log.EndOffset(), latest(v.log)
	tr := isr.Truncate(leader, isr.EpochEnd(local), known, end, v.log.HighWatermark())
	if err := p.truncateLocked(v, tr.Offset, "leader epochs part"); err != nil {
		return false, err
	}
	return v.log.EndOffset() != end || latest(v.log) != last, nil
}

func latest(l *log.Log) metadata.LeaderEpoch {
	if e, ok := l.LatestEpoch(); ok {
		return e
	}
	return metadata.NoEpoch
}

// truncateLocked cuts the log, and the future log with it. A cut below the high watermark loses what was committed: only an unclean election can
// ask for it, and it is said loudly.
func (p *Partition) truncateLocked(v *view, offset int64, why string) error {
	end, hw := v.log.EndOffset(), v.log.HighWatermark()
	if err := p.cutBothLocked(v.log, offset); err != nil {
		return p.wrap("truncate", err)
	}
	now := v.log.EndOffset()
	if now == end {
		return nil
	}
	lg := p.m.cfg.Logger.With("partition", p.tp, "fromOffset", now, "toOffset", end, "highWatermark", hw, "leader", v.leader,
		"leaderEpoch", v.epoch, "why", why)
	if now < hw {
		p.m.marksHigh.Store(true)
		lg.Warn("Truncated committed records after an unclean leader election")
	} else {
		lg.Warn("Truncated records that the leader does not have")
	}
	return nil
}

// cutBothLocked cuts the log and its copy, between two pieces that are copied. That the copy cannot be cut is a failure of its
// disk, and none of the log's. Kafka: ReplicaFetcherThread.truncate, markPartitionsForTruncation.
func (p *Partition) cutBothLocked(l *log.Log, offset int64) error {
	p.moving.Lock()
	defer p.moving.Unlock()
	if _, err := l.TruncateTo(offset); err != nil {
		return err
	}
	if f := p.moving.future; f != nil {
		if _, err := f.TruncateTo(l.EndOffset()); err != nil {
			p.m.cfg.Logger.Error("future log not truncated", "partition", p.tp, "offset", offset, "err", err)
		}
	}
	return nil
}

// restartLocked is TruncateFullyAndStartAt between two pieces that are copied. The copy finds out with the next.
func (p *Partition) restartLocked(l *log.Log, offset int64) error {
	p.moving.Lock()
	defer p.moving.Unlock()
	return l.TruncateFullyAndStartAt(offset)
}

// resetTo brings the log into the leader's range, and reports whether that changed its end.
func (p *Partition) resetTo(epoch metadata.LeaderEpoch, leaderEnd, leaderStart int64) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, err := p.followingLocked(epoch)
	if err != nil {
		return false, err
	}
	end := v.log.EndOffset()
	lg := p.m.cfg.Logger.With("partition", p.tp, "from", end, "leader", v.leader, "leaderEpoch", v.epoch)
	r := isr.OutOfRange(end, leaderEnd, leaderStart)
	switch {
	case r.Truncate:
		lg.Warn("Reset fetch offset to the leader's end", "to", r.Offset)
		return true, p.truncateLocked(v, r.Offset, "leader ends before us")
	case r.Restart:
		lg.Warn("Reset fetch offset to the leader's start", "to", r.Offset)
		return true, p.wrap("restart", p.restartLocked(v.log, r.Offset))
	}
	return false, nil
}
