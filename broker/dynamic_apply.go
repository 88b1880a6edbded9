package broker

import (
	"context"
	"maps"

	"jackdaw/broker/network"
	"jackdaw/config"
	"jackdaw/zkstore"
)

// followConfig puts the dynamic settings to work that were there before the start, and from now on each change. It comes
// before the first session is followed.
func (b *Broker) followConfig(ctx context.Context) {
	b.topics.changed, b.topics.brokerChanged, b.topics.otherChanged = b.topicChanged, b.applyDynamic, b.entityChanged
	b.applyDynamic(ctx, b.cfg, b.topics.broker.Load())
	for _, topic := range b.topics.Names() {
		b.throttleTopic(topic)
	}
}

// applyDynamic puts settings that were changed while the broker runs to work. What concerns logs reaches them by
// themselves: see topicConfigs. Kafka: DynamicBrokerConfig.updateCurrentConfig, and its reconfigurables.
func (b *Broker) applyDynamic(ctx context.Context, was, now *config.Broker) {
	if limits := connectionLimits(now); !sameLimits(connectionLimits(was), limits) {
		if err := b.network.SetLimits(ctx, limits); err != nil {
			b.log.Error("connection limits not changed", "err", err)
		}
	}
	b.applyKeys(&now.Network)
	b.applyListeners(ctx, now)
	b.quotas.most.Store(&connectionRates{now.Network.MaxConnectionRate, now.Network.MaxConnectionRateOf})
	if n := now.Replication.NumFetchers; n != was.Replication.NumFetchers {
		b.replicas.SetFetchers(max(n, 1))
	}
	b.sends.limit.Store(now.Replication.LeaderRate)
	b.receives.limit.Store(now.Replication.FollowerRate)
	b.moves.limit.Store(now.Replication.MoveRate)
	if d := now.Transactions.ProducerExpiration; d != was.Transactions.ProducerExpiration {
		b.logs.SetProducerExpiration(d)
	}
	b.retuneCleaner(was.Log.Cleaner, now.Log.Cleaner)
	if enabled(now) && !enabled(was) {
		b.electMissing(ctx)
	}
}

// entityChanged is called for what is neither a topic nor a broker.
func (b *Broker) entityChanged(ctx context.Context, session *zkstore.Session, entityType, name string) {
	b.quotas.Changed(ctx, session, entityType, name)
	b.credentials.Changed(ctx, session, entityType, name)
}

func enabled(c *config.Broker) bool {
	t, err := c.Topic(nil)
	return err == nil && t.UncleanElection
}

// electMissing lets the controller, if it is here, elect leaders for partitions that have none, now that it may take
// replicas which are not in sync. Kafka: KafkaController.enableDefaultUncleanLeaderElection, enableTopicUncleanLeaderElection.
func (b *Broker) electMissing(ctx context.Context) {
	if !b.controller.Active() {
		return
	}
	if err := b.controller.ElectMissing(ctx); err != nil {
		b.log.Warn("unclean election not tried", "err", err)
	}
}

// topicChanged is called for a topic whose own settings are new, and for every topic when those are that it inherits.
func (b *Broker) topicChanged(ctx context.Context, topic string, inherited bool) {
	b.logs.UpdateConfig(topic)
	b.throttleTopic(topic)
	if _, own := b.topics.Overrides(topic)["unclean.leader.election.enable"]; own && !inherited && b.topics.UncleanElection(topic) {
		b.electMissing(ctx)
	}
}

// throttleTopic takes over which replicas of a topic are throttled. Kafka: TopicConfigHandler.updateThrottledList.
func (b *Broker) throttleTopic(topic string) {
	t := b.topics.Topic(topic)
	b.sends.List(topic, b.id, t.LeaderThrottled)
	b.receives.List(topic, b.id, t.FollowerThrottled)
}

func connectionLimits(c *config.Broker) network.Limits {
	return network.Limits{
		MaxConns:               c.Network.MaxConnections,
		MaxConnsPerIP:          c.Network.MaxConnectionsPerIP,
		MaxConnsPerIPOverrides: c.Network.MaxConnectionsPerIPOverride,
		MaxConnsOf:             c.Network.MaxConnectionsOf,
	}
}

func sameLimits(x, y network.Limits) bool {
	return x.MaxConns == y.MaxConns && x.MaxConnsPerIP == y.MaxConnsPerIP &&
		maps.Equal(x.MaxConnsPerIPOverrides, y.MaxConnsPerIPOverrides) && maps.Equal(x.MaxConnsOf, y.MaxConnsOf)
}
