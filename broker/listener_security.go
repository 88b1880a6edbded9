package broker

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"jackdaw/broker/network"
	"jackdaw/config"
	"jackdaw/peer"
	"jackdaw/security/sasl"
	"jackdaw/security/ssl"
)

// listenerSecurity has the keys of the listeners that need any, so that they can be replaced. Kafka: ChannelBuilders.
type listenerSecurity struct {
	mu struct {
		sync.Mutex
		keys map[string]*ssl.Source // by listener
	}
}

func newListenerSecurity() *listenerSecurity {
	s := &listenerSecurity{}
	s.mu.keys = map[string]*ssl.Source{}
	return s
}

// Source returns the keys of a listener, nil for one without TLS or one that was never opened.
func (s *listenerSecurity) Source(listener string) *ssl.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.keys[listener]
}

// Open loads the keys of a listener. Those of the listener between brokers must do for both ends of a connection.
func (s *listenerSecurity) Open(n *config.Network, listener string) (*ssl.Source, error) {
	c, err := ssl.Load(n.Security[listener].SSL)
	if err == nil && listener == n.InterBroker {
		err = c.Accepts(c)
	}
	if err != nil {
		return nil, fmt.Errorf("listener %s: %w", listener, err)
	}
	source := ssl.NewSource(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.keys[listener] = source
	return source, nil
}

// Reload loads again the keys of the open listeners whose settings or files are others now. The result has only those;
// nothing is replaced yet. Kafka: SslFactory.createNewSslEngineFactory.
func (s *listenerSecurity) Reload(n *config.Network) (map[string]*ssl.Context, error) {
	out := map[string]*ssl.Context{}
	for _, e := range n.Listeners {
		source, next := s.Source(e.Listener), n.Security[e.Listener]
		if source == nil || !next.TLS {
			continue
		}
		now := source.Context()
		if reflect.DeepEqual(now.Settings(), next.SSL) && !now.Stale() {
			continue
		}
		c, err := ssl.Load(next.SSL)
		if err == nil {
			err = now.Compatible(c)
		}
		if err == nil && e.Listener == n.InterBroker {
			err = errors.Join(now.Accepts(c), c.Accepts(now))
		}
		if err != nil {
			return nil, fmt.Errorf("Validation of dynamic config update of SSLFactory failed: %w", err)
		}
		out[e.Listener] = c
	}
	return out, nil
}

// applyKeys puts other keys into use, for connections from now on. What cannot be loaded leaves the old ones there.
func (b *Broker) applyKeys(n *config.Network) {
	next, err := b.security.Reload(n)
	if err != nil {
		b.log.Error("keys of listeners not replaced", "err", err)
		return
	}
	for listener, c := range next {
		b.security.Source(listener).Replace(c)
		b.log.Info("keys of a listener replaced", "listener", listener)
	}
}

// protect adds to the configuration of a listener what its security protocol asks for.
func (b *Broker) protect(l *network.ListenerConfig, n *config.Network) error {
	s := n.Security[l.Name]
	if s.TLS {
		source, err := b.security.Open(n, l.Name)
		if err != nil {
			return err
		}
		l.TLS, l.Principal = source.Server, source.Principal
	}
	if s.Authenticated {
		settings := s.SASL
		settings.Credential = b.credentials.Find
		if settings.Tokens.URL != "" {
			settings.Tokens.Keys = b.tokenKeys(&settings.Tokens)
		}
		if slices.Contains(settings.Mechanisms, sasl.OAuthBearer) && settings.Tokens.URL == "" {
			b.log.Warn("tokens of OAUTHBEARER are taken without a signature: for tests alone", "listener", l.Name)
		}
		l.SASL = &settings
	}
	return nil
}

// tokenKeys has the keys of an endpoint fetched from now on.
func (b *Broker) tokenKeys(t *sasl.Tokens) *sasl.Keys {
	keys := sasl.NewKeys(t.URL, t.Refresh)
	b.parts.Go("token-keys", func(ctx context.Context) error {
		return keys.Run(ctx, func(err error) { b.log.Warn("keys of tokens not fetched", "err", err) })
	})
	return keys
}

// protectPeer does the same for connections to other brokers.
func (b *Broker) protectPeer(o *peer.Options) {
	n := b.topics.broker.Load().Network
	s := n.Security[n.InterBroker]
	if source := b.security.Source(n.InterBroker); s.TLS && source != nil {
		o.TLS = source.Client
	}
	if s.Authenticated {
		o.Login = &s.Login
	}
}
