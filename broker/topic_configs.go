package broker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"jackdaw/config"
	"jackdaw/internal/run"
	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/zkstore"
)

// topicConfigs knows the settings that topics override: the content of /config/topics. It reads a topic the first time
// the controller names it, and again whenever /config/changes announces it. Kafka: ZkConfigRepository, TopicConfigHandler.
type topicConfigs struct {
	id     metadata.BrokerID
	loaded *config.Loaded
	// broker has the defaults of topics: server.properties under what ZooKeeper says about this broker and all brokers.
	broker atomic.Pointer[config.Broker]
	log    *slog.Logger
	// changed is told of a topic whose settings are new, brokerChanged of new defaults; set before the first session is
	// followed.
	changed       func(ctx context.Context, topic string, inherited bool)
	brokerChanged func(ctx context.Context, was, now *config.Broker)
	// otherChanged is told of what is neither a topic nor a broker.
	otherChanged func(ctx context.Context, session *zkstore.Session, entityType, name string)
	mu           struct {
		sync.RWMutex
		overrides map[string]map[string]string
	}
}

func newTopicConfigs(id metadata.BrokerID, loaded *config.Loaded, lg *slog.Logger) *topicConfigs {
	t := &topicConfigs{id: id, loaded: loaded, log: lg}
	t.changed = func(context.Context, string, bool) {}
	t.otherChanged = func(context.Context, *zkstore.Session, string, string) {}
	t.brokerChanged = func(context.Context, *config.Broker, *config.Broker) {}
	t.broker.Store(loaded.Broker())
	t.mu.overrides = map[string]map[string]string{}
	return t
}

// Load reads the settings of all topics.
func (t *topicConfigs) Load(ctx context.Context, session *zkstore.Session) error {
	if session == nil {
		return zkstore.ErrSessionExpired
	}
	if err := t.loadDefaults(ctx, session); err != nil {
		return err
	}
	all, err := session.EntityConfigs(ctx, topicEntity)
	if err != nil {
		return err
	}
	for name, overrides := range all {
		t.set(ctx, name, overrides)
	}
	return nil
}

// loadDefaults lays the dynamic settings of brokers over server.properties.
func (t *topicConfigs) loadDefaults(ctx context.Context, session *zkstore.Session) error {
	dynamic, err := readDynamic(ctx, session, t.id)
	if err != nil {
		return err
	}
	dynamic.PerBroker = t.decoded(dynamic.PerBroker)
	broker, err := t.loaded.WithDynamic(dynamic)
	if err != nil {
		t.log.Error("dynamic broker config in zookeeper cannot be used", "err", err)
		return nil
	}
	was := t.broker.Swap(broker)
	t.brokerChanged(ctx, was, broker)
	return nil
}

// decoded has the passwords of settings as they are. Those that cannot be read are left out, as in Kafka.
func (t *topicConfigs) decoded(settings map[string]string) map[string]string {
	out, _, err := t.loaded.DecodePasswords(settings)
	if err != nil {
		t.log.Error("dynamic passwords not used", "err", err)
	}
	return out
}

// Follow reads all settings again, since changes may have been missed between two sessions, and watches for new ones
// until the session ends.
func (t *topicConfigs) Follow(ctx context.Context, session *zkstore.Session, parts *run.Group) error {
	if err := t.Load(ctx, session); err != nil {
		return err
	}
	parts.Go("config-changes", func(ctx context.Context) error {
		err := session.WatchConfigChanges(ctx, func(entityType, name string) {
			switch {
			case entityType == topicEntity:
				t.read(ctx, session, []string{name})
			case entityType == brokerEntity && (name == defaultEntity || name == fmt.Sprint(t.id)):
				t.reloadDefaults(ctx, session)
			default:
				t.otherChanged(ctx, session, entityType, name)
			}
		})
		t.log.Debug("no longer watching config changes", "err", err)
		return nil
	})
	return nil
}

// reloadDefaults takes new dynamic settings and tells every topic.
func (t *topicConfigs) reloadDefaults(ctx context.Context, session *zkstore.Session) {
	if err := t.loadDefaults(ctx, session); err != nil {
		t.log.Warn("dynamic broker config not read", "err", err)
		return
	}
	for _, name := range t.Names() {
		t.changed(ctx, name, true)
	}
}

// Learn reads the settings of those topics that were not heard of before.
func (t *topicConfigs) Learn(ctx context.Context, session *zkstore.Session, names []string) {
	var unknown []string
	t.mu.RLock()
	for _, name := range names {
		if _, ok := t.mu.overrides[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	t.mu.RUnlock()
	if len(unknown) > 0 && session != nil {
		t.read(ctx, session, unknown)
	}
}

// Forget drops a deleted topic: the next of its name has settings of its own.
func (t *topicConfigs) Forget(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.mu.overrides, name)
}

func (t *topicConfigs) read(ctx context.Context, session *zkstore.Session, names []string) {
	found, err := session.TopicConfigs(ctx, names)
	if err != nil {
		t.log.Warn("topic configs not read", "topics", len(names), "err", err)
		return
	}
	for name, overrides := range found {
		t.set(ctx, name, overrides)
	}
}

func (t *topicConfigs) set(ctx context.Context, name string, overrides map[string]string) {
	t.mu.Lock()
	same := maps.Equal(t.mu.overrides[name], overrides)
	t.mu.overrides[name] = overrides
	t.mu.Unlock()
	if !same {
		t.changed(ctx, name, false)
	}
}

// Names lists the topics whose settings are known.
func (t *topicConfigs) Names() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Keys(t.mu.overrides))
}

// Overrides returns what the topic overrides, as written in ZooKeeper. The map must not be changed.
func (t *topicConfigs) Overrides(name string) map[string]string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.mu.overrides[name]
}

// Topic returns the effective settings. A value that this version cannot read is left at the broker's, and said.
func (t *topicConfigs) Topic(name string) config.Topic {
	topic, err := t.broker.Load().Topic(t.Overrides(name))
	if err != nil {
		t.log.Error("topic config in zookeeper is not valid, using the broker's", "topic", name, "err", err)
		topic, _ = t.broker.Load().Topic(nil)
	}
	return topic
}

// UncleanElection tells whether a replica outside of the ISR may lead partitions of the topic.
func (t *topicConfigs) UncleanElection(name string) bool { return t.Topic(name).UncleanElection }

// Log returns the effective settings as the log package takes them.
func (t *topicConfigs) Log(name string) log.Config {
	topic := t.Topic(name)
	return logConfig(&topic)
}
