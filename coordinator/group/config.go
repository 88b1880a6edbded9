package group

import "time"

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
	}
}
