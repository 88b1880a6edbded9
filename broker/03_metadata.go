package broker

import (
	"errors"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/controller"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/security/acl"
)

// noOperations stands for "authorized operations were not asked for".
const noOperations = math.MinInt32

// Bits of AclOperation, as they are returned when nothing restricts the client. Kafka: AclEntry.supportedOperations.
const (
	topicOperations   = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11
	clusterOperations = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
)

// Metadata (3), v0-12. Kafka: KafkaApis.handleTopicMetadataRequest. Topic ids since v10 (KIP-516).
// Pipelined: no.   Cost: the partitions answered; one topic creation for a missing name.
func (b *Broker) handleMetadata(r *network.Request) {
	req := r.Body.(*kmsg.MetadataRequest)
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	image := b.cache.Image()
	listener := r.Conn.Listener()

	resp.Brokers = metadataBrokers(image, listener)
	resp.ClusterID = &b.clusterID
	resp.ControllerID = aliveController(image)
	resp.AuthorizedOperations = noOperations
	if req.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = b.clusterOperationsOf(r)
	}
	v := metadataView{image: image, listener: listener, version: req.Version, operations: func(string) int32 { return noOperations }}
	if req.IncludeTopicAuthorizedOperations {
		v.operations = func(topic string) int32 { return b.operations(r, acl.Topic, topic, topicOperations) }
	}
	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 {
		for _, name := range image.TopicNames() {
			if !b.may(r, acl.Describe, acl.Topic, name) {
				continue // nobody is told of what he may not see
			}
			t, _ := image.Topic(name)
			resp.Topics = append(resp.Topics, v.topic(t))
		}
		r.Respond(resp)
		return
	}
	create := b.cfg.AutoCreateTopics && (req.Version < 4 || req.AllowAutoTopicCreation)
	for i := range req.Topics {
		resp.Topics = append(resp.Topics, b.metadataTopic(r, &v, &req.Topics[i], create))
	}
	r.Respond(resp)
}

// metadataTopic answers for one topic asked by name or by id, creating it when that is allowed.
func (b *Broker) metadataTopic(r *network.Request, v *metadataView, t *kmsg.MetadataRequestTopic, create bool) kmsg.MetadataResponseTopic {
	if id := metadata.TopicID(t.TopicID); v.version >= 10 && !id.IsZero() {
		topic, ok := v.image.TopicByID(id)
		if !ok {
			out := v.missing(nil, kerr.UnknownTopicID)
			out.TopicID = t.TopicID
			return out
		}
		if err := b.denied(r, acl.Describe, acl.Topic, topic.Name); err != nil {
			out := v.refused(nil, err)
			out.TopicID = t.TopicID
			return out
		}
		return v.topic(topic)
	}
	name := value(t.Topic)
	if err := b.denied(r, acl.Describe, acl.Topic, name); err != nil {
		return v.refused(&name, err)
	}
	if topic, ok := v.image.Topic(name); ok {
		return v.topic(topic)
	}
	err := controller.ValidateTopicName(name)
	switch {
	case create && !b.may(r, acl.Create, acl.Cluster, acl.ClusterName) && b.denied(r, acl.Create, acl.Topic, name) != nil:
		return v.refused(&name, kerr.TopicAuthorizationFailed)
	case err == nil && create:
		err = b.autoCreateTopic(r.Context(), name)
	case err == nil:
		err = kerr.UnknownTopicOrPartition
	}
	return v.missing(&name, err)
}

// metadataView builds topic answers for one version and one listener.
type metadataView struct {
	image    *metadata.Image
	listener string
	version  int16
	// operations gives what the client may do to a topic, as bits.
	operations func(topic string) int32
}

// refused answers for a topic that the client may not know of, or not create: nothing is told about it.
func (v *metadataView) refused(name *string, err error) kmsg.MetadataResponseTopic {
	t := v.missing(name, err)
	t.IsInternal, t.AuthorizedOperations = false, noOperations
	return t
}

func (v *metadataView) missing(name *string, err error) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.Topic = name
	t.ErrorCode = protocol.ErrorCode(err)
	t.IsInternal = name != nil && isInternalTopic(*name)
	t.AuthorizedOperations = noOperations
	if name != nil {
		t.AuthorizedOperations = v.operations(*name)
	}
	if name == nil && v.version < 12 {
		t.Topic = new(string)
	}
	return t
}

func (v *metadataView) topic(topic *metadata.Topic) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.Topic = &topic.Name
	t.TopicID = topic.ID
	t.IsInternal = isInternalTopic(topic.Name)
	t.AuthorizedOperations = v.operations(topic.Name)
	t.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, len(topic.Partitions))
	for n, p := range topic.Partitions {
		t.Partitions = append(t.Partitions, v.partition(n, &p))
	}
	slices.SortFunc(t.Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition - b.Partition) })
	return t
}

// partition tells a leader only when the client can reach it by its own listener. v0 clients are told of replicas
// they can reach only. Kafka: ZkMetadataCache.getPartitionMetadata.
func (v *metadataView) partition(n int32, p *metadata.Partition) kmsg.MetadataResponseTopicPartition {
	out := kmsg.NewMetadataResponseTopicPartition()
	out.Partition = n
	out.Replicas = wireIDs(p.Replicas)
	out.ISR = wireIDs(p.ISR)
	out.OfflineReplicas = wireIDs(p.Offline)
	out.Leader = int32(p.Leader)
	out.LeaderEpoch = int32(p.LeaderEpoch)
	err := v.leaderError(p.Leader)
	if err != nil {
		out.Leader = int32(metadata.NoBroker)
	}
	if v.version == 0 {
		out.Replicas, out.ISR = v.reachable(p.Replicas), v.reachable(p.ISR)
		if err == nil && (len(out.Replicas) < len(p.Replicas) || len(out.ISR) < len(p.ISR)) {
			err = kerr.ReplicaNotAvailable
		}
	}
	out.ErrorCode = protocol.ErrorCode(err)
	return out
}

func (v *metadataView) leaderError(leader metadata.BrokerID) error {
	broker, alive := v.image.Broker(leader)
	if !alive {
		return kerr.LeaderNotAvailable
	}
	if _, ok := broker.Endpoint(v.listener); ok {
		return nil
	}
	if v.version < 6 {
		return kerr.LeaderNotAvailable
	}
	return kerr.ListenerNotFound
}

func (v *metadataView) reachable(ids []metadata.BrokerID) []int32 {
	out := make([]int32, 0, len(ids))
	for _, id := range ids {
		if broker, ok := v.image.Broker(id); ok {
			if _, ok := broker.Endpoint(v.listener); ok {
				out = append(out, int32(id))
			}
		}
	}
	return out
}

func metadataBrokers(image *metadata.Image, listener string) []kmsg.MetadataResponseBroker {
	out := []kmsg.MetadataResponseBroker{}
	for _, broker := range image.Brokers() {
		e, ok := broker.Endpoint(listener)
		if !ok {
			continue
		}
		mb := kmsg.NewMetadataResponseBroker()
		mb.NodeID, mb.Host, mb.Port, mb.Rack = int32(broker.ID), e.Host, e.Port, optional(broker.Rack)
		out = append(out, mb)
	}
	return out
}

// aliveController returns the controller's id, or -1 while it is not known or not among the live brokers.
func aliveController(image *metadata.Image) int32 {
	if !image.IsAlive(image.Controller) {
		return int32(metadata.NoBroker)
	}
	return int32(image.Controller)
}

// isRetriable reports whether a client may see the error pass by itself.
func isRetriable(err error) bool {
	var ke *kerr.Error
	return errors.As(err, &ke) && ke.Retriable
}
