package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/controller"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/security/acl"
)

// ElectLeaders (43), v0-2. Kafka: KafkaApis.handleElectLeaders; KIP-183, KIP-460.
// Differs from Kafka: an unknown election type is INVALID_REQUEST.   Pipelined: no.   Cost: one ZooKeeper write a partition.
func (b *Broker) handleElectLeaders(r *network.Request) {
	req := r.Body.(*kmsg.ElectLeadersRequest)
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	if b.refused(r, b.deniedCluster(r, acl.Alter)) {
		return
	}
	election := controller.PreferredElection
	if req.Version >= 1 {
		election = controller.ElectionType(req.ElectionType)
	}
	results, err := b.electLeaders(r.Context(), election, req)
	resp.ErrorCode = protocol.ErrorCode(err)
	for _, tp := range sortedPartitions(results) {
		err := results[tp]
		if req.Topics == nil && errors.Is(err, kerr.ElectionNotNeeded) {
			continue
		}
		if len(resp.Topics) == 0 || resp.Topics[len(resp.Topics)-1].Topic != tp.Topic {
			resp.Topics = append(resp.Topics, kmsg.ElectLeadersResponseTopic{Topic: tp.Topic})
		}
		t := &resp.Topics[len(resp.Topics)-1]
		t.Partitions = append(t.Partitions, kmsg.ElectLeadersResponseTopicPartition{
			Partition: tp.Partition, ErrorCode: protocol.ErrorCode(err), ErrorMessage: protocol.ErrorMessage(err),
		})
	}
	r.Respond(resp)
}

func (b *Broker) electLeaders(ctx context.Context, election controller.ElectionType, req *kmsg.ElectLeadersRequest) (map[metadata.TopicPartition]error, error) {
	if election != controller.PreferredElection && election != controller.UncleanElection {
		return nil, fmt.Errorf("election type %d: %w", election, kerr.InvalidRequest)
	}
	var tps []metadata.TopicPartition
	if req.Topics != nil {
		tps = []metadata.TopicPartition{}
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				tps = append(tps, metadata.TopicPartition{Topic: t.Topic, Partition: p})
			}
		}
	}
	results, err := b.controller.ElectLeaders(ctx, election, tps)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(req.TimeoutMillis)*time.Millisecond)
	defer cancel()
	for tp, err := range results {
		if err == nil && b.cache.Wait(ctx, func(m *metadata.Image) bool { return elected(m, election, tp) }) != nil {
			results[tp] = kerr.RequestTimedOut
		}
	}
	return results, nil
}

// elected tells whether the metadata shows the outcome of an election.
func elected(m *metadata.Image, election controller.ElectionType, tp metadata.TopicPartition) bool {
	p, ok := m.Partition(tp)
	if !ok || len(p.Replicas) == 0 {
		return true
	}
	if election == controller.PreferredElection {
		return p.Leader == p.Replicas[0]
	}
	return p.Leader >= 0
}

func sortedPartitions[V any](m map[metadata.TopicPartition]V) []metadata.TopicPartition {
	out := make([]metadata.TopicPartition, 0, len(m))
	for tp := range m {
		out = append(out, tp)
	}
	slices.SortFunc(out, metadata.TopicPartition.Compare)
	return out
}
