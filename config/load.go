package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/viper"
)

// Loaded is the configuration of a broker as it was given.
type Loaded struct {
	// Raw are all settings by key, after precedence and with ${...} replaced; unknown keys too.
	Raw map[string]string

	broker   *Broker
	report   []string
	values   map[string]any // parsed Raw, known keys only
	hostname string
	// passwords and oldPasswords encrypt dynamic settings, with the secret of now and the former one; nil without it.
	passwords, oldPasswords *PasswordEncoder
}

// Broker returns the typed configuration. It is shared and must not be changed.
func (l *Loaded) Broker() *Broker { return l.broker }

// Report lists, in the order of their keys, the settings that have no effect, each with the reason, as whole lines for
// the log at WARN.
func (l *Loaded) Report() []string { return l.report }

// Load reads the properties file at path; environ (as os.Environ gives it), whose KAFKA_X_Y beats x.y of the file; and
// overrides of the form key=value, which beat both. Every error is one line that names the key.
func Load(path string, environ, overrides []string) (*Loaded, error) {
	raw, err := readFile(path)
	if err != nil {
		return nil, err
	}
	for k, v := range fromEnvironment(environ) {
		raw[k] = v
	}
	for _, o := range overrides {
		k, v, ok := strings.Cut(o, "=")
		if k = strings.TrimSpace(k); !ok || k == "" {
			return nil, fmt.Errorf("--override %s: not of the form key=value", oneLine(o))
		}
		raw[k] = v
	}
	hostname, err := os.Hostname()
	if err != nil || hostname == "" {
		hostname = "localhost"
	}
	return load(raw, hostname)
}

// readFile has viper read a properties file. The delimiter is a byte that no key contains: with viper's dot,
// broker.id.generation.enable would hide broker.id.
func readFile(path string) (map[string]string, error) {
	registry := viper.NewCodecRegistry()
	if err := registry.RegisterCodec("properties", codec{}); err != nil {
		return nil, err
	}
	v := viper.NewWithOptions(viper.KeyDelimiter("\x00"), viper.WithCodecRegistry(registry))
	v.SetConfigFile(path)
	v.SetConfigType("properties")
	if err := v.ReadInConfig(); err != nil {
		var parse viper.ConfigParseError
		var io *fs.PathError
		switch {
		case errors.As(err, &io):
			err = io.Err
		case errors.As(err, &parse):
			err = parse.Unwrap()
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	raw := map[string]string{}
	for _, k := range v.AllKeys() {
		raw[unfold(k)] = v.GetString(k)
	}
	return raw, nil
}

// load checks settings and builds the rest from them.
func load(raw map[string]string, hostname string) (*Loaded, error) {
	if err := expand(raw); err != nil {
		return nil, err
	}
	l := &Loaded{Raw: raw, hostname: hostname}
	l.alias()
	var err error
	if l.values, err = parseAll(raw); err != nil {
		return nil, err
	}
	if err := l.nodeID(); err != nil {
		return nil, err
	}
	if l.broker, err = newBroker(&reader{values: l.values}, hostname); err != nil {
		return nil, err
	}
	if l.broker.Authorization, err = authorization(raw); err != nil {
		return nil, err
	}
	r := &reader{values: l.values}
	if l.passwords, err = passwordEncoder(r, "password.encoder.secret"); err != nil {
		return nil, err
	}
	if l.oldPasswords, err = passwordEncoder(r, "password.encoder.old.secret"); err != nil {
		return nil, err
	}
	l.report = append(l.report, l.ignored()...)
	return l, nil
}

// alias takes the old, wrong spelling of unclean.leader.election.enable for the key. Differs from Kafka, which ignores it.
func (l *Loaded) alias() {
	const wrong, right = "unclean.leader.election", "unclean.leader.election.enable"
	v, ok := l.Raw[wrong]
	if !ok {
		return
	}
	delete(l.Raw, wrong)
	if _, both := l.Raw[right]; both {
		l.report = append(l.report, wrong+" is ignored: "+right+" is set too")
		return
	}
	l.Raw[right] = v
	l.report = append(l.report, wrong+" is taken for "+right)
}

// nodeID makes broker.id and node.id one. Kafka: KafkaConfig.populateSynonyms.
func (l *Loaded) nodeID() error {
	const broker, node = "broker.id", "node.id"
	b, hasBroker := l.values[broker]
	n, hasNode := l.values[node]
	switch {
	case hasBroker && hasNode && b != n:
		return refuse(node, "You must set `%s` to the same value as `%s`.", node, broker)
	case hasBroker:
		l.Raw[node], l.values[node] = l.Raw[broker], b
	case hasNode:
		l.Raw[broker], l.values[broker] = l.Raw[node], n
	}
	return nil
}

// parseAll parses every setting whose key is known. All faults are returned, a line each.
func parseAll(raw map[string]string) (map[string]any, error) {
	values := make(map[string]any, len(raw))
	var faults []error
	for _, name := range sortedKeys(raw) {
		k, ok := lookupPrefixed(name)
		if !ok {
			continue
		}
		v, err := k.Parse(raw[name])
		if err != nil {
			faults = append(faults, err)
			continue
		}
		values[name] = v
	}
	return values, errors.Join(faults...)
}

// listenerPrefix begins a key for one listener: listener.name.<lower-case name>.<key>.
const listenerPrefix = "listener.name."

func listenerKey(listener, key string) string {
	return listenerPrefix + strings.ToLower(listener) + "." + key
}

// lookupPrefixed finds a key, also behind a listener prefix; the key returned then has the whole name.
func lookupPrefixed(name string) (*Key, bool) {
	if k, ok := byName[name]; ok {
		return k, true
	}
	rest, ok := strings.CutPrefix(name, listenerPrefix)
	if !ok {
		return nil, false
	}
	_, base, _ := strings.Cut(rest, ".")
	k, ok := byName[base]
	if !ok {
		if k, ok = mechanismKey(base); !ok {
			return nil, false
		}
	}
	prefixed := *k
	prefixed.Name = name
	return &prefixed, true
}

// mechanismKeys can be set for one SASL mechanism of a listener: listener.name.<name>.<mechanism>.<key>.
// Kafka: DynamicBrokerConfig.ListenerMechanismConfigs.
var mechanismKeys = []string{
	"sasl.jaas.config", "sasl.login.callback.handler.class", "sasl.login.class", "sasl.server.callback.handler.class", "connections.max.reauth.ms",
}

func mechanismKey(name string) (*Key, bool) {
	_, base, ok := strings.Cut(name, ".")
	if !ok || !slices.Contains(mechanismKeys, base) {
		return nil, false
	}
	return byName[base], true
}
