package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Op is an operation of IncrementalAlterConfigs. Kafka: AlterConfigOp.OpType.
type Op int8

// The operations; Append and Subtract work on lists only.
const (
	Set Op = iota
	Delete
	Append
	Subtract
)

// Known reports whether there is such an operation.
func (o Op) Known() bool { return o >= Set && o <= Subtract }

// Change is one step of an incremental change.
type Change struct {
	Name string
	Op   Op
	// Value is not read by Delete.
	Value string
}

// AlterTopic applies changes to the settings of a topic, current, and returns the new ones. They are not validated. An
// error is kerr.InvalidConfig. Kafka: ConfigAdminManager.prepareIncrementalConfigs.
func AlterTopic(current map[string]string, changes []Change) (map[string]string, error) {
	return alter(current, changes, func(name string) (*Key, bool) {
		k, ok := LookupTopic(name)
		if !ok {
			return nil, false
		}
		return &k.Key, true
	})
}

// AlterBroker is AlterTopic for the dynamic settings of a broker, or of all brokers.
func AlterBroker(current map[string]string, changes []Change) (map[string]string, error) {
	return alter(current, changes, Lookup)
}

func alter(current map[string]string, changes []Change, lookup func(string) (*Key, bool)) (map[string]string, error) {
	out := maps.Clone(current)
	if out == nil {
		out = map[string]string{}
	}
	for _, c := range changes {
		switch c.Op {
		case Set:
			out[c.Name] = c.Value
		case Delete:
			delete(out, c.Name)
		case Append, Subtract:
			list, err := alteredList(out, c, lookup)
			if err != nil {
				return nil, err
			}
			out[c.Name] = list
		}
	}
	return out, nil
}

// alteredList applies Append or Subtract to a list, which is the default where nothing is set. What is there already is
// not appended again; each element that is taken away goes once.
func alteredList(settings map[string]string, c Change, lookup func(string) (*Key, bool)) (string, error) {
	k, ok := lookup(c.Name)
	if !ok {
		return "", plain(c.Name, "Unknown config name: %s", c.Name)
	}
	if k.Type != List {
		verb := "append"
		if c.Op == Subtract {
			verb = "subtract"
		}
		return "", plain(c.Name, "Config value %s is not allowed for config key: %s", verb, c.Name)
	}
	text, ok := settings[c.Name]
	if !ok {
		text = k.Default.Text
	}
	var list []string
	if text != "" {
		list = strings.Split(text, ",")
	}
	for _, v := range strings.Split(c.Value, ",") {
		i := slices.Index(list, v)
		switch {
		case c.Op == Append && i < 0:
			list = append(list, v)
		case c.Op == Subtract && i >= 0:
			list = slices.Delete(list, i, i+1)
		}
	}
	return strings.Join(list, ","), nil
}

// ValidateChange checks new dynamic settings of this broker, or of all brokers when perBroker is false, in the place of
// those in d. now is the configuration in force. The error has Kafka's text and is kerr.InvalidConfig.
// Kafka: DynamicBrokerConfig.validate.
func (l *Loaded) ValidateChange(now *Broker, d Dynamic, settings map[string]string, perBroker bool) error {
	if err := checkChangeable(settings, perBroker); err != nil {
		return err
	}
	for _, name := range sortedKeys(settings) {
		if k := describedKey(name); k.Type != Unknown {
			if _, err := k.Parse(settings[name]); err != nil {
				return err
			}
		}
	}
	next := Dynamic{PerBroker: settings, Default: d.Default}
	if !perBroker {
		next = Dynamic{PerBroker: d.PerBroker, Default: settings}
	}
	b, err := l.WithDynamic(next)
	if err != nil {
		return err
	}
	if err := now.validateThreads(b); err != nil {
		return err
	}
	if err := now.Network.validateListeners(&b.Network); err != nil {
		return err
	}
	if err := validateSecurity(now, b); err != nil {
		return err
	}
	return refuseWithoutEffect(now, b, settings)
}

// checkChangeable refuses keys that may not be changed while the broker runs, or not in this place.
func checkChangeable(settings map[string]string, perBroker bool) error {
	var fixed, bare, single []string
	for _, name := range sortedKeys(settings) {
		k := describedKey(name)
		prefixed := strings.HasPrefix(name, listenerPrefix)
		switch {
		case k.Type == Unknown:
		case k.Mode < PerBroker && !prefixed:
			fixed = append(fixed, name)
		case reloadable(name):
			bare = append(bare, name)
		case k.Mode == PerBroker:
			single = append(single, name)
		}
	}
	switch {
	case len(fixed) > 0:
		return refuse(fixed[0], "Cannot update these configs dynamically: %s", javaSet(fixed))
	case len(bare) > 0:
		return refuse(bare[0], "These security configs can be dynamically updated only per-listener using the listener prefix: %s", javaSet(bare))
	case len(single) > 0 && !perBroker:
		return refuse(single[0], "Cannot update these configs at default cluster level, broker id must be specified: %s", javaSet(single))
	}
	return nil
}

// javaSet prints a set of names as Scala does.
func javaSet(names []string) string { return "Set(" + strings.Join(names, ", ") + ")" }

// poolKeys size pools of threads in Kafka, which grow and shrink by a factor of two at most.
var poolKeys = []string{"background.threads", "num.io.threads", "num.network.threads", "num.recovery.threads.per.data.dir", "num.replica.fetchers"}

// validateThreads holds the sizes of pools to Kafka's rule: at most half or double at a time. A script that works with
// Jackdaw then works with Kafka. Kafka: DynamicThreadPool.validateReconfiguration, LogCleaner.validateReconfiguration.
func (b *Broker) validateThreads(next *Broker) error {
	was, will := &reader{values: b.settings}, &reader{values: next.settings}
	for _, key := range poolKeys {
		from, to := was.int64(key), will.int64(key)
		if from == to {
			continue
		}
		head := fmt.Sprintf("Dynamic thread count update validation failed for %s=%d", key, to)
		switch {
		case to <= 0:
			return refuse(key, "%s, value should be at least 1", head)
		case to < from/2:
			return refuse(key, "%s, value should be at least half the current value %d", head, from)
		case to > from*2:
			return refuse(key, "%s, value should not be greater than double the current value %d", head, from)
		}
	}
	const cleaner = "log.cleaner.threads"
	from, to := was.int64(cleaner), will.int64(cleaner)
	switch {
	case from == to || !b.Log.Cleaner.Enable:
	case to < 1:
		return refuse(cleaner, "Log cleaner threads should be at least 1")
	case to < from/2:
		return refuse(cleaner, "Log cleaner threads cannot be reduced to less than half the current value %d", from)
	case to > from*2:
		return refuse(cleaner, "Log cleaner threads cannot be increased to more than double the current value %d", from)
	}
	return nil
}

// refuseWithoutEffect refuses to change what would only count after a restart, or not at all: to accept it would promise
// otherwise. What another broker has written before stays.
func refuseWithoutEffect(now, next *Broker, settings map[string]string) error {
	was, will := &reader{values: now.settings}, &reader{values: next.settings}
	for _, name := range sortedKeys(settings) {
		if reflect.DeepEqual(was.value(name), will.value(name)) {
			continue
		}
		if _, isQuota := dynamicByName[name]; isQuota {
			continue
		}
		if k := describedKey(name); k.Type != Unknown && (k.Use == Later || k.Use == JVM) {
			return refuse(name, "Changing %s has no effect: %s", name, k.Use.Reason())
		}
	}
	return nil
}

// Plain reports whether Kafka sends the text as it is. It puts the resource in front of other texts.
// Kafka: InvalidConfigurationException, and ConfigException.
func (e *Error) Plain() bool { return e.plain }

// plain is refuse for an error whose text stands alone.
func plain(key, format string, args ...any) error {
	return &Error{Key: key, text: oneLine(fmt.Sprintf(format, args...)), plain: true}
}

// ClientMessage is what a client is told.
func (e *Error) ClientMessage() string { return e.text }
