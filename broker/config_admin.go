package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/config"
	"jackdaw/protocol"
	"jackdaw/security/acl"
	"jackdaw/zkstore"
)

// alteration is one resource of AlterConfigs or IncrementalAlterConfigs.
type alteration struct {
	kind    kmsg.ConfigResourceType
	name    string
	changes []config.Change
	// nulls are keys that came without the value they need.
	nulls []string
	// badOp is an operation that does not exist.
	badOp error
	// whole: the changes are all settings that the resource is to have. Kafka: the legacy AlterConfigs.
	whole bool
}

// configTypeNames are Kafka's names of resource types, as its error texts have them. Kafka: ConfigResource.Type.
var configTypeNames = map[kmsg.ConfigResourceType]string{
	kmsg.ConfigResourceTypeTopic: "TOPIC", kmsg.ConfigResourceTypeBroker: "BROKER", kmsg.ConfigResourceTypeBrokerLogger: "BROKER_LOGGER",
	16: "CLIENT_METRICS",
}

// alterConfigs executes alterations, each by itself, in order. A resource that is named twice is refused both times.
// Kafka: ConfigAdminManager.preprocess, ZkAdminManager.alterConfigs.
func (b *Broker) alterConfigs(r *network.Request, all []alteration, validateOnly bool) []error {
	ctx := r.Context()
	type id struct {
		kind kmsg.ConfigResourceType
		name string
	}
	times := map[id]int{}
	for i := range all {
		times[id{all[i].kind, all[i].name}]++
	}
	out := make([]error, len(all))
	for i := range all {
		a := &all[i]
		if times[id{a.kind, a.name}] > 1 {
			out[i] = invalidRequest("Each resource must appear at most once.")
			continue
		}
		if out[i] = b.deniedConfig(r, acl.AlterConfigs, a.kind, a.name); out[i] != nil {
			continue
		}
		out[i] = b.alone(ctx, func() error { return b.alterConfig(ctx, a, validateOnly) })
		if out[i] != nil {
			b.log.Info("config not altered", "type", configTypeNames[a.kind], "name", a.name, "err", out[i])
		}
	}
	return out
}

// deniedConfig is denied for the configuration of a topic, which belongs to it, or of anything else, which belongs to the cluster.
func (b *Broker) deniedConfig(r *network.Request, op acl.Operation, kind kmsg.ConfigResourceType, name string) error {
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		return b.denied(r, op, acl.Topic, name)
	case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger, clientMetricsResource:
		return b.deniedCluster(r, op)
	default:
		return nil // it is refused for what it is
	}
}

// alone runs one change of ZooKeeper's configurations after the other: each reads a node, and writes all of it. Kafka does
// not, and loses changes that come at the same time. The error is that of ctx, or f's.
func (b *Broker) alone(ctx context.Context, f func() error) error {
	select {
	case b.altering <- struct{}{}:
		defer func() { <-b.altering }()
		return f()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *Broker) alterConfig(ctx context.Context, a *alteration, validateOnly bool) error {
	if err := a.check(); err != nil {
		return err
	}
	switch a.kind {
	case kmsg.ConfigResourceTypeTopic:
		return b.alterTopicConfig(ctx, a, validateOnly)
	case kmsg.ConfigResourceTypeBroker:
		return b.alterBrokerConfig(ctx, a, validateOnly)
	case kmsg.ConfigResourceTypeBrokerLogger:
		if !a.whole {
			return b.alterLoggers(a, validateOnly)
		}
	default:
		if name, ok := configTypeNames[a.kind]; ok {
			return invalidRequest("AlterConfigs is only supported for topics and brokers, but resource type is %s", name)
		}
	}
	return invalidRequest("Unknown resource type %d", a.kind)
}

// check refuses what is wrong in the request itself, whatever the resource has now.
func (a *alteration) check() error {
	seen := map[string]bool{}
	for _, c := range a.changes {
		if seen[c.Name] {
			return invalidRequest("Error due to duplicate config keys")
		}
		seen[c.Name] = true
	}
	if len(a.nulls) > 0 {
		return invalidRequest("Null value not supported for : %s", strings.Join(a.nulls, ", "))
	}
	return a.badOp
}

// next returns the settings that the resource is to have.
func (a *alteration) next(current map[string]string, alter func(map[string]string, []config.Change) (map[string]string, error)) (map[string]string, error) {
	if a.whole {
		current = nil
	}
	return alter(current, a.changes)
}

func (b *Broker) alterTopicConfig(ctx context.Context, a *alteration, validateOnly bool) error {
	if a.name == "" {
		return invalidRequest("Default topic resources are not allowed.")
	}
	session := b.zk.Session()
	if session == nil {
		return zkstore.ErrSessionExpired
	}
	current, err := session.EntityConfig(ctx, topicEntity, a.name)
	if err != nil {
		return fmt.Errorf("read config of topic %s: %w", a.name, err)
	}
	next, err := a.next(current, config.AlterTopic)
	if err != nil {
		return err
	}
	if !knownTopic(b.cache.Image(), a.name) {
		return protocol.WithMessage(kerr.UnknownTopicOrPartition, fmt.Sprintf("The topic '%s' does not exist.", a.name))
	}
	if err := b.topics.broker.Load().ValidateTopic(next); err != nil {
		return invalidValue(a, err)
	}
	if validateOnly || maps.Equal(current, next) && !a.whole {
		return nil
	}
	b.log.Info("altering topic config", "topic", a.name, "config", next)
	return session.SetEntityConfig(ctx, topicEntity, a.name, next)
}

// invalidValue puts the resource in front of a refusal, where Kafka does.
func invalidValue(a *alteration, err error) error {
	var ce *config.Error
	if !errors.As(err, &ce) || ce.Plain() {
		return err
	}
	return protocol.WithMessage(kerr.InvalidConfig, fmt.Sprintf("Invalid config value for resource ConfigResource(type=%s, name='%s'): %s",
		configTypeNames[a.kind], a.name, ce))
}

// alterBrokerConfig changes the dynamic settings of this broker, or those of all brokers, whose name is empty.
func (b *Broker) alterBrokerConfig(ctx context.Context, a *alteration, validateOnly bool) error {
	entity, perBroker := defaultEntity, a.name != ""
	if perBroker {
		if err := b.checkNodeID(a.name); err != nil {
			return err
		}
		entity = fmt.Sprint(b.id)
	}
	session := b.zk.Session()
	if session == nil {
		return zkstore.ErrSessionExpired
	}
	dynamic, err := readDynamic(ctx, session, b.id)
	if err != nil {
		return err
	}
	dynamic.PerBroker = b.topics.decoded(dynamic.PerBroker)
	current := dynamic.Default
	if perBroker {
		current = dynamic.PerBroker
	}
	next, err := a.next(current, config.AlterBroker)
	if err != nil {
		return err
	}
	if err := b.loaded.ValidateChange(b.topics.broker.Load(), dynamic, next, perBroker); err != nil {
		return protocol.WithMessage(kerr.InvalidRequest, err.Error())
	}
	if err := b.validateKeys(dynamic, next, perBroker); err != nil {
		return protocol.WithMessage(kerr.InvalidRequest, err.Error())
	}
	if next, err = b.loaded.EncodePasswords(next); err != nil {
		return invalidValue(a, err)
	}
	if validateOnly {
		return nil
	}
	b.log.Info("altering broker config", "entity", entity, "keys", len(next))
	return session.SetEntityConfig(ctx, brokerEntity, entity, next)
}

// validateKeys refuses stores that could not take the place of those in use.
func (b *Broker) validateKeys(d config.Dynamic, next map[string]string, perBroker bool) error {
	if !perBroker {
		return nil // stores belong to one broker
	}
	will, err := b.loaded.WithDynamic(config.Dynamic{PerBroker: next, Default: d.Default})
	if err != nil {
		return err
	}
	_, err = b.security.Reload(&will.Network)
	return err
}

// reencodePasswords encrypts anew what password.encoder.old.secret was needed for. Kafka: DynamicBrokerConfig.maybeReEncodePasswords.
func (b *Broker) reencodePasswords(ctx context.Context) error {
	session := b.zk.Session()
	if session == nil {
		return zkstore.ErrSessionExpired
	}
	dynamic, err := readDynamic(ctx, session, b.id)
	if err != nil {
		return err
	}
	settings, moved, _ := b.loaded.DecodePasswords(dynamic.PerBroker) // what cannot be decoded is told when it is used
	if !moved {
		return nil
	}
	encoded, err := b.loaded.EncodePasswords(settings)
	if err != nil {
		return err
	}
	maps.Copy(dynamic.PerBroker, encoded)
	b.log.Info("dynamic passwords encrypted with the new secret")
	return session.SetEntityConfig(ctx, brokerEntity, fmt.Sprint(b.id), dynamic.PerBroker)
}

// checkNodeID holds the name of a broker resource against this broker's id: a broker changes itself only.
func (b *Broker) checkNodeID(name string) error {
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return invalidRequest("Node id must be an integer, but it is: %s", name)
	}
	if int32(id) != int32(b.id) {
		return invalidRequest("Unexpected broker id, expected %d, but received %s", b.id, name)
	}
	return nil
}

// invalidRequest is INVALID_REQUEST with a text.
func invalidRequest(format string, args ...any) error {
	return protocol.WithMessage(kerr.InvalidRequest, fmt.Sprintf(format, args...))
}

// invalidConfig is INVALID_CONFIG with a text.
func invalidConfig(format string, args ...any) error {
	return protocol.WithMessage(kerr.InvalidConfig, fmt.Sprintf(format, args...))
}
