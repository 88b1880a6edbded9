package config

import (
	"errors"
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestAlterTopic_Operations_AsKafka(t *testing.T) {
	for _, tc := range []struct {
		name    string
		current map[string]string
		changes []Change
		want    map[string]string
		err     string
	}{
		{
			"set and delete",
			map[string]string{"retention.ms": "1", "flush.ms": "2"},
			[]Change{{"retention.ms", Set, "9"}, {"flush.ms", Delete, ""}},
			map[string]string{"retention.ms": "9"},
			"",
		},
		{"delete of what is not there", nil, []Change{{"flush.ms", Delete, ""}}, map[string]string{}, ""},
		{"append to the default", nil, []Change{{"cleanup.policy", Append, "compact"}}, map[string]string{"cleanup.policy": "delete,compact"}, ""},
		{
			"append to an empty default", nil,
			[]Change{{"leader.replication.throttled.replicas", Append, "0:1"}},
			map[string]string{"leader.replication.throttled.replicas": "0:1"},
			"",
		},
		{
			"append what is there",
			map[string]string{"cleanup.policy": "compact"},
			[]Change{{"cleanup.policy", Append, "delete,compact"}},
			map[string]string{"cleanup.policy": "compact,delete"},
			"",
		},
		{
			"subtract",
			map[string]string{"cleanup.policy": "compact,delete"},
			[]Change{{"cleanup.policy", Subtract, "delete,x"}},
			map[string]string{"cleanup.policy": "compact"},
			"",
		},
		{"append to a number", nil, []Change{{"retention.ms", Append, "1"}}, nil, "Config value append is not allowed for config key: retention.ms"},
		{"subtract from an unknown key", nil, []Change{{"no.such", Subtract, "1"}}, nil, "Unknown config name: no.such"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := maps.Clone(tc.current)
			got, err := AlterTopic(tc.current, tc.changes)
			if !maps.Equal(tc.current, before) {
				t.Error("the settings of the caller were changed")
			}
			if tc.err != "" {
				if err == nil || err.Error() != tc.err || !errors.Is(err, kerr.InvalidConfig) {
					t.Fatalf("got %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil || !maps.Equal(got, tc.want) {
				t.Errorf("got %v, %v; want %v", got, err, tc.want)
			}
		})
	}
}

func TestValidateChange_Brokers_KafkasTextsAndOurs(t *testing.T) {
	l, err := load(map[string]string{required: "h:1", "num.io.threads": "8", "log.cleaner.threads": "2"}, "host")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name      string
		settings  map[string]string
		perBroker bool
		err       string
	}{
		{"retention", map[string]string{"log.retention.ms": "1000"}, true, ""},
		{"unknown key", map[string]string{"no.such": "1"}, true, ""},
		{"replication throttle", map[string]string{"leader.replication.throttled.rate": "1"}, true, ""},
		{
			"read-only keys",
			map[string]string{"zookeeper.connect": "x", "broker.id": "1"},
			true,
			"Cannot update these configs dynamically: Set(broker.id, zookeeper.connect)",
		},
		{
			"key of one broker for all",
			map[string]string{"listeners": "PLAINTEXT://:1"},
			false,
			"Cannot update these configs at default cluster level, broker id must be specified: Set(listeners)",
		},
		{
			"store without a listener",
			map[string]string{"ssl.keystore.location": "/x"},
			true,
			"These security configs can be dynamically updated only per-listener using the listener prefix: Set(ssl.keystore.location)",
		},
		{
			"not a number",
			map[string]string{"log.cleaner.threads": "zap"},
			false,
			"Invalid value zap for configuration log.cleaner.threads: Not a number of type INT",
		},
		{
			"three times the threads",
			map[string]string{"num.io.threads": "24"},
			true,
			"Dynamic thread count update validation failed for num.io.threads=24, value should not be greater than double the current value 8",
		},
		{
			"a third of the threads",
			map[string]string{"num.io.threads": "3"},
			false,
			"Dynamic thread count update validation failed for num.io.threads=3, value should be at least half the current value 8",
		},
		{
			"cleaner threads",
			map[string]string{"log.cleaner.threads": "5"},
			false,
			"Log cleaner threads cannot be increased to more than double the current value 2",
		},
		{
			"a class",
			map[string]string{"metric.reporters": "org.apache.kafka.common.metrics.JmxReporter"},
			false,
			"Changing metric.reporters has no effect: concerns the Java virtual machine only",
		},
		{"the same listeners", map[string]string{"listeners": "PLAINTEXT://:9092"}, true, ""},
		{
			"other listeners",
			map[string]string{"listeners": "PLAINTEXT://:9093"},
			true,
			"Changing the address of listener PLAINTEXT needs a restart of the broker: set it in server.properties, or add a listener of another name",
		},
		{
			"one listener more",
			map[string]string{"listeners": "PLAINTEXT://:9092,SECOND://:9093", "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECOND:PLAINTEXT"},
			true,
			"",
		},
		{
			"without the listener of brokers",
			map[string]string{"listeners": "SECOND://:9093", "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECOND:PLAINTEXT"},
			true,
			"inter.broker.listener.name must be a listener name defined in advertised.listeners. The valid options based on currently configured listeners are SECOND",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := ""
			if err := l.ValidateChange(l.Broker(), Dynamic{}, tc.settings, tc.perBroker); err != nil {
				text = err.Error()
			}
			if text != tc.err {
				t.Errorf("got  %s\nwant %s", text, tc.err)
			}
		})
	}
}

func TestValidateQuotas_Bounds_AsInTheTable(t *testing.T) {
	for text, ok := range map[string]bool{"1": true, "0": false, "-1": false, "x": false} {
		if err := ValidateQuotas(map[string]string{"producer_byte_rate": text, "SCRAM-SHA-256": "salt"}); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
