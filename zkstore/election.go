package zkstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"jackdaw/metadata"
	"jackdaw/zkstore/znode"
)

// Election is the right to write as controller. Kafka: the controller epoch and its zkVersion.
type Election struct {
	// Epoch is the controller epoch.
	Epoch int32
	// EpochZKVersion is the ZooKeeper version of /controller_epoch after the election.
	EpochZKVersion int32
}

// ElectController tries to become controller. When another one is, won is false and current names it.
// Kafka: KafkaZkClient.registerControllerAndIncrementControllerEpoch; KAFKA-6082.
func (s *Session) ElectController(ctx context.Context, id metadata.BrokerID) (e Election, won bool, current metadata.BrokerID, err error) {
	for {
		current, free, err := s.controllerSeat(ctx)
		if err != nil || !free {
			return Election{}, false, current, err
		}
		epoch, version, err := s.ControllerEpoch(ctx)
		if err != nil {
			return Election{}, false, metadata.NoBroker, err
		}
		node := znode.Controller{Broker: id, TimestampMs: time.Now().UnixMilli(), KRaftEpoch: -1}
		res, err := s.Multi(ctx,
			CreateOp(znode.ControllerPath, node.Encode(), Ephemeral),
			SetOp(znode.ControllerEpochPath, znode.EncodeControllerEpoch(epoch+1), version))
		if err == nil {
			return Election{Epoch: epoch + 1, EpochZKVersion: res[1].Stat.Version}, true, id, nil
		}
		// Somebody was faster, or counted the epoch up: look again.
		if !errors.Is(err, ErrNodeExists) && !errors.Is(err, ErrBadVersion) && !errors.Is(err, ErrNoNode) {
			return Election{}, false, metadata.NoBroker, err
		}
	}
}

// controllerSeat tells who is controller, or that nobody is. A node that an earlier session of this client left is
// removed: nobody else would before that session expires.
func (s *Session) controllerSeat(ctx context.Context) (current metadata.BrokerID, free bool, err error) {
	for {
		data, st, err := s.Get(ctx, znode.ControllerPath)
		if errors.Is(err, ErrNoNode) {
			return metadata.NoBroker, true, nil
		}
		if err != nil {
			return metadata.NoBroker, false, err
		}
		if !s.c.isFormer(st.EphemeralOwner) {
			c, err := znode.DecodeController(data)
			return c.Broker, false, err
		}
		s.lg.Info("own controller node of an earlier session removed", "owner", fmt.Sprintf("0x%x", st.EphemeralOwner))
		if err := s.deleteOwned(ctx, znode.ControllerPath, st); err != nil {
			return metadata.NoBroker, false, err
		}
	}
}

// deleteOwned deletes an ephemeral node that was seen in state st, unless it was replaced meanwhile as far as a version
// can tell.
func (s *Session) deleteOwned(ctx context.Context, path string, st Stat) error {
	err := s.Delete(ctx, path, st.Version)
	if errors.Is(err, ErrNoNode) || errors.Is(err, ErrBadVersion) {
		return nil
	}
	return err
}

// ControllerEpoch reads the epoch of the last election and the version of its node, which it creates with epoch 0 when
// there has never been one. Kafka: KafkaZkClient.maybeCreateControllerEpochZNode.
func (s *Session) ControllerEpoch(ctx context.Context) (epoch, version int32, err error) {
	for {
		data, st, err := s.Get(ctx, znode.ControllerEpochPath)
		if err == nil {
			epoch, err := znode.DecodeControllerEpoch(data)
			return epoch, st.Version, err
		}
		if !errors.Is(err, ErrNoNode) {
			return 0, 0, err
		}
		_, err = s.Create(ctx, znode.ControllerEpochPath, znode.EncodeControllerEpoch(0), Persistent)
		if err != nil && !errors.Is(err, ErrNodeExists) {
			return 0, 0, err
		}
	}
}

// CurrentController returns who is controller, metadata.NoBroker when nobody is.
func (s *Session) CurrentController(ctx context.Context) (metadata.BrokerID, error) {
	data, _, err := s.Get(ctx, znode.ControllerPath)
	if errors.Is(err, ErrNoNode) {
		return metadata.NoBroker, nil
	}
	if err != nil {
		return metadata.NoBroker, err
	}
	c, err := znode.DecodeController(data)
	if err != nil {
		return metadata.NoBroker, err
	}
	return c.Broker, nil
}

// Resign gives an election up, if it still holds; otherwise ErrControllerMoved. Kafka: KafkaZkClient.deleteController.
func (s *Session) Resign(ctx context.Context, e Election) error {
	return s.Controller(e).DeletePath(ctx, znode.ControllerPath)
}
