package config

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"jackdaw/metadata"
)

// protocols are the security protocols of listeners. Kafka: SecurityProtocol.
var protocols = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

// parseProtocolMap reads listener.security.protocol.map. Of a listener that is there twice, the last wins.
func parseProtocolMap(text string) (map[string]string, error) {
	const key = "listener.security.protocol.map"
	out := map[string]string{}
	for _, pair := range splitList(text) {
		i := strings.LastIndexByte(pair, ':')
		if i <= 0 {
			return nil, refuse(key, "Invalid value %s for configuration %s: %q is not LISTENER:PROTOCOL", text, key, pair)
		}
		name, protocol := strings.ToUpper(strings.TrimSpace(pair[:i])), strings.TrimSpace(pair[i+1:])
		if !slices.Contains(protocols, strings.ToUpper(protocol)) {
			return nil, refuse(key, "Invalid security protocol `%s` defined in %s", protocol, key)
		}
		out[name] = strings.ToUpper(protocol)
	}
	return out, nil
}

// parseEndpoints reads listeners or advertised.listeners. Kafka: CoreUtils.listenerListToEndPoints.
func parseEndpoints(key, text string, protocolOf map[string]string) ([]metadata.Endpoint, error) {
	var out []metadata.Endpoint
	for _, s := range splitList(text) {
		e, err := parseEndpoint(s, protocolOf)
		if err != nil {
			return nil, refuse(key, "Invalid value %s for configuration %s: %v", text, key, err)
		}
		if slices.ContainsFunc(out, func(o metadata.Endpoint) bool { return o.Listener == e.Listener }) {
			return nil, refuse(key, "%s: each listener must have a different name, and %s is there twice: %s", key, e.Listener, text)
		}
		out = append(out, e)
	}
	return out, nil
}

// parseEndpoint reads one NAME://host:port. The host may be empty, or an IPv6 address in brackets.
func parseEndpoint(s string, protocolOf map[string]string) (metadata.Endpoint, error) {
	name, addr, ok := strings.Cut(s, "://")
	if !ok {
		return metadata.Endpoint{}, fmt.Errorf("unable to parse %q as NAME://host:port", s)
	}
	name = strings.ToUpper(strings.TrimSpace(name))
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return metadata.Endpoint{}, fmt.Errorf("unable to parse %q as NAME://host:port", s)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return metadata.Endpoint{}, fmt.Errorf("%q: port %q is not between 0 and 65535", s, portText)
	}
	protocol, ok := protocolOf[name]
	if !ok {
		return metadata.Endpoint{}, fmt.Errorf("no security protocol defined for listener %s in listener.security.protocol.map", name)
	}
	return metadata.Endpoint{Listener: name, Protocol: protocol, Host: host, Port: int32(port)}, nil
}

// distinctPorts refuses two listeners on one port, unless the port is 0 or one is IPv4 and the other IPv6.
// Kafka: CoreUtils.validateOneIsIpv4AndOtherIpv6.
func distinctPorts(text string, listeners []metadata.Endpoint) error {
	seen := map[int32]metadata.Endpoint{}
	for _, e := range listeners {
		o, again := seen[e.Port]
		if again && e.Port != 0 && !oneOfEach(o.Host, e.Host) {
			return refuse("listeners", "listeners: each listener must have a different port, and %d is there twice: %s", e.Port, text)
		}
		seen[e.Port] = e
	}
	return nil
}

func oneOfEach(a, b string) bool {
	x, y := net.ParseIP(a), net.ParseIP(b)
	return x != nil && y != nil && (x.To4() == nil) != (y.To4() == nil)
}

// unroutable reports addresses that nobody can connect to.
func unroutable(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsUnspecified()
}

func splitList(text string) []string {
	var out []string
	for _, s := range strings.Split(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// listenersOf reads listeners, advertised.listeners and what hangs on them into n. hostname stands for an empty
// advertised host.
func listenersOf(r *reader, n *Network, hostname string) error {
	protocolOf, err := parseProtocolMap(r.str("listener.security.protocol.map"))
	if err != nil {
		return err
	}
	text := r.str("listeners")
	if n.Listeners, err = parseEndpoints("listeners", text, protocolOf); err != nil {
		return err
	}
	if err := distinctPorts(text, n.Listeners); err != nil {
		return err
	}
	advertised := text
	n.AdvertisedSet = !r.null("advertised.listeners")
	if n.AdvertisedSet {
		advertised = r.str("advertised.listeners")
	}
	if n.Advertised, err = parseEndpoints("advertised.listeners", advertised, protocolOf); err != nil {
		return err
	}
	if err := checkAdvertised(n); err != nil {
		return err
	}
	for i := range n.Advertised {
		if n.Advertised[i].Host == "" {
			n.Advertised[i].Host = hostname
		}
	}
	return interBroker(r, n, protocolOf)
}

// checkAdvertised refuses addresses that no client could use. Kafka: KafkaConfig.validateValues.
func checkAdvertised(n *Network) error {
	const key = "advertised.listeners"
	if len(n.Advertised) == 0 {
		return refuse(key, "%s: there must be at least one", key)
	}
	for _, e := range n.Advertised {
		if unroutable(e.Host) {
			hint := ""
			if !n.AdvertisedSet {
				hint = " It is not set, so listeners is used."
			}
			return refuse(key, "%s cannot use the nonroutable meta-address %s. Use a routable IP address.%s", key, e.Host, hint)
		}
		if !slices.Contains(names(n.Listeners), e.Listener) {
			return refuse(key, "%s listener names must be equal to or a subset of the ones defined in listeners. Found %s. "+
				"The valid options based on the current configuration are %s",
				key, strings.Join(names(n.Advertised), ","), strings.Join(names(n.Listeners), ","))
		}
	}
	return nil
}

// interBroker finds the listener that brokers use between them. Kafka: KafkaConfig.getInterBrokerListenerNameAndSecurityProtocol.
func interBroker(r *reader, n *Network, protocolOf map[string]string) error {
	const byName, byProtocol = "inter.broker.listener.name", "security.inter.broker.protocol"
	name, protocol := r.str(byName), r.str(byProtocol)
	if r.null(byName) {
		n.InterBroker = protocol
	} else {
		if r.set(byProtocol) {
			return refuse(byName, "Only one of %s and %s should be set.", byName, byProtocol)
		}
		n.InterBroker = strings.ToUpper(name)
		if _, ok := protocolOf[n.InterBroker]; !ok {
			return refuse(byName, "Listener with name %s defined in %s not found in listener.security.protocol.map.", name, byName)
		}
	}
	if !slices.Contains(names(n.Advertised), n.InterBroker) {
		return refuse(byName, "%s must be a listener name defined in advertised.listeners. The valid options based on currently "+
			"configured listeners are %s", byName, strings.Join(names(n.Advertised), ","))
	}
	return nil
}

// validateListeners refuses to change a listener that stays: its connections would go on as before.
// Kafka: DynamicListenerConfig.validateReconfiguration. Differs from Kafka: an address that would count only after a
// restart is refused.
func (n *Network) validateListeners(next *Network) error {
	for _, will := range next.Listeners {
		i := slices.IndexFunc(n.Listeners, func(e metadata.Endpoint) bool { return e.Listener == will.Listener })
		switch {
		case i < 0:
		case n.Listeners[i].Protocol != will.Protocol:
			return refuse("listener.security.protocol.map", "Security protocol cannot be updated for existing listener %s", will.Listener)
		case n.Listeners[i] != will:
			return refuse("listeners", "Changing the address of listener %s needs a restart of the broker: set it in server.properties, "+
				"or add a listener of another name", will.Listener)
		}
	}
	return nil
}

func names(endpoints []metadata.Endpoint) []string {
	out := make([]string, len(endpoints))
	for i, e := range endpoints {
		out[i] = e.Listener
	}
	return out
}

// connectionOverrides reads max.connections.per.ip.overrides: host:limit,...
func connectionOverrides(text string) (map[string]int, error) {
	const key = "max.connections.per.ip.overrides"
	out := map[string]int{}
	for _, pair := range splitList(text) {
		i := strings.LastIndexByte(pair, ':')
		limit := -1
		if i > 0 {
			if n, err := strconv.Atoi(strings.TrimSpace(pair[i+1:])); err == nil {
				limit = n
			}
		}
		if limit < 0 {
			return nil, refuse(key, "Invalid value %s for configuration %s: %q is not host:limit", text, key, pair)
		}
		out[strings.Trim(strings.TrimSpace(pair[:i]), "[]")] = limit
	}
	return out, nil
}
