package config

import (
	"slices"
	"strings"
	"time"
)

// ConsumerGroups is about the groups of KIP-848.
type ConsumerGroups struct {
	Enabled           bool
	HeartbeatInterval time.Duration
	SessionTimeout    time.Duration
	MaxSize           int
	Assignors         []string // "uniform", "range"; the first is the default
	MigrationPolicy   string   // lower case
}

// assignorPackage is where Kafka's own assignors are.
const assignorPackage = "org.apache.kafka.coordinator.group.assignor."

// assignorNames are the assignors by class.
var assignorNames = map[string]string{
	assignorPackage + "UniformAssignor": "uniform",
	assignorPackage + "RangeAssignor":   "range",
}

// migrationPolicies are Kafka's: ConsumerGroupMigrationPolicy.
var migrationPolicies = []string{"disabled", "upgrade", "downgrade", "bidirectional"}

func newConsumerGroups(r *reader) ConsumerGroups {
	c := ConsumerGroups{
		Enabled:           slices.Contains(lower(r.list("group.coordinator.rebalance.protocols")), "consumer"),
		HeartbeatInterval: r.millis("group.consumer.heartbeat.interval.ms"),
		SessionTimeout:    r.millis("group.consumer.session.timeout.ms"),
		MaxSize:           r.int("group.consumer.max.size"),
		MigrationPolicy:   strings.ToLower(r.str("group.consumer.migration.policy")),
	}
	for _, class := range r.list("group.consumer.assignors") {
		c.Assignors = append(c.Assignors, assignorNames[class])
	}
	return c
}

// validateConsumerGroups is Kafka's GroupCoordinatorConfig.validate, and the check of what KafkaConfig would load as a class.
//
// Differs from Kafka: where the consumer protocol needs KRaft.
func validateConsumerGroups(r *reader, b *Broker) error {
	protocols := lower(r.list("group.coordinator.rebalance.protocols"))
	if slices.Contains(protocols, "share") || slices.Contains(protocols, "unknown") {
		return refuse("group.coordinator.rebalance.protocols", "Invalid value %s for configuration "+
			"group.coordinator.rebalance.protocols: only classic and consumer are supported", strings.Join(protocols, ","))
	}
	if !slices.Contains(protocols, "classic") {
		return refuse("group.coordinator.rebalance.protocols", "Disabling the 'classic' protocol is not supported.")
	}
	for _, d := range []struct{ least, value, most string }{
		{"group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
		{"group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
	} {
		switch least, value, most := r.int64(d.least), r.int64(d.value), r.int64(d.most); {
		case most < least:
			return refuse(d.most, "%s must be greater than or equals to %s", d.most, d.least)
		case value < least:
			return refuse(d.value, "%s must be greater than or equals to %s", d.value, d.least)
		case value > most:
			return refuse(d.value, "%s must be less than or equals to %s", d.value, d.most)
		}
	}
	classes := r.list("group.consumer.assignors")
	for _, class := range classes {
		if assignorNames[class] == "" {
			return refuse("group.consumer.assignors", "Invalid value %s for configuration group.consumer.assignors: "+
				"not one of Kafka's own assignors", class)
		}
	}
	if len(classes) == 0 {
		return refuse("group.consumer.assignors", "Invalid value  for configuration group.consumer.assignors: it names none")
	}
	if p := b.Groups.Consumer.MigrationPolicy; !slices.Contains(migrationPolicies, p) {
		return refuse("group.consumer.migration.policy", "Invalid value %s for configuration group.consumer.migration.policy: "+
			"String must be one of (case insensitive): BIDIRECTIONAL, DOWNGRADE, UPGRADE, DISABLED", r.str("group.consumer.migration.policy"))
	}
	return nil
}

func lower(l []string) []string {
	out := make([]string, len(l))
	for i, s := range l {
		out[i] = strings.ToLower(s)
	}
	return out
}
