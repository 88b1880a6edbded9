package controller

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
	"jackdaw/peer"
)

// Config is what a Controller needs to know and to reach.
type Config struct {
	BrokerID metadata.BrokerID
	// InterBrokerListener names the listener that brokers reach each other by.
	InterBrokerListener string
	// IBP is inter.broker.protocol.version, for example 3.9-IV0. It chooses the versions of controller requests.
	IBP string
	// Dial connects to a broker. Each call makes a new connection.
	Dial func(ctx context.Context, b metadata.Broker) (*peer.Conn, error)
	// UncleanElection tells whether an out-of-sync replica of the topic may lead. It is called by the event loop and must
	// not block.
	UncleanElection func(topic string) bool
	// DeleteTopicEnable is delete.topic.enable.
	DeleteTopicEnable bool
	// AutoLeaderRebalance is auto.leader.rebalance.enable; ImbalancePercent and RebalanceInterval are
	// leader.imbalance.per.broker.percentage and leader.imbalance.check.interval.seconds.
	AutoLeaderRebalance bool
	ImbalancePercent    int
	RebalanceInterval   time.Duration
	Logger              *slog.Logger
	// StateChange receives the lines of Kafka's state.change.logger.
	StateChange *slog.Logger
	Metrics     prometheus.Registerer
	Now         func() time.Time
}

// Controller is one broker's part in the election of the controller, and the controller itself while it is elected.
// Kafka: KafkaController.
type Controller struct {
	cfg Config
}

// New allocates a controller; nothing happens before Run and SessionStarted.
func New(cfg Config) *Controller { return &Controller{cfg: cfg} }

// Run is the event loop. It returns when ctx ends, after resigning.
func (c *Controller) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Active reports whether this broker is the controller.
func (c *Controller) Active() bool { return false }

// Epoch returns the epoch of the controller that this broker last knew, 0 before any.
func (c *Controller) Epoch() int32 { return 0 }

// Resign gives the role up for good, before this broker closes its session.
func (c *Controller) Resign(ctx context.Context) error { return nil }

// CreateTopics validates and creates topics.
func (c *Controller) CreateTopics(ctx context.Context, topics []NewTopic, validateOnly bool) []CreateResult {
	return nil
}

// DeleteTopics marks topics for deletion.
func (c *Controller) DeleteTopics(ctx context.Context, topics []string) map[string]error { return nil }

// CreatePartitions adds partitions to topics.
func (c *Controller) CreatePartitions(ctx context.Context, topics []NewPartitions, validateOnly bool) []PartitionsResult {
	return nil
}

// AlterPartition answers a leader that proposes a new ISR.
func (c *Controller) AlterPartition(ctx context.Context, req *kmsg.AlterPartitionRequest) *kmsg.AlterPartitionResponse {
	return nil
}

// AllocateProducerIDs hands out a block of producer ids.
func (c *Controller) AllocateProducerIDs(ctx context.Context, broker metadata.BrokerID, brokerEpoch int64) (start int64, n int32, err error) {
	return 0, 0, kerr.NotController
}

// ControlledShutdown moves leaders away from a broker that is about to stop, and returns those it could not move.
func (c *Controller) ControlledShutdown(ctx context.Context, broker metadata.BrokerID, brokerEpoch int64) ([]metadata.TopicPartition, error) {
	return nil, kerr.NotController
}

// ElectLeaders elects leaders by the given rule, for all partitions when tps is nil.
func (c *Controller) ElectLeaders(ctx context.Context, t ElectionType, tps []metadata.TopicPartition) (map[metadata.TopicPartition]error, error) {
	return nil, kerr.NotController
}

// AlterReassignments starts, replaces and cancels reassignments.
func (c *Controller) AlterReassignments(ctx context.Context, rs []Reassignment) (map[metadata.TopicPartition]error, error) {
	return nil, kerr.NotController
}

// ListReassignments returns the reassignments that run, all of them when tps is nil.
func (c *Controller) ListReassignments(ctx context.Context, tps []metadata.TopicPartition) ([]OngoingReassignment, error) {
	return nil, kerr.NotController
}
