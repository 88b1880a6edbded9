package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"jackdaw/broker/network"
	"jackdaw/config"
	"jackdaw/metadata"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

func (b *Broker) listenerConfig(c *config.Broker, l metadata.Endpoint) (network.ListenerConfig, error) {
	out := network.ListenerConfig{
		Name: l.Listener, Addr: net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port))), InterBroker: l.Listener == c.Network.InterBroker,
		MaxConns: c.Network.MaxConnectionsOf[l.Listener],
	}
	return out, b.protect(&out, &c.Network)
}

// applyListeners opens and closes listeners until they are those of the configuration, and tells the cluster what is
// advertised now. One that cannot be opened leaves the registration as it was. Kafka: DynamicListenerConfig.
func (b *Broker) applyListeners(ctx context.Context, now *config.Broker) {
	wanted := now.Network.Listeners
	// Removal comes first: a new listener may have the port of an old one.
	for _, name := range b.network.Listeners() {
		if !slices.ContainsFunc(wanted, func(e metadata.Endpoint) bool { return e.Listener == name }) {
			b.log.Info("removing listener", "listener", name)
			b.network.RemoveListener(name)
		}
	}
	for _, e := range wanted {
		if slices.Contains(b.network.Listeners(), e.Listener) {
			continue
		}
		b.log.Info("adding listener", "listener", e.Listener, "host", e.Host, "port", e.Port)
		l, err := b.listenerConfig(now, e)
		if err == nil {
			err = b.network.AddListener(l)
		}
		if err != nil {
			b.log.Error("listener not added", "err", err)
			return
		}
	}
	if err := b.advertise(ctx, now); err != nil {
		b.log.Error("endpoints not registered", "err", err)
	}
}

// advertise rewrites the registration if the endpoints are others than before. Without a session the next one does.
func (b *Broker) advertise(ctx context.Context, now *config.Broker) error {
	endpoints, err := b.resolveEndpoints(now)
	if err != nil || slices.Equal(endpoints, b.Endpoints()) {
		return err
	}
	b.advertised.Store(&endpoints)
	session := b.zk.Session()
	if session == nil || b.brokerEpoch.Load() < 0 {
		return nil
	}
	b.log.Info("registering other endpoints", "endpoints", endpoints)
	if err := session.UpdateBroker(ctx, b.info(endpoints)); !errors.Is(err, zkstore.ErrNoNode) {
		return err
	}
	return nil // registerEndpoints is about to make the node
}

// registerEndpoints puts the broker into /brokers/ids, and again if the endpoints have been changed meanwhile: advertise
// may have found no node to rewrite.
func (b *Broker) registerEndpoints(ctx context.Context, session *zkstore.Session) (epoch int64, err error) {
	for {
		endpoints := b.advertised.Load()
		epoch, err = session.RegisterBroker(ctx, b.info(*endpoints))
		if err != nil || b.advertised.Load() == endpoints {
			return epoch, err
		}
	}
}

func (b *Broker) info(endpoints []metadata.Endpoint) znode.BrokerInfo {
	return znode.BrokerInfo{
		Broker:      metadata.Broker{ID: b.id, Endpoints: endpoints, Rack: b.cfg.Rack},
		JMXPort:     -1,
		TimestampMs: time.Now().UnixMilli(),
	}
}

// resolveEndpoints fills in what the operating system chose: the port of a listener with port 0, and the host name where
// neither listeners nor advertised.listeners has one.
func (b *Broker) resolveEndpoints(c *config.Broker) ([]metadata.Endpoint, error) {
	out := make([]metadata.Endpoint, 0, len(c.Network.Advertised))
	for _, e := range c.Network.Advertised {
		if e.Port == 0 {
			addr, ok := b.network.Addr(e.Listener).(*net.TCPAddr)
			if !ok {
				return nil, fmt.Errorf("advertised.listeners: %s is not among listeners", e.Listener)
			}
			e.Port = int32(addr.Port)
		}
		out = append(out, e)
	}
	return out, nil
}
