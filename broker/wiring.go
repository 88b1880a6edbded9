package broker

import (
	"context"
	"fmt"
	"math"
	"time"

	"jackdaw/broker/network"
	"jackdaw/controller"
	"jackdaw/internal/budget"
	"jackdaw/internal/run"
	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/peer"
	"jackdaw/replication"
)

// openLogs loads the data directories, recovering them after an unclean stop.
func (b *Broker) openLogs(ctx context.Context) error {
	b.topics = newTopicConfigs(b.id, b.loaded, b.log)
	if err := b.topics.Load(ctx, b.zk.Session()); err != nil {
		return fmt.Errorf("read topic configs: %w", err)
	}
	settings := b.topics.broker.Load()
	b.logs = log.NewManager(log.Options{
		FS:                         b.fs,
		Dirs:                       b.cfg.Log.Dirs,
		Config:                     b.topics.Log,
		BrokerID:                   int32(b.id),
		ClusterID:                  b.clusterID,
		RecoveryThreads:            settings.Log.RecoveryThreads,
		Logger:                     b.log,
		Metrics:                    b.registry,
		RetentionInterval:          b.cfg.Log.RetentionInterval,
		FlushInterval:              b.cfg.Log.FlushInterval,
		RecoveryCheckpointInterval: b.cfg.Log.RecoveryCheckpointInterval,
		StartCheckpointInterval:    b.cfg.Log.StartCheckpointInterval,
		ProducerExpiryInterval:     b.cfg.Transactions.ProducerExpiryInterval,
		ProducerExpiration:         b.cfg.Transactions.ProducerExpiration,
		InitialDelay:               b.cfg.Log.InitialDelay,
		OnDirFailure:               b.logDirFailed,
	})
	if err := b.logs.Open(ctx); err != nil {
		return err
	}
	b.logsOpen = true
	b.openCleaner()
	b.topics.changed = func(_ context.Context, topic string, _ bool) { b.logs.UpdateConfig(topic) }
	return nil
}

// openNetwork binds the listeners, so that the addresses to register are known.
func (b *Broker) openNetwork(ctx context.Context) error {
	settings := b.topics.broker.Load()
	listeners := make([]network.ListenerConfig, 0, len(settings.Network.Listeners))
	for _, l := range settings.Network.Listeners {
		c, err := b.listenerConfig(settings, l)
		if err != nil {
			return err
		}
		listeners = append(listeners, c)
	}
	b.network = network.New(network.Options{
		Listeners:              listeners,
		Handler:                b,
		MaxRequestBytes:        b.cfg.Network.RequestMaxBytes,
		MaxConns:               b.cfg.Network.MaxConnections,
		MaxConnsPerIP:          b.cfg.Network.MaxConnectionsPerIP,
		MaxConnsPerIPOverrides: b.cfg.Network.MaxConnectionsPerIPOverride,
		IdleTimeout:            b.cfg.Network.MaxIdle,
		FailedAuthDelay:        b.cfg.Network.FailedAuthenticationDelay,
		SendBuffer:             b.cfg.Network.SendBuffer,
		ReceiveBuffer:          b.cfg.Network.ReceiveBuffer,
		Budget:                 budget.New(b.cfg.Network.QueuedMaxBytes),
		Throttle:               b.quotas.RequestDelay,
		ThrottleConn:           b.quotas.Connected,
		ThrottleAccept:         b.quotas.Accepted,
		Logger:                 b.log,
		Metrics:                b.registry,
	})
	if err := b.network.Start(); err != nil {
		return err
	}
	advertised, err := b.resolveEndpoints(settings)
	if err != nil {
		return err
	}
	b.advertised.Store(&advertised)
	if b.cfg.Admin.Listen != "" {
		if b.admin, err = openAdminServer(ctx, b.cfg.Admin.Listen, b.registry, b.serving.Load); err != nil {
			return err
		}
	}
	if b.cfg.Admin.Profiles != "" {
		b.profiles, err = openProfileServer(ctx, b.cfg.Admin.Profiles)
	}
	return err
}

// openCores makes the parts that hold the broker's state. Nothing runs yet.
func (b *Broker) openCores() {
	b.toController = peer.NewControllerChannel(peer.ChannelOptions{
		Options: b.peerOptions(fmt.Sprint(b.id), b.cfg.Controller.SocketTimeout),
		Lookup:  b.controllerAddress,
	})
	b.isr = b.newISRStore()
	b.sends = newThrottle(b.cfg.Replication.ThrottleWindows, b.cfg.Replication.LeaderRate)
	b.receives = newThrottle(b.cfg.Replication.ThrottleWindows, b.cfg.Replication.FollowerRate)
	b.moves = newThrottle(b.cfg.Replication.MoveWindows, b.cfg.Replication.MoveRate)
	b.replicas = replication.New(b.replicationConfig())
	b.openCoordinators()
	b.controller = controller.New(controller.Config{
		BrokerID:            b.id,
		InterBrokerListener: b.cfg.Network.InterBroker,
		IBP:                 string(b.cfg.IBP),
		Dial:                b.dialForController,
		UncleanElection:     b.topics.UncleanElection,
		DeleteTopicEnable:   b.cfg.DeleteTopics,
		AutoLeaderRebalance: b.cfg.Controller.AutoRebalance,
		ImbalancePercent:    b.cfg.Controller.ImbalancePercent,
		RebalanceInterval:   b.cfg.Controller.ImbalanceInterval,
		FastFailover:        b.cfg.Controller.FastFailover,
		Logger:              b.log,
		StateChange:         b.stateChange,
		Metrics:             b.registry,
		Now:                 time.Now,
	})
}

func (b *Broker) replicationConfig() replication.Config {
	return replication.Config{
		BrokerID:              b.id,
		Rack:                  b.cfg.Rack,
		Logs:                  b.logs,
		ISR:                   b.isr,
		Dial:                  b.dialLeader,
		Image:                 b.cache.Image,
		BrokerEpoch:           b.brokerEpoch.Load,
		LagTimeMax:            b.cfg.Replication.LagTimeMax,
		FetchWaitMax:          b.cfg.Replication.FetchWaitMax,
		FetchBackoff:          b.cfg.Replication.FetchBackoff,
		FetchMinBytes:         b.cfg.Replication.FetchMinBytes,
		FetchMaxBytes:         b.cfg.Replication.FetchMaxBytes,
		FetchResponseMaxBytes: b.cfg.Replication.FetchResponseMaxBytes,
		FetchVersion:          b.ibp.FetchVersion(),
		ListOffsetsVersion:    b.ibp.ListOffsetsVersion(),
		EpochEndVersion:       b.ibp.EpochEndVersion(),
		NumFetchers:           b.cfg.Replication.NumFetchers,
		HWCheckpointInterval:  b.cfg.Replication.HWCheckpointInterval,
		Selector:              b.selector(),
		LeaderThrottle:        b.sends,
		FollowerThrottle:      b.receives,
		MoveThrottle:          b.moves,
		NumMovers:             b.cfg.Replication.NumMovers,
		SessionSlots:          b.cfg.FetchSessions,
		Logger:                b.log,
		StateChange:           b.stateChange,
		Metrics:               b.registry,
		Now:                   time.Now,
		OnLeadership:          b.leadershipChanged,
	}
}

// selector is replica.selector.class.
func (b *Broker) selector() replication.ReplicaSelector {
	if b.cfg.Replication.RackAware {
		return replication.RackAware{}
	}
	return nil
}

// runParts starts everything that has a loop. The order does not matter: nothing is asked of them before the broker is
// registered.
func (b *Broker) runParts(parts *run.Group) {
	parts.Go("network", b.network.Run)
	parts.Go("logs", b.logs.Run)
	if b.cleaner != nil {
		parts.Go("log-cleaner", b.cleaner.Run)
	}
	parts.Go("replicas", b.replicas.Run)
	parts.Go("isr-proposer", b.isr.Run)
	ctx, stop := context.WithCancel(parts.Context())
	b.stopCoordinators = stop
	b.runCoordinators(ctx, parts)
	parts.Go("controller", b.controller.Run)
	if b.admin != nil {
		parts.Go("admin", b.admin.Run)
	}
	if b.profiles != nil {
		parts.Go("profiles", b.profiles.Run)
	}
}

func (b *Broker) peerOptions(clientID string, timeout time.Duration) peer.Options {
	o := peer.Options{ClientID: clientID, Timeout: timeout, MaxResponseBytes: math.MaxInt32}
	b.protectPeer(&o)
	return o
}

func (b *Broker) dialForController(ctx context.Context, broker metadata.Broker) (*peer.Conn, error) {
	addr, ok := b.interBrokerAddress(broker)
	if !ok {
		return nil, fmt.Errorf("broker %d has no listener %s", broker.ID, b.cfg.Network.InterBroker)
	}
	return peer.Dial(ctx, addr, b.peerOptions(fmt.Sprint(b.id), b.cfg.Controller.SocketTimeout))
}

func (b *Broker) dialLeader(ctx context.Context, leader metadata.BrokerID, clientID string) (replication.Leader, error) {
	broker, ok := b.cache.Image().Broker(leader)
	if !ok {
		return nil, fmt.Errorf("broker %d is not alive", leader)
	}
	addr, ok := b.interBrokerAddress(broker)
	if !ok {
		return nil, fmt.Errorf("broker %d has no listener %s", leader, b.cfg.Network.InterBroker)
	}
	o := b.peerOptions(clientID, b.cfg.Replication.SocketTimeout)
	o.ReadBuffer = b.cfg.Replication.ReceiveBuffer
	conn, err := peer.Dial(ctx, addr, o)
	if err != nil {
		return nil, err
	}
	return conn, nil
}
