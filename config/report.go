package config

import (
	"slices"
	"strings"
)

// ignored lists the settings without effect, with the reasons.
func (l *Loaded) ignored() []string {
	var out []string
	for _, name := range sortedKeys(l.Raw) {
		if why := l.whyIgnored(name); why != "" {
			out = append(out, name+" is ignored: "+why)
		}
	}
	return out
}

func (l *Loaded) whyIgnored(name string) string {
	if name == jaasKey || strings.HasPrefix(name, listenerPrefix) && strings.Count(name, ".") == strings.Count(jaasKey, ".")+3 && strings.HasSuffix(name, "."+jaasKey) {
		return "it needs the names of a listener and a mechanism: listener.name.<listener>.<mechanism>." + jaasKey
	}
	if k, ok := byName[name]; ok {
		return k.Use.Reason()
	}
	if why, ok := l.whyAuthorizerIgnored(name); ok {
		return why
	}
	if strings.HasPrefix(name, "config.providers") {
		return ""
	}
	if _, ok := lookupPrefixed(name); ok {
		return l.whyListenerIgnored(name)
	}
	if k, ok := topicByName[name]; ok && len(k.Synonyms) > 0 {
		return "it is a key of topics; for all topics set " + k.Synonyms[0]
	}
	return "no such key in Kafka 3.9"
}

// whyListenerIgnored explains listener.name.<name>.<key>.
func (l *Loaded) whyListenerIgnored(name string) string {
	listener, base, _ := strings.Cut(strings.TrimPrefix(name, listenerPrefix), ".")
	found := false
	for _, have := range names(l.broker.Network.Listeners) {
		found = found || strings.EqualFold(have, listener)
	}
	k, ok := byName[base]
	if !ok {
		k, _ = mechanismKey(base)
	}
	switch {
	case !found:
		return "there is no listener " + strings.ToUpper(listener)
	case base == "max.connections" || base == "max.connection.creation.rate":
		return ""
	case k.Use == Honored && !ofListener(k.Name):
		return base + " cannot be set for one listener"
	default:
		return k.Use.Reason()
	}
}

// ofListener tells whether each listener may have a value of its own for a key.
func ofListener(name string) bool {
	return strings.HasPrefix(name, "ssl.") || name == "sasl.enabled.mechanisms" || name == "sasl.server.max.receive.size" || slices.Contains(mechanismKeys, name)
}
