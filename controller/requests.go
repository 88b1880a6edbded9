package controller

import (
	"context"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/controller/state"
	"jackdaw/metadata"
)

// AlterPartition answers a leader that proposes new ISRs. req must stay as it is until the answer. It never returns nil.
// Kafka: KafkaController.processAlterPartition.
func (c *Controller) AlterPartition(ctx context.Context, req *kmsg.AlterPartitionRequest) *kmsg.AlterPartitionResponse {
	var alteration *state.Alteration
	err := c.inOffice(ctx, "ISR change", func(ctx context.Context, o *office) error {
		alteration = o.state.AlterPartition(req)
		return c.finish(ctx)
	})
	if err == nil {
		return alteration.Response()
	}
	resp := req.ResponseKind().(*kmsg.AlterPartitionResponse)
	var ke *kerr.Error
	resp.ErrorCode = kerr.UnknownServerError.Code
	if errors.As(err, &ke) {
		resp.ErrorCode = ke.Code
	}
	return resp
}

// AllocateProducerIDs hands a block of producer ids to a broker: start to start+n-1. A block whose answer is lost is never given
// out again. Kafka: KafkaController.processAllocateProducerIds.
func (c *Controller) AllocateProducerIDs(ctx context.Context, broker metadata.BrokerID, brokerEpoch int64) (start int64, n int32, err error) {
	type block struct {
		start int64
		n     int32
	}
	result := make(chan block, 1)
	err = c.inOffice(ctx, "producer ids", func(ctx context.Context, o *office) error {
		if err := o.state.CheckBrokerEpoch(broker, brokerEpoch); err != nil {
			return err
		}
		start, n, err := o.session.AllocateProducerIDs(ctx, broker)
		if err != nil {
			c.fail(ctx, err)
			return kerr.NotController
		}
		result <- block{start, n}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	b := <-result
	return b.start, b.n, nil
}

// ControlledShutdown moves leaders away from a broker that is about to stop, and returns those it could not move. The broker asks
// again while there are any. brokerEpoch is -1 for requests that carry none. Kafka: KafkaController.processControlledShutdown.
func (c *Controller) ControlledShutdown(ctx context.Context, broker metadata.BrokerID, brokerEpoch int64) ([]metadata.TopicPartition, error) {
	result := make(chan []metadata.TopicPartition, 1)
	err := c.inOffice(ctx, "controlled shutdown", func(ctx context.Context, o *office) error {
		if err := o.state.StopBroker(broker, brokerEpoch); err != nil {
			return err
		}
		c.lg.Info("broker stops", "stopping", broker)
		if err := c.finish(ctx); err != nil {
			return err
		}
		result <- o.state.Remaining(broker)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return <-result, nil
}

// ElectLeaders elects leaders by the given rule, for all partitions when tps is nil. A partition whose leader was elected has
// a nil error. Kafka: KafkaController.electLeaders.
func (c *Controller) ElectLeaders(ctx context.Context, t ElectionType, tps []metadata.TopicPartition) (map[metadata.TopicPartition]error, error) {
	result := make(chan *state.Election, 1)
	err := c.inOffice(ctx, "leader election", func(ctx context.Context, o *office) error {
		elect := o.state.ElectPreferred
		if t == UncleanElection {
			elect = o.state.ElectUnclean
		}
		e := elect(tps)
		if err := c.finish(ctx); err != nil {
			return err
		}
		result <- e
		return nil
	})
	if err != nil {
		return nil, err
	}
	return (<-result).Results, nil
}

// AlterReassignments starts, replaces and cancels reassignments (KIP-455). A nil error says that the reassignment was written
// down; it goes on by itself. Kafka: KafkaController.processApiPartitionReassignment.
func (c *Controller) AlterReassignments(ctx context.Context, rs []Reassignment) (map[metadata.TopicPartition]error, error) {
	out := make(map[metadata.TopicPartition]error, len(rs))
	err := c.inOffice(ctx, "reassignment", func(ctx context.Context, o *office) error {
		for _, r := range rs {
			out[r.TopicPartition] = o.state.Reassign(r.TopicPartition, r.Target)
		}
		return c.finish(ctx)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ListReassignments returns the reassignments that run, all of them when tps is nil, by topic and partition.
// Kafka: KafkaController.processListPartitionReassignments.
func (c *Controller) ListReassignments(ctx context.Context, tps []metadata.TopicPartition) ([]OngoingReassignment, error) {
	result := make(chan []OngoingReassignment, 1)
	err := c.inOffice(ctx, "reassignment list", func(_ context.Context, o *office) error {
		var list []OngoingReassignment
		for _, tp := range o.state.Reassigning() {
			if tps != nil && !slices.Contains(tps, tp) {
				continue
			}
			a, _ := o.state.Assignment(tp)
			list = append(list, OngoingReassignment{TopicPartition: tp, Replicas: a.Replicas, Adding: a.Adding, Removing: a.Removing})
		}
		result <- list
		return nil
	})
	if err != nil {
		return nil, err
	}
	return <-result, nil
}
