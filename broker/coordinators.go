package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/coordinator/group"
	"jackdaw/coordinator/service"
	"jackdaw/coordinator/txn"
	"jackdaw/internal/run"
	"jackdaw/metadata"
	"jackdaw/protocol/record"
	"jackdaw/replication"
)

// loadBytes is how much of a partition is read at once when a coordinator loads it. Kafka: offsets.load.buffer.size.
const loadBytes = 5 << 20

// openCoordinators makes the two coordinators. They lead nothing yet.
func (b *Broker) openCoordinators() {
	l := coordinatorLog{replicas: b.replicas, logs: b.logs, acks: -1, loadBytes: loadBytes, verifiedOnly: b.verifiesTransactions}
	groups := l
	groups.acks = b.cfg.Groups.CommitAcks
	b.groups = service.NewGroups(b.groupsConfig(&groups))
	b.markers = newPeerLinks(func(ctx context.Context, to metadata.BrokerID) (replication.Leader, error) {
		return b.dialLeader(ctx, to, fmt.Sprintf("broker-%d-txn-marker-sender", b.id))
	})
	b.transactions = service.NewTransactions(b.transactionsConfig(&l))
	b.openVerifier()
}

// runCoordinators runs both until ctx ends.
func (b *Broker) runCoordinators(ctx context.Context, parts *run.Group) {
	parts.Go("groups", func(context.Context) error { return b.groups.Run(ctx) })
	parts.Go("transactions", func(context.Context) error {
		err := b.transactions.Run(ctx)
		return errors.Join(err, b.markers.Close(), b.verifierLinks.Close())
	})
}

func (b *Broker) groupsConfig(l coordinator.PartitionLog) service.GroupsConfig {
	c := service.GroupsConfig{
		Config:          group.DefaultConfig(),
		Log:             l,
		Partitions:      b.cfg.Groups.Partitions,
		PartitionCount:  func() int32 { return b.partitionCount(groupTopic) },
		CommitTimeout:   b.cfg.Groups.CommitTimeout,
		Codec:           record.Codec(b.cfg.Groups.CompressionCodec),
		PartitionExists: b.partitionExists,
		VerifyTxn:       b.verifyTxnOffsets,
		ZooKeeper:       zooKeeperOffsets{session: b.zk.Session},
		NewMemberID:     uuid.NewString,
		Image:           b.cache.Image,
		Now:             time.Now,
		Logger:          b.log,
		Metrics:         b.registry,
	}
	c.MinSessionTimeout, c.MaxSessionTimeout = b.cfg.Groups.MinSessionTimeout, b.cfg.Groups.MaxSessionTimeout
	c.InitialRebalanceDelay = b.cfg.Groups.InitialRebalanceDelay
	c.MaxSize = b.cfg.Groups.MaxSize
	c.MaxMetadata = b.cfg.Groups.MetadataMaxBytes
	c.OffsetsRetention, c.RetentionCheckInterval = b.cfg.Groups.Retention, b.cfg.Groups.RetentionInterval
	consumer := b.cfg.Groups.Consumer
	c.Consumer.Enabled, c.Consumer.MaxSize, c.Consumer.Assignors = consumer.Enabled, consumer.MaxSize, consumer.Assignors
	c.Consumer.SessionTimeout, c.Consumer.HeartbeatInterval = consumer.SessionTimeout, consumer.HeartbeatInterval
	c.Consumer.Migration = group.MigrationPolicy(consumer.MigrationPolicy)
	return c
}

func (b *Broker) transactionsConfig(l coordinator.PartitionLog) service.TransactionsConfig {
	c := service.TransactionsConfig{
		Config:            txn.DefaultConfig(),
		Log:               l,
		Partitions:        b.cfg.Transactions.Partitions,
		PartitionCount:    func() int32 { return b.partitionCount(txnTopic) },
		ProducerIDs:       b.producerIDs,
		GroupPartitionFor: b.groups.PartitionFor,
		PartitionExists:   b.partitionExists,
		Markers:           service.MarkerConfig{Leader: b.markerLeader, Write: b.sendTxnMarkers},
		Now:               time.Now,
		Logger:            b.log,
		Metrics:           b.registry,
	}
	c.MaxTimeout, c.IDExpiration = b.cfg.Transactions.MaxTimeout, b.cfg.Transactions.IDExpiration
	c.AbortInterval, c.ExpireInterval = b.cfg.Transactions.AbortTimedOutInterval, b.cfg.Transactions.IDExpiryInterval
	return c
}

// leadershipChanged tells the coordinators which partitions of their topics this broker leads now.
func (b *Broker) leadershipChanged(changes []replication.LeadershipChange) {
	for _, c := range changes {
		switch c.TP.Topic {
		case groupTopic:
			tellLeadership(b.groups, c)
		case txnTopic:
			tellLeadership(b.transactions, c)
		}
	}
}

func tellLeadership(to interface {
	Elected(partition int32, epoch metadata.LeaderEpoch)
	Resigned(partition int32, epoch metadata.LeaderEpoch)
}, c replication.LeadershipChange,
) {
	switch {
	case c.Removed:
		to.Resigned(c.TP.Partition, metadata.NoEpoch)
	case c.Leader:
		to.Elected(c.TP.Partition, c.Epoch)
	default:
		to.Resigned(c.TP.Partition, c.Epoch)
	}
}

func (b *Broker) partitionExists(tp metadata.TopicPartition) bool {
	_, ok := b.cache.Image().Partition(tp)
	return ok
}

// partitionCount is how many partitions a topic has, 0 while it is not there.
func (b *Broker) partitionCount(topic string) int32 {
	t, ok := b.cache.Image().Topic(topic)
	if !ok {
		return 0
	}
	return int32(len(t.Partitions))
}

// markerLeader finds who writes the marker of a partition. A coordinator is elected only after it was told of all
// topics, so what is not in the image is deleted.
func (b *Broker) markerLeader(tp metadata.TopicPartition) (metadata.BrokerID, bool) {
	p, ok := b.cache.Image().Partition(tp)
	return p.Leader, ok
}

// sendTxnMarkers writes markers here, or asks another broker to.
func (b *Broker) sendTxnMarkers(
	ctx context.Context, to metadata.BrokerID, req *kmsg.WriteTxnMarkersRequest,
) (*kmsg.WriteTxnMarkersResponse, error) {
	if to == b.id {
		return b.writeTxnMarkers(ctx, req), nil
	}
	req.Version = b.ibp.TxnMarkersVersion()
	resp, err := b.markers.Request(ctx, to, req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.WriteTxnMarkersResponse), nil
}
