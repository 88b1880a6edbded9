package broker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/coordinator"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/security/acl"
)

// Key types of FindCoordinator. Kafka: FindCoordinatorRequest.CoordinatorType.
const (
	groupCoordinator       = 0
	transactionCoordinator = 1
	shareCoordinator       = 2
)

// unknownCoordinatorType is Kafka's text for a key type that nobody knows.
const unknownCoordinatorType = "This most likely occurs because of a request being malformed by the client library or the message was sent to " +
	"an incompatible broker. See the broker logs for more details."

// FindCoordinator (10), v0-6. Kafka: KafkaApis.handleFindCoordinatorRequest. Many keys since v4 (KIP-699).
// Pipelined: no.   Cost: a map look-up a key; the first one creates the internal topic.
func (b *Broker) handleFindCoordinator(r *network.Request) {
	req := r.Body.(*kmsg.FindCoordinatorRequest)
	resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	if req.Version < 4 {
		c := b.findCoordinator(r, req.CoordinatorType, req.CoordinatorKey)
		resp.ErrorCode, resp.ErrorMessage = c.ErrorCode, c.ErrorMessage
		if *c.ErrorMessage == "" {
			resp.ErrorMessage = oldCoordinatorText(kerr.ErrorForCode(c.ErrorCode))
		}
		resp.NodeID, resp.Host, resp.Port = c.NodeID, c.Host, c.Port
		r.Respond(resp)
		return
	}
	for _, key := range req.CoordinatorKeys {
		resp.Coordinators = append(resp.Coordinators, b.findCoordinator(r, req.CoordinatorType, key))
	}
	r.Respond(resp)
}

// oldCoordinatorText is what versions below 4 always have: Kafka's text for the code, also for that of success.
func oldCoordinatorText(err error) *string {
	if err == nil {
		return optional("NONE")
	}
	return protocol.ErrorMessage(err)
}

func (b *Broker) findCoordinator(r *network.Request, keyType int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.NodeID, c.Port = key, int32(metadata.NoBroker), -1
	broker, err := b.coordinatorOf(r, keyType, key)
	if err == nil {
		listener := r.Conn.Listener()
		if e, ok := broker.Endpoint(listener); ok {
			c.NodeID, c.Host, c.Port = int32(broker.ID), e.Host, e.Port
		} else {
			err = fmt.Errorf("coordinator %d has no listener %s: %w", broker.ID, listener, kerr.CoordinatorNotAvailable)
		}
	}
	c.ErrorCode = protocol.ErrorCode(err)
	c.ErrorMessage = new(string)
	if text := protocol.ClientMessage(err); text != nil {
		c.ErrorMessage = text
	}
	return c
}

// coordinatorOf finds the leader of the internal topic's partition that the key belongs to. A missing topic is created,
// and the client told to come again.
func (b *Broker) coordinatorOf(r *network.Request, keyType int8, key string) (metadata.Broker, error) {
	var topic string
	var kind acl.ResourceType
	switch keyType {
	case groupCoordinator:
		topic, kind = groupTopic, acl.Group
	case transactionCoordinator:
		topic, kind = txnTopic, acl.TransactionalID
	case shareCoordinator:
		return metadata.Broker{}, fmt.Errorf("share groups need KRaft: %w", kerr.InvalidRequest)
	default:
		return metadata.Broker{}, protocol.WithMessage(kerr.InvalidRequest, unknownCoordinatorType)
	}
	if err := b.denied(r, acl.Describe, kind, key); err != nil {
		return metadata.Broker{}, err
	}
	image := b.cache.Image()
	if !knownTopic(image, topic) {
		if err := b.autoCreateTopic(r.Context(), topic); !isRetriable(err) {
			b.log.Warn("internal topic not created", "topic", topic, "err", err)
		}
		return metadata.Broker{}, fmt.Errorf("topic %s is being created: %w", topic, kerr.CoordinatorNotAvailable)
	}
	return coordinatorIn(image, topic, key)
}

// coordinatorIn finds the leader of the partition of an internal topic that the key belongs to.
func coordinatorIn(image *metadata.Image, topic, key string) (metadata.Broker, error) {
	t, ok := image.Topic(topic)
	if !ok {
		return metadata.Broker{}, fmt.Errorf("topic %s is not there: %w", topic, kerr.CoordinatorNotAvailable)
	}
	p, ok := t.Partitions[coordinator.PartitionFor(key, int32(len(t.Partitions)))]
	if !ok {
		return metadata.Broker{}, kerr.CoordinatorNotAvailable
	}
	leader, ok := image.Broker(p.Leader)
	if !ok {
		return metadata.Broker{}, fmt.Errorf("partition of %s has no leader: %w", topic, kerr.CoordinatorNotAvailable)
	}
	return leader, nil
}
