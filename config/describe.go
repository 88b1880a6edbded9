package config

import "slices"

// Source tells where a value comes from, in the numbers of DescribeConfigs.
type Source int8

// The sources, from strongest to weakest.
const (
	SourceTopic          Source = 1 // the topic's own config
	SourceDynamicBroker  Source = 2 // /config/brokers/<id>
	SourceDynamicDefault Source = 3 // /config/brokers/<default>
	SourceStatic         Source = 4 // server.properties, the environment or --override
	SourceDefault        Source = 5 // the table
)

// Entry is one key in the answer of DescribeConfigs.
type Entry struct {
	Name string
	// Value is nil for null and for what must not be shown.
	Value     *string
	ReadOnly  bool
	Source    Source
	Sensitive bool
	Type      Type
	Doc       string
	// Synonyms are all values that there are for the key, the winning one first. It may be empty.
	Synonyms []Synonym
}

// Synonym is one of the places that a value could come from.
type Synonym struct {
	Name   string
	Value  *string
	Source Source
}

// Dynamic are the settings in ZooKeeper: those of this broker, and those of all brokers.
type Dynamic struct {
	PerBroker map[string]string
	Default   map[string]string
}

// DescribeBroker returns the configuration of this broker in the order of names. only names the keys that are wanted;
// empty is all. Kafka: ConfigHelper.describeConfigs.
func (l *Loaded) DescribeBroker(d Dynamic, only []string) []Entry {
	r := &reader{values: l.merged(d)}
	var out []Entry
	for _, name := range l.brokerNames(d) {
		if !wanted(only, name) {
			continue
		}
		k := describedKey(name)
		e := Entry{Name: name, ReadOnly: k.Mode < PerBroker, Type: k.Type, Doc: k.Doc, Sensitive: sensitive(k)}
		if v := r.value(name); v != nil && !e.Sensitive {
			text := Format(v)
			e.Value = &text
		}
		e.setSynonyms(l.synonyms(d, name, e.Sensitive))
		out = append(out, e)
	}
	return out
}

// DescribeBrokerDefaults returns what is set for all brokers: the resource with the empty name.
func (l *Loaded) DescribeBrokerDefaults(d Dynamic, only []string) []Entry {
	var out []Entry
	for _, name := range sortedKeys(d.Default) {
		if !wanted(only, name) {
			continue
		}
		k := describedKey(name)
		e := Entry{Name: name, ReadOnly: k.Mode < PerBroker, Type: k.Type, Doc: k.Doc, Sensitive: sensitive(k)}
		if text := d.Default[name]; !e.Sensitive {
			e.Value = &text
		}
		e.setSynonyms([]Synonym{{name, e.Value, SourceDynamicDefault}})
		out = append(out, e)
	}
	return out
}

// DescribeTopic returns the configuration of a topic with these overrides, in the order of the names.
func (l *Loaded) DescribeTopic(overrides map[string]string, d Dynamic, only []string) []Entry {
	values, _ := (&Broker{settings: l.merged(d)}).topicValues(overrides) // what cannot be used shows the broker's value
	var out []Entry
	for _, name := range sortedKeys(topicByName) {
		if !wanted(only, name) {
			continue
		}
		k := topicByName[name]
		text := Format(values[name])
		e := Entry{Name: name, Value: &text, Type: k.Type, Doc: k.Doc}
		var all []Synonym
		if s, ok := overrides[name]; ok {
			all = append(all, Synonym{name, &s, SourceTopic})
		}
		if len(k.Synonyms) > 0 {
			all = append(all, l.synonyms(d, k.Synonyms[0], false)...)
		}
		e.setSynonyms(all)
		out = append(out, e)
	}
	return out
}

func (e *Entry) setSynonyms(all []Synonym) {
	e.Synonyms = all
	e.Source = SourceDefault
	if len(all) > 0 {
		e.Source = all[0].Source
	}
}

// brokerNames are the keys that a broker shows: all of the table but internal ones, and whatever else is set.
func (l *Loaded) brokerNames(d Dynamic) []string {
	seen := map[string]bool{}
	for name, k := range byName {
		seen[name] = k.Mode != Internal
	}
	for _, set := range []map[string]string{l.Raw, d.PerBroker, d.Default} {
		for name := range set {
			if k, ok := byName[name]; !ok || k.Mode != Internal {
				seen[name] = true
			}
		}
	}
	var out []string
	for name, shown := range seen {
		if shown {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// describedKey finds the key, or makes one for a name that is not in the table: its value is never shown.
func describedKey(name string) *Key {
	if k, ok := lookupPrefixed(name); ok {
		return k
	}
	if k, ok := dynamicByName[name]; ok {
		return k
	}
	return &Key{Name: name, Type: Unknown}
}

// sensitive keys hold secrets, or might. Kafka: KafkaConfig.maybeSensitive.
func sensitive(k *Key) bool { return k.Type == Password || k.Type == Unknown }

// brokerSynonyms are the keys whose values count for a key. Kafka: DynamicBrokerConfig.brokerConfigSynonyms.
func brokerSynonyms(name string) []string {
	for _, keys := range [][]string{retentionKeys, rollKeys, jitterKeys} {
		if slices.Contains(keys, name) {
			return keys
		}
	}
	if name == flushKeys[0] {
		return flushKeys
	}
	return []string{name}
}

// synonyms lists where the keys that count for name have values, strongest source first. What comes before the first
// value of name itself is dropped, as in Kafka: a topic's retention.ms has no synonym while log.retention.ms is unset,
// though log.retention.hours gives its value. Kafka: ConfigHelper.configSynonyms.
func (l *Loaded) synonyms(d Dynamic, name string, secret bool) []Synonym {
	var out []Synonym
	keys := brokerSynonyms(name)
	add := func(source Source, get func(string) (string, bool)) {
		for _, k := range keys {
			if text, ok := get(k); ok {
				s := Synonym{Name: k, Source: source}
				if !secret {
					s.Value = &text
				}
				out = append(out, s)
			}
		}
	}
	add(SourceDynamicBroker, from(d.PerBroker))
	add(SourceDynamicDefault, from(d.Default))
	add(SourceStatic, from(l.Raw))
	add(SourceDefault, func(k string) (string, bool) {
		if def := byName[k]; def != nil && !def.Default.Null {
			return def.Default.Text, true
		}
		return "", false
	})
	for i, s := range out {
		if s.Name == name {
			return out[i:]
		}
	}
	return nil
}

func from(m map[string]string) func(string) (string, bool) {
	return func(k string) (string, bool) { v, ok := m[k]; return v, ok }
}

func wanted(only []string, name string) bool { return len(only) == 0 || slices.Contains(only, name) }
