package group

import (
	"time"

	"jackdaw/coordinator/group/assignor"
)

// Config bounds groups and offsets, from server.properties.
type Config struct {
	// MinSessionTimeout and MaxSessionTimeout are group.min.session.timeout.ms and group.max.session.timeout.ms.
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// InitialRebalanceDelay is group.initial.rebalance.delay.ms.
	InitialRebalanceDelay time.Duration
	// NewMemberJoinTimeout is how long the first join of a member may wait for the rebalance to end: 5 minutes, no key.
	// Kafka: GroupCoordinator.NewMemberJoinTimeoutMs.
	NewMemberJoinTimeout time.Duration
	// MaxSize is group.max.size, members in a group.
	MaxSize int
	// MaxMetadata is offset.metadata.max.bytes; as in Kafka it counts UTF-16 units.
	MaxMetadata int
	// OffsetsRetention is offsets.retention.minutes.
	OffsetsRetention time.Duration
	// RetentionCheckInterval is offsets.retention.check.interval.ms.
	RetentionCheckInterval time.Duration
	// Consumer bounds consumer groups.
	Consumer ConsumerConfig
}

// ConsumerConfig bounds the groups of KIP-848.
type ConsumerConfig struct {
	// Enabled is set if group.coordinator.rebalance.protocols has "consumer". Groups that are there are kept without it, too.
	Enabled bool
	// SessionTimeout and HeartbeatInterval are group.consumer.session.timeout.ms and group.consumer.heartbeat.interval.ms: the
	// coordinator tells them to members.
	SessionTimeout, HeartbeatInterval time.Duration
	// MaxSize is group.consumer.max.size, members in a group.
	MaxSize int
	// Assignors are the names of group.consumer.assignors; the first is the default.
	Assignors []string
	// Migration is group.consumer.migration.policy.
	Migration MigrationPolicy
	// RefreshInterval is how often subscribed topics are looked at even if they seem not to have changed: 10 minutes, no key.
	// Kafka: CONSUMER_GROUP_METADATA_REFRESH_INTERVAL_MS.
	RefreshInterval time.Duration
}

// DefaultConfig returns Kafka's defaults.
func DefaultConfig() Config {
	return Config{
		MinSessionTimeout:      6 * time.Second,
		MaxSessionTimeout:      30 * time.Minute,
		InitialRebalanceDelay:  3 * time.Second,
		NewMemberJoinTimeout:   5 * time.Minute,
		MaxSize:                1<<31 - 1,
		MaxMetadata:            4096,
		OffsetsRetention:       7 * 24 * time.Hour,
		RetentionCheckInterval: 10 * time.Minute,
		Consumer: ConsumerConfig{
			SessionTimeout:    45 * time.Second,
			HeartbeatInterval: 5 * time.Second,
			MaxSize:           1<<31 - 1,
			Assignors:         []string{assignor.UniformName, assignor.RangeName},
			Migration:         MigrateNot,
			RefreshInterval:   10 * time.Minute,
		},
	}
}
