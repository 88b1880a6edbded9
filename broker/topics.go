package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/controller"
	"jackdaw/metadata"
)

// Internal topics. Kafka: Topic.GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME.
const (
	groupTopic = "__consumer_offsets"
	txnTopic   = "__transaction_state"
)

func isInternalTopic(name string) bool { return name == groupTopic || name == txnTopic }

func knownTopic(m *metadata.Image, name string) bool {
	_, ok := m.Topic(name)
	return ok
}

// autoCreateTopic creates a topic that somebody asked for, by way of the controller, and returns what to tell the client:
// LEADER_NOT_AVAILABLE when it is on its way. Askers at the same time share one creation.
// Kafka: DefaultAutoTopicCreationManager.
func (b *Broker) autoCreateTopic(ctx context.Context, name string) error {
	topic := b.autoTopic(name)
	if alive := len(b.cache.Image().Brokers()); int(topic.RF) > alive {
		return fmt.Errorf("topic %s: replication factor %d is larger than the %d live brokers: %w", name, topic.RF, alive, kerr.InvalidReplicationFactor)
	}
	_, err, _ := b.creations.Do(name, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.cfg.Network.RequestTimeout)
		defer cancel()
		return nil, b.sendCreateTopic(ctx, topic)
	})
	if err == nil || errors.Is(err, kerr.TopicAlreadyExists) || errors.Is(err, kerr.RequestTimedOut) {
		return kerr.LeaderNotAvailable
	}
	b.log.Info("topic not created automatically", "topic", name, "err", err)
	if errors.Is(err, kerr.InvalidTopicException) || errors.Is(err, kerr.InvalidReplicationFactor) || errors.Is(err, kerr.InvalidPartitions) {
		return err
	}
	return fmt.Errorf("create topic %s: %w", name, kerr.UnknownTopicOrPartition)
}

// autoTopic gives the shape of a topic that is created automatically; internal ones have settings of their own.
func (b *Broker) autoTopic(name string) controller.NewTopic {
	t := controller.NewTopic{Name: name, NumPartitions: b.cfg.NumPartitions, RF: b.cfg.ReplicationFactor, Configs: map[string]string{}}
	switch name {
	case groupTopic:
		t.NumPartitions, t.RF = b.cfg.Groups.Partitions, int32(b.cfg.Groups.ReplicationFactor)
		t.Configs = map[string]string{
			"cleanup.policy":   "compact",
			"segment.bytes":    strconv.Itoa(int(b.cfg.Groups.SegmentBytes)),
			"compression.type": "producer",
		}
	case txnTopic:
		t.NumPartitions, t.RF = b.cfg.Transactions.Partitions, int32(b.cfg.Transactions.ReplicationFactor)
		t.Configs = map[string]string{
			"cleanup.policy":                 "compact",
			"segment.bytes":                  strconv.Itoa(int(b.cfg.Transactions.SegmentBytes)),
			"compression.type":               "uncompressed",
			"min.insync.replicas":            strconv.Itoa(int(b.cfg.Transactions.MinISR)),
			"unclean.leader.election.enable": "false",
		}
	}
	return t
}

// sendCreateTopic asks the controller, which may be this broker, and returns its answer for the topic.
func (b *Broker) sendCreateTopic(ctx context.Context, t controller.NewTopic) error {
	if b.controller.Active() {
		return b.controller.CreateTopics(ctx, []controller.NewTopic{t}, false)[0].Err
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(7)
	req.TimeoutMillis = int32(b.cfg.Network.RequestTimeout.Milliseconds())
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = t.Name, t.NumPartitions, int16(t.RF)
	for k, v := range t.Configs {
		topic.Configs = append(topic.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: k, Value: &v})
	}
	req.Topics = append(req.Topics, topic)
	resp, err := b.toController.Request(ctx, req)
	if err != nil {
		return err
	}
	for _, out := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if err := kerr.ErrorForCode(out.ErrorCode); err != nil {
			return err
		}
	}
	return nil
}

// endpointFor returns where a client of the listener reaches a broker.
func (b *Broker) endpointFor(id metadata.BrokerID, listener string) (metadata.Endpoint, *string, bool) {
	broker, ok := b.cache.Image().Broker(id)
	if !ok {
		return metadata.Endpoint{}, nil, false
	}
	e, ok := broker.Endpoint(listener)
	return e, optional(broker.Rack), ok
}

// controllerAddress is where the active controller is reached on the inter-broker listener.
func (b *Broker) controllerAddress() (string, bool) {
	image := b.cache.Image()
	broker, ok := image.Broker(image.Controller)
	if !ok {
		return "", false
	}
	return b.interBrokerAddress(broker)
}

func (b *Broker) interBrokerAddress(broker metadata.Broker) (string, bool) {
	e, ok := broker.Endpoint(b.cfg.Network.InterBroker)
	if !ok {
		return "", false
	}
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))), true
}
