package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jackdaw/metadata"
)

func endpoint(name, host string, port int32) metadata.Endpoint {
	return metadata.Endpoint{Listener: name, Protocol: "PLAINTEXT", Host: host, Port: port}
}

func TestListeners_Usable_AreParsed(t *testing.T) {
	const ab = "listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT,PLAINTEXT:PLAINTEXT"
	for _, tc := range []struct {
		name, settings        string
		listeners, advertised []metadata.Endpoint
		interBroker           string
	}{
		{
			"the default is every address on 9092, advertised by host name", "broker.id=1",
			[]metadata.Endpoint{endpoint("PLAINTEXT", "", 9092)},
			[]metadata.Endpoint{endpoint("PLAINTEXT", "me", 9092)},
			"PLAINTEXT",
		},
		{
			"port 0 takes any", "listeners=PLAINTEXT://127.0.0.1:0",
			[]metadata.Endpoint{endpoint("PLAINTEXT", "127.0.0.1", 0)},
			[]metadata.Endpoint{endpoint("PLAINTEXT", "127.0.0.1", 0)},
			"PLAINTEXT",
		},
		{
			"names are upper-cased, spaces and an empty part ignored", ab + ";listeners= a://h:1 , B://h:2,;inter.broker.listener.name=b",
			[]metadata.Endpoint{endpoint("A", "h", 1), endpoint("B", "h", 2)},
			[]metadata.Endpoint{endpoint("A", "h", 1), endpoint("B", "h", 2)},
			"B",
		},
		{
			"any address may be bound when another is advertised", "listeners=PLAINTEXT://0.0.0.0:9092;advertised.listeners=PLAINTEXT://h:9094",
			[]metadata.Endpoint{endpoint("PLAINTEXT", "0.0.0.0", 9092)},
			[]metadata.Endpoint{endpoint("PLAINTEXT", "h", 9094)},
			"PLAINTEXT",
		},
		{
			"fewer may be advertised, and two names may share a port", ab + ";listeners=A://:1,B://:2,PLAINTEXT://:3;advertised.listeners=A://h:9,B://h:9;inter.broker.listener.name=A",
			[]metadata.Endpoint{endpoint("A", "", 1), endpoint("B", "", 2), endpoint("PLAINTEXT", "", 3)},
			[]metadata.Endpoint{endpoint("A", "h", 9), endpoint("B", "h", 9)},
			"A",
		},
		{
			"one port for IPv4 and IPv6", ab + ";listeners=PLAINTEXT://127.0.0.1:9092,B://[::1]:9092",
			[]metadata.Endpoint{endpoint("PLAINTEXT", "127.0.0.1", 9092), endpoint("B", "::1", 9092)},
			[]metadata.Endpoint{endpoint("PLAINTEXT", "127.0.0.1", 9092), endpoint("B", "::1", 9092)},
			"PLAINTEXT",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			raw := map[string]string{required: "h:1"}
			for _, s := range strings.Split(tc.settings, ";") {
				k, v, _ := strings.Cut(s, "=")
				raw[k] = v
			}
			l, err := load(raw, "me")
			if err != nil {
				t.Fatal(err)
			}
			n := l.Broker().Network
			if diff := cmp.Diff(tc.listeners, n.Listeners); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.advertised, n.Advertised); diff != "" {
				t.Error(diff)
			}
			if n.InterBroker != tc.interBroker {
				t.Errorf("inter-broker: got %s, want %s", n.InterBroker, tc.interBroker)
			}
		})
	}
}

func TestListeners_Unusable_AreRefused(t *testing.T) {
	const ab = "listener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT;"
	for _, tc := range []struct{ settings, want string }{
		{"listeners=PLAINTEXT://0.0.0.0:9092", "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address. It is not set, so listeners is used."},
		{"listeners=PLAINTEXT://:9092;advertised.listeners=PLAINTEXT://0.0.0.0:9092", "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address."},
		{"advertised.listeners=PLAINTEXT://[::]:9092", "advertised.listeners cannot use the nonroutable meta-address ::. Use a routable IP address."},
		{"listeners=", "advertised.listeners: there must be at least one"},
		{"advertised.listeners=", "advertised.listeners: there must be at least one"},
		{"listeners=PLAINTEXT://:9092,PLAINTEXT://:9093", "listeners: each listener must have a different name, and PLAINTEXT is there twice: PLAINTEXT://:9092,PLAINTEXT://:9093"},
		{ab + "listeners=A://a:9092,B://b:9092", "listeners: each listener must have a different port, and 9092 is there twice: A://a:9092,B://b:9092"},
		{"listeners=FOO://:9092", "Invalid value FOO://:9092 for configuration listeners: no security protocol defined for listener FOO in listener.security.protocol.map"},
		{"listeners=foo", `Invalid value foo for configuration listeners: unable to parse "foo" as NAME://host:port`},
		{"listeners=PLAINTEXT://h", `Invalid value PLAINTEXT://h for configuration listeners: unable to parse "PLAINTEXT://h" as NAME://host:port`},
		{"listeners=PLAINTEXT://:99999", `Invalid value PLAINTEXT://:99999 for configuration listeners: "PLAINTEXT://:99999": port "99999" is not between 0 and 65535`},
		{"listeners=PLAINTEXT://h:-1", `Invalid value PLAINTEXT://h:-1 for configuration listeners: "PLAINTEXT://h:-1": port "-1" is not between 0 and 65535`},
		{"advertised.listeners=PLAINTEXT://h:1,PLAINTEXT://h:2", "advertised.listeners: each listener must have a different name, and PLAINTEXT is there twice: PLAINTEXT://h:1,PLAINTEXT://h:2"},
		{"advertised.listeners=PLAINTEXT://h:1,SSL://h:2", "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. Found PLAINTEXT,SSL. The valid options based on the current configuration are PLAINTEXT"},
		{ab + "listeners=A://:1,B://:2", "inter.broker.listener.name must be a listener name defined in advertised.listeners. The valid options based on currently configured listeners are A,B"},
		{ab + "listeners=A://:1;inter.broker.listener.name=A;security.inter.broker.protocol=PLAINTEXT", "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set."},
		{"inter.broker.listener.name=ZZ", "Listener with name ZZ defined in inter.broker.listener.name not found in listener.security.protocol.map."},
		{"security.inter.broker.protocol=ZZZ", "Invalid value ZZZ for configuration security.inter.broker.protocol: String must be one of: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"},
		{"listener.security.protocol.map=A:ZZZ", "Invalid security protocol `ZZZ` defined in listener.security.protocol.map"},
		{"listener.security.protocol.map=A=PLAINTEXT", `Invalid value A=PLAINTEXT for configuration listener.security.protocol.map: "A=PLAINTEXT" is not LISTENER:PROTOCOL`},
	} {
		t.Run(tc.settings, func(t *testing.T) {
			_, err := Load(write(t, "zookeeper.connect=h:1"), nil, strings.Split(tc.settings, ";"))
			if err == nil || err.Error() != tc.want {
				t.Fatalf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}
