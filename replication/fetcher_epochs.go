package replication

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
	"jackdaw/replication/isr"
)

// truncateAll cuts logs by asking the leader where epochs end, once in each leader epoch, before anything is fetched:
// below inter.broker.protocol.version 2.7 a Fetch does not tell where histories part. Partitions that cannot be settled
// now leave f.ready. Kafka: AbstractFetcherThread.truncateToEpochEndOffsets.
func (f *fetcher) truncateAll(ctx context.Context) {
	kept := f.ready[:0]
	for _, s := range f.ready {
		if !s.cut {
			if err := f.truncate(ctx, s); err != nil {
				f.lg.Warn("log not compared with the leader's yet", "partition", s.p.tp, "err", err)
				f.pause(s)
				continue
			}
			s.cut = true
		}
		kept = append(kept, s)
	}
	f.ready = kept
}

// truncate asks about the last epoch in the log, cuts, and repeats while the answer names an epoch that we never had.
// Each round ends with a lower epoch.
func (f *fetcher) truncate(ctx context.Context, s *fetchState) error {
	for {
		l := s.p.Log()
		if l == nil {
			return errOtherRole
		}
		last, known := l.LatestEpoch()
		if !known {
			return nil
		}
		end, err := f.epochEnd(ctx, s, last)
		if err != nil {
			return err
		}
		again, err := s.p.cutAndCompare(s.epoch, end)
		if err != nil || !again {
			return err
		}
	}
}

// cutAndCompare cuts by the leader's answer, and reports whether another question is needed.
func (p *Partition) cutAndCompare(epoch metadata.LeaderEpoch, leader isr.EpochEnd) (again bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, err := p.followingLocked(epoch)
	if err != nil {
		return false, err
	}
	before := latest(v.log)
	local, known := v.log.EndOffsetForEpoch(leader.Epoch)
	tr := isr.Truncate(leader, isr.EpochEnd(local), known, v.log.EndOffset(), v.log.HighWatermark())
	if err := p.truncateLocked(v, tr.Offset, "leader epochs part"); err != nil {
		return false, err
	}
	return !tr.Done && latest(v.log) < before, nil
}

// epochEnd asks the leader where an epoch ends.
func (f *fetcher) epochEnd(ctx context.Context, s *fetchState, epoch metadata.LeaderEpoch) (isr.EpochEnd, error) {
	none := isr.EpochEnd{Epoch: metadata.NoEpoch, EndOffset: -1}
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = s.p.tp.Partition, int32(s.epoch), int32(epoch)
	t := kmsg.NewOffsetForLeaderEpochRequestTopic()
	t.Topic = s.p.tp.Topic
	t.Partitions = append(t.Partitions, p)
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version = f.m.cfg.EpochEndVersion
	req.ReplicaID = int32(f.m.cfg.BrokerID)
	req.Topics = append(req.Topics, t)
	resp, err := f.conn.Request(ctx, req)
	if err != nil {
		return none, fmt.Errorf("find the end of epoch %d: %w", epoch, err)
	}
	answer, ok := resp.(*kmsg.OffsetForLeaderEpochResponse)
	if !ok || len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		return none, fmt.Errorf("end of an epoch answered with %T for another partition", resp)
	}
	got := &answer.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return none, fmt.Errorf("find the end of epoch %d: %w", epoch, err)
	}
	return isr.EpochEnd{Epoch: metadata.LeaderEpoch(got.LeaderEpoch), EndOffset: got.EndOffset}, nil
}
