package zkstore

import (
	"context"
	"errors"
	"fmt"
	"math"

	"jackdaw/metadata"
	"jackdaw/zkstore/znode"
)

// producerIDBlock is how many ids a broker gets at a time. Kafka: ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE.
const producerIDBlock = 1000

// AllocateProducerIDs reserves the next block of producer ids for a broker: first to first+count-1.
// Kafka: ZkProducerIdManager.getNewProducerIdBlock.
func (s *Session) AllocateProducerIDs(ctx context.Context, broker metadata.BrokerID) (first int64, count int32, err error) {
	for {
		data, st, err := s.Get(ctx, znode.ProducerIDBlockPath)
		if errors.Is(err, ErrNoNode) {
			if err := s.createAll(ctx, znode.ProducerIDBlockPath, nil); err != nil && !errors.Is(err, ErrNodeExists) {
				return 0, 0, err
			}
			continue
		}
		if err != nil {
			return 0, 0, err
		}
		last, ok, err := znode.DecodeProducerIDBlock(data)
		if err != nil {
			return 0, 0, err
		}
		next := znode.ProducerIDBlock{Broker: broker, Start: 0, End: producerIDBlock - 1}
		if ok {
			if last.End > math.MaxInt64-producerIDBlock {
				return 0, 0, fmt.Errorf("no producer id is left after %d", last.End)
			}
			next.Start, next.End = last.End+1, last.End+producerIDBlock
		}
		_, err = s.Set(ctx, znode.ProducerIDBlockPath, next.Encode(), st.Version)
		if err == nil {
			return next.Start, producerIDBlock, nil
		}
		if !errors.Is(err, ErrBadVersion) {
			return 0, 0, err
		}
	}
}

// NotifyLogDirFailure tells the controller that a broker has lost a log directory.
// Kafka: KafkaZkClient.propagateLogDirEvent.
func (s *Session) NotifyLogDirFailure(ctx context.Context, broker metadata.BrokerID) error {
	e := znode.LogDirEvent{Broker: broker, Event: znode.LogDirFailure}
	_, err := s.Create(ctx, znode.LogDirEventPrefix, e.Encode(), PersistentSequential)
	return err
}

// EnsureFeature creates /feature when it is not there, as the first controller does. Kafka: KafkaController.maybeSetupFeatureVersioning.
func (s *Session) EnsureFeature(ctx context.Context) error {
	exists, _, err := s.Exists(ctx, znode.FeaturePath)
	if err != nil || exists {
		return err
	}
	f := znode.Feature{Status: znode.FeaturesEnabled}
	_, err = s.Create(ctx, znode.FeaturePath, f.Encode(), Persistent)
	if errors.Is(err, ErrNodeExists) {
		return nil
	}
	return err
}
