package service

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/protocol/record"
)

// commitMemberEpoch is the first version of OffsetCommit whose generation may be the epoch of a member.
const commitMemberEpoch = 9

// OffsetCommit answers OffsetCommit 0-9. Partitions that do not exist, or whose topic is denied to the client, are refused one
// by one, the others stored. denied may be nil. Kafka: KafkaApis.handleOffsetCommitRequest.
func (g *Groups) OffsetCommit(ctx context.Context, req *kmsg.OffsetCommitRequest, denied func(topic string) bool) *kmsg.OffsetCommitResponse {
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	r := group.CommitRequest{MemberRequest: group.MemberRequest{
		Group: req.Group, MemberID: req.MemberID, InstanceID: req.InstanceID, Generation: req.Generation,
	}, KnowsEpochs: req.Version >= commitMemberEpoch}
	var codes []*int16 // of the offsets in r
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	for i := range req.Topics {
		t := &req.Topics[i]
		out := make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		resp.Topics[i] = kmsg.OffsetCommitResponseTopic{Topic: t.Topic, Partitions: out}
		refused := denied != nil && denied(t.Topic)
		for j := range t.Partitions {
			p := &t.Partitions[j]
			out[j].Partition = p.Partition
			tp := metadata.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			if err := g.refusal(tp, refused); err != nil {
				out[j].ErrorCode = protocol.ErrorCode(err)
				continue
			}
			r.Offsets = append(r.Offsets, commitOffset(req, p, tp))
			codes = append(codes, &out[j].ErrorCode)
		}
	}
	if req.Version == 0 {
		return g.commitToZooKeeper(ctx, &r, codes, resp)
	}
	errs, err := g.commit(ctx, &r)
	setCodes(codes, errs, err)
	return resp
}

// refusal says why a partition cannot be committed to, or have its offset deleted.
func (g *Groups) refusal(tp metadata.TopicPartition, denied bool) error {
	switch {
	case denied:
		return kerr.TopicAuthorizationFailed
	case !g.cfg.PartitionExists(tp):
		return kerr.UnknownTopicOrPartition
	}
	return nil
}

func commitOffset(
	req *kmsg.OffsetCommitRequest, p *kmsg.OffsetCommitRequestTopicPartition, tp metadata.TopicPartition,
) group.CommitOffset {
	o := group.CommitOffset{TP: tp, Offset: p.Offset, LeaderEpoch: -1, Timestamp: -1, Retention: -1}
	if p.Metadata != nil {
		o.Metadata = *p.Metadata
	}
	if req.Version == 1 {
		o.Timestamp = p.Timestamp
	}
	if req.Version >= 2 && req.Version <= 4 {
		o.Retention = req.RetentionTimeMillis
	}
	if req.Version >= 6 {
		o.LeaderEpoch = p.LeaderEpoch
	}
	return o
}

// commit stores offsets; without any it does nothing, not even look for the group.
func (g *Groups) commit(ctx context.Context, r *group.CommitRequest) ([]error, error) {
	if len(r.Offsets) == 0 {
		return nil, nil
	}
	c := *r
	return call[[]error](ctx, g, r.Group,
		func(s *group.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
			return s.Commit(now, t, c)
		})
}

// setCodes fills in errs, or err for all.
func setCodes(codes []*int16, errs []error, err error) {
	for i := range codes {
		e := err
		if err == nil {
			e = errs[i]
		}
		*codes[i] = protocol.ErrorCode(e)
	}
}

// TxnOffsetCommit answers TxnOffsetCommit 0-4, with denied as in OffsetCommit. Kafka: KafkaApis.handleTxnOffsetCommitRequest.
func (g *Groups) TxnOffsetCommit(
	ctx context.Context, req *kmsg.TxnOffsetCommitRequest, denied func(topic string) bool,
) *kmsg.TxnOffsetCommitResponse {
	resp := req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	r := group.CommitRequest{
		MemberRequest: group.MemberRequest{
			Group: req.Group, MemberID: req.MemberID, InstanceID: req.InstanceID, Generation: req.Generation,
		},
		Producer: &record.Producer{ID: req.ProducerID, Epoch: req.ProducerEpoch},
	}
	if req.Version < 3 {
		r.Generation = -1
	}
	var codes []*int16
	resp.Topics = make([]kmsg.TxnOffsetCommitResponseTopic, len(req.Topics))
	for i := range req.Topics {
		t := &req.Topics[i]
		out := make([]kmsg.TxnOffsetCommitResponseTopicPartition, len(t.Partitions))
		resp.Topics[i] = kmsg.TxnOffsetCommitResponseTopic{Topic: t.Topic, Partitions: out}
		refused := denied != nil && denied(t.Topic)
		for j, p := range t.Partitions {
			out[j].Partition = p.Partition
			tp := metadata.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			if err := g.refusal(tp, refused); err != nil {
				out[j].ErrorCode = protocol.ErrorCode(err)
				continue
			}
			o := group.CommitOffset{TP: tp, Offset: p.Offset, LeaderEpoch: -1, Timestamp: -1, Retention: -1}
			if p.Metadata != nil {
				o.Metadata = *p.Metadata
			}
			if req.Version >= 2 {
				o.LeaderEpoch = p.LeaderEpoch
			}
			r.Offsets = append(r.Offsets, o)
			codes = append(codes, &out[j].ErrorCode)
		}
	}
	errs, err := g.txnCommit(ctx, req, &r)
	setCodes(codes, errs, err)
	return resp
}

func (g *Groups) txnCommit(ctx context.Context, req *kmsg.TxnOffsetCommitRequest, r *group.CommitRequest) ([]error, error) {
	if r.Group == "" {
		return nil, kerr.InvalidGroupID
	}
	if g.cfg.VerifyTxn != nil && len(r.Offsets) > 0 {
		if err := g.cfg.VerifyTxn(ctx, g.PartitionFor(r.Group), req); err != nil {
			return nil, err
		}
	}
	return g.commit(ctx, r)
}

// commitToZooKeeper stores the offsets of OffsetCommit 0.
func (g *Groups) commitToZooKeeper(
	ctx context.Context, r *group.CommitRequest, codes []*int16, resp *kmsg.OffsetCommitResponse,
) *kmsg.OffsetCommitResponse {
	for i, o := range r.Offsets {
		var err error
		switch {
		case g.cfg.ZooKeeper == nil:
			err = kerr.UnsupportedVersion
		case group.MetadataTooLarge(o.Metadata, g.cfg.MaxMetadata):
			err = kerr.OffsetMetadataTooLarge
		default:
			err = g.cfg.ZooKeeper.SetOffset(ctx, r.Group, o.TP, o.Offset)
		}
		*codes[i] = protocol.ErrorCode(err)
	}
	return resp
}
