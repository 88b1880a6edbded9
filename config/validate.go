package config

import (
	"slices"
)

// validate checks what one key alone cannot tell. The texts are Kafka's where Kafka checks the same, less the words
// "requirement failed". Kafka: KafkaConfig.validateValues.
func validate(r *reader, b *Broker) error {
	for _, check := range []func(*reader, *Broker) error{
		validateID, validateDirs, validateTimes, validateReplication, validateGroups, validateNetwork, validateModes,
	} {
		if err := check(r, b); err != nil {
			return err
		}
	}
	return nil
}

func validateID(_ *reader, b *Broker) error {
	const key = "broker.id"
	if !b.GenerateID && b.ID < 0 {
		return refuse(key, "broker.id must be greater than or equal to 0 when broker.id.generation.enable is false")
	}
	if b.GenerateID && (b.ID < -1 || int32(b.ID) > b.ReservedMaxID) {
		return refuse(key, "broker.id must be greater than or equal to -1 and not greater than reserved.broker.max.id")
	}
	return nil
}

func validateDirs(_ *reader, b *Broker) error {
	if len(b.Log.Dirs) == 0 {
		return refuse("log.dirs", "At least one log directory must be defined via log.dirs or log.dir.")
	}
	for i, d := range b.Log.Dirs {
		if slices.Contains(b.Log.Dirs[:i], d) {
			return refuse("log.dirs", "Duplicate log directory found: %s in log.dirs", d)
		}
	}
	c := b.Log.Cleaner
	if c.Enable && c.DedupeBufferSize/int64(max(c.Threads, 1)) <= 1<<20 {
		return refuse("log.cleaner.dedupe.buffer.size", "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.")
	}
	return nil
}

func validateTimes(r *reader, _ *Broker) error {
	if r.firstMillis(rollKeys...) < 1 {
		return refuse("log.roll.ms", "log.roll.ms must be greater than or equal to 1")
	}
	if r.firstMillis(jitterKeys...) < 0 {
		return refuse("log.roll.jitter.ms", "log.roll.jitter.ms must be greater than or equal to 0")
	}
	if r.firstMillis(retentionKeys...) == 0 {
		return refuse("log.retention.ms", "log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
	}
	return nil
}

func validateReplication(_ *reader, b *Broker) error {
	p := b.Replication
	if p.FetchWaitMax > p.SocketTimeout {
		return refuse("replica.socket.timeout.ms", "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms "+
			"to prevent unnecessary socket timeouts")
	}
	if p.FetchWaitMax > p.LagTimeMax {
		return refuse("replica.fetch.wait.max.ms", "replica.fetch.wait.max.ms should always be less than or equal to "+
			"replica.lag.time.max.ms to prevent frequent changes in ISR")
	}
	return nil
}

func validateGroups(r *reader, b *Broker) error {
	g := b.Groups
	if g.CommitAcks < -1 || g.CommitAcks > g.ReplicationFactor {
		return refuse("offsets.commit.required.acks", "offsets.commit.required.acks must be greater or equal to -1 and less or "+
			"equal to offsets.topic.replication.factor")
	}
	if g.CommitAcks > 1 { // Kafka starts, and refuses each commit: ReplicaManager.isValidRequiredAcks
		return refuse("offsets.commit.required.acks", "Invalid value %d for configuration offsets.commit.required.acks: "+
			"only -1, 0 and 1 can be waited for", g.CommitAcks)
	}
	if g.CompressionCodec < 0 || g.CompressionCodec > 4 {
		return refuse("offsets.topic.compression.codec", "Invalid value %d for configuration offsets.topic.compression.codec: "+
			"Unknown compression type id: %d", g.CompressionCodec, g.CompressionCodec)
	}
	if g.MinSessionTimeout > g.MaxSessionTimeout {
		return refuse("group.min.session.timeout.ms", "group.min.session.timeout.ms should always be less than or equal to "+
			"group.max.session.timeout.ms")
	}
	return validateConsumerGroups(r, b)
}

func validateNetwork(r *reader, b *Broker) error {
	n := b.Network
	if n.QueuedMaxBytes > 0 && n.QueuedMaxBytes < int64(n.RequestMaxBytes) {
		return refuse("queued.max.request.bytes", "queued.max.request.bytes must be larger or equal to socket.request.max.bytes")
	}
	if n.MaxConnectionsPerIP == 0 && len(n.MaxConnectionsPerIPOverride) == 0 {
		return refuse("max.connections.per.ip", "max.connections.per.ip can be set to zero only if "+
			"max.connections.per.ip.overrides property is set.")
	}
	if !b.IBP.AtMost(newest) {
		return refuse("inter.broker.protocol.version", "Invalid value %s for configuration inter.broker.protocol.version: "+
			"versions after %s have no ZooKeeper mode", r.str("inter.broker.protocol.version"), newest)
	}
	return nil
}

// validateModes refuses settings that promise a protection or a mode which is not there: to go on without would be worse
// than not to start.
func validateModes(r *reader, _ *Broker) error {
	if roles := r.list("process.roles"); len(roles) > 0 {
		return refuse("process.roles", "process.roles must be empty: Jackdaw runs with ZooKeeper only")
	}
	for _, key := range []string{
		"remote.log.storage.system.enable", "zookeeper.metadata.migration.enable", "zookeeper.ssl.client.enable", "zookeeper.set.acl",
	} {
		if r.bool(key) {
			return refuse(key, "Invalid value true for configuration %s: not supported", key)
		}
	}
	const controlPlane = "control.plane.listener.name"
	if s := r.str(controlPlane); s != "" {
		return refuse(controlPlane, "Invalid value %s for configuration %s: not supported", s, controlPlane)
	}
	const builder = "principal.builder.class"
	if s := r.str(builder); s != byName[builder].Default.Text {
		return refuse(builder, "Invalid value %s for configuration %s: only the default is supported", s, builder)
	}
	return nil
}
