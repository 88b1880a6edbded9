package config

import "maps"

// dynamicKeys exist only in ZooKeeper, never in a file. Kafka: QuotaConfigs.brokerQuotaConfigs.
var dynamicKeys = []Key{
	{"leader.replication.throttled.rate", Long, val("9223372036854775807"), atLeast(0), PerBroker, Honored, "Bytes a second that throttled replicas may send to followers."},
	{"follower.replication.throttled.rate", Long, val("9223372036854775807"), atLeast(0), PerBroker, Honored, "Bytes a second that throttled replicas may receive."},
	{"replica.alter.log.dirs.io.max.bytes.per.second", Long, val("9223372036854775807"), atLeast(0), PerBroker, Honored, "Bytes a second of moves between data directories."},
}

var dynamicByName = func() map[string]*Key {
	m := map[string]*Key{}
	for i := range dynamicKeys {
		m[dynamicKeys[i].Name] = &dynamicKeys[i]
	}
	return m
}()

// merged lays dynamic settings over the static ones. What may not be changed, or does not parse, is left out: it was
// refused when it was set, or was written past Kafka. Kafka: DynamicBrokerConfig.validatedKafkaProps.
func (l *Loaded) merged(d Dynamic) map[string]any {
	values := maps.Clone(l.values)
	for _, layer := range []map[string]string{d.Default, d.PerBroker} {
		for name, text := range layer {
			k := describedKey(name)
			if k.Mode < PerBroker || reloadable(name) {
				continue // stores of all listeners at once are not replaced
			}
			if v, err := k.Parse(text); err == nil {
				values[name] = v
			}
		}
	}
	return values
}

// WithDynamic returns the broker's configuration with dynamic settings laid over it. The error is that of a combination
// which cannot be used.
func (l *Loaded) WithDynamic(d Dynamic) (*Broker, error) {
	b, err := newBroker(&reader{values: l.merged(d)}, l.hostname)
	if err != nil {
		return nil, err
	}
	b.Authorization = l.broker.Authorization
	return b, nil
}
