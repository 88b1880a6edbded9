package group

import (
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
)

// Versions of keys and values as 3.9 writes them. Offset values are version 1 when they carry an expiry of their own.
// Kafka: GroupMetadataManager.offsetCommitKey and its neighbors; captures of __consumer_offsets.
const (
	offsetKeyVersion   = 1
	offsetValueVersion = 3
	offsetValueExpiry  = 1
	groupKeyVersion    = 2
	groupValueVersion  = 3
)

func offsetKey(group string, tp metadata.TopicPartition) []byte {
	k := kmsg.OffsetCommitKey{Version: offsetKeyVersion, Group: group, Topic: tp.Topic, Partition: tp.Partition}
	return k.AppendTo(nil)
}

func groupKey(group string) []byte {
	k := kmsg.GroupMetadataKey{Version: groupKeyVersion, Group: group}
	return k.AppendTo(nil)
}

func (o *offset) encode() []byte {
	v := kmsg.OffsetCommitValue{
		Version: offsetValueVersion, Offset: o.offset, LeaderEpoch: o.leaderEpoch, Metadata: o.metadata,
		CommitTimestamp: o.committedMs, ExpireTimestamp: o.expireMs,
	}
	if o.expireMs != noTimestamp {
		v.Version = offsetValueExpiry
	}
	return v.AppendTo(nil)
}

// encode writes the group with the assignment of each member; nil assignments are those that members have.
func (g *group) encode(assignment func(*member) []byte) []byte {
	v := kmsg.GroupMetadataValue{
		Version: groupValueVersion, Generation: g.generation, Protocol: g.protocol, CurrentStateTimestamp: g.since,
	}
	if g.protocolType != nil {
		v.ProtocolType = *g.protocolType
	}
	if g.leader != "" {
		v.Leader = &g.leader
	}
	v.Members = make([]kmsg.GroupMetadataValueMember, len(g.order))
	for i, m := range g.order {
		v.Members[i] = m.encode(g.protocol)
		if assignment != nil {
			v.Members[i].Assignment = assignment(m)
		}
	}
	return v.AppendTo(nil)
}

func (m *member) encode(protocol *string) kmsg.GroupMetadataValueMember {
	v := kmsg.GroupMetadataValueMember{
		MemberID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost,
		RebalanceTimeoutMillis: int32(m.rebalanceTimeout.Milliseconds()),
		SessionTimeoutMillis:   int32(m.sessionTimeout.Milliseconds()),
		Assignment:             m.assignment,
	}
	if protocol != nil {
		v.Subscription = m.metadata(*protocol)
	}
	return v
}

// writeGroup stores the group as it is, with these assignments instead of the members' if not nil.
func (s *Shard) writeGroup(g *group, assignment func(*member) []byte, w write) {
	s.write(coordinator.Write{
		Records: []coordinator.Record{{Key: groupKey(g.id), Value: g.encode(assignment)}},
		Tag:     w,
	})
}

// plainProducer is what Kafka's offset commits have in the batch header: no producer, but sequence 0.
func plainProducer() *record.Producer { return &record.Producer{ID: -1, Epoch: -1, BaseSequence: 0} }

// is reports whether err is one of these.
func is(err error, of ...*kerr.Error) bool {
	return slices.ContainsFunc(of, func(e *kerr.Error) bool { return errors.Is(err, e) })
}

// groupWriteError is what a client hears when its group could not be stored. Kafka: GroupMetadataManager.storeGroup.
func groupWriteError(err error) error {
	switch {
	case is(err, kerr.UnknownTopicOrPartition, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend):
		return kerr.CoordinatorNotAvailable
	case is(err, kerr.NotLeaderForPartition, kerr.KafkaStorageError, kerr.FencedLeaderEpoch):
		return kerr.NotCoordinator
	case is(err, kerr.RequestTimedOut):
		return kerr.RebalanceInProgress
	case is(err, kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidFetchSize):
		return kerr.UnknownServerError
	default:
		return err
	}
}

// offsetWriteError is what a client hears when offsets could not be stored. Kafka: GroupMetadataManager.storeOffsets.
func offsetWriteError(err error) error {
	switch {
	case is(err, kerr.UnknownTopicOrPartition, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend):
		return kerr.CoordinatorNotAvailable
	case is(err, kerr.NotLeaderForPartition, kerr.KafkaStorageError, kerr.FencedLeaderEpoch):
		return kerr.NotCoordinator
	case is(err, kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidFetchSize):
		return kerr.InvalidCommitOffsetSize
	default:
		return err
	}
}
