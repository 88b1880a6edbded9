package znode_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jackdaw/metadata"
	"jackdaw/zkstore/znode"
)

func topicID(t *testing.T, s string) metadata.TopicID {
	t.Helper()
	id, err := metadata.ParseTopicID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// captured is the broker of the capture: two listeners on 127.0.0.1.
func captured() znode.BrokerInfo {
	return znode.BrokerInfo{
		Broker: metadata.Broker{ID: 1, Epoch: -1, Rack: "r1", Endpoints: []metadata.Endpoint{
			{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", Port: 9092},
			{Listener: "SASL_PLAINTEXT", Protocol: "SASL_PLAINTEXT", Host: "127.0.0.1", Port: 9192},
		}},
		JMXPort: -1, TimestampMs: 1795969865864,
	}
}

// The wanted texts are the data of nodes that Apache Kafka 3.9.2 wrote.
func TestEncode_CapturedNodes_SameBytes(t *testing.T) {
	ids := func(v ...metadata.BrokerID) []metadata.BrokerID { return v }
	type replicas = map[int32][]metadata.BrokerID
	b0 := []metadata.TopicPartition{{Topic: "b", Partition: 0}}
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{
			"controller", znode.Controller{Broker: 3, TimestampMs: 1795969882039, KRaftEpoch: -1}.Encode(),
			`{"version":2,"brokerid":3,"timestamp":"1795969882039","kraftControllerEpoch":-1}`,
		},
		{"controller epoch", znode.EncodeControllerEpoch(3), `3`},
		{
			"broker", captured().Encode(),
			`{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT","SASL_PLAINTEXT":"SASL_PLAINTEXT"},"endpoints":["PLAINTEXT://127.0.0.1:9092","SASL_PLAINTEXT://127.0.0.1:9192"],"rack":"r1","jmx_port":-1,"port":9092,"host":"127.0.0.1","version":5,"timestamp":"1795969865864"}`,
		},
		{
			"topic", znode.TopicAssignment{
				TopicID:    topicID(t, "u6tLvK_hTq-jxMke_mB82Q"),
				Partitions: replicas{0: ids(2, 3, 1), 1: ids(3, 1, 2), 2: ids(1, 2, 3)},
			}.Encode(),
			`{"partitions":{"0":[2,3,1],"1":[3,1,2],"2":[1,2,3]},"topic_id":"u6tLvK_hTq-jxMke_mB82Q","adding_replicas":{},"removing_replicas":{},"version":3}`,
		},
		{
			"topic under reassignment", znode.TopicAssignment{
				TopicID:    topicID(t, "j7j0A8fpTmK21e8plU7wVQ"),
				Partitions: replicas{0: ids(3, 1, 2), 1: ids(1, 2, 3)}, Adding: replicas{0: ids(3), 1: ids(1)}, Removing: replicas{0: ids(2), 1: ids(3)},
			}.Encode(),
			`{"partitions":{"0":[3,1,2],"1":[1,2,3]},"topic_id":"j7j0A8fpTmK21e8plU7wVQ","adding_replicas":{"0":[3],"1":[1]},"removing_replicas":{"0":[2],"1":[3]},"version":3}`,
		},
		{
			"partition state", znode.EncodePartitionState(metadata.LeaderAndISR{ControllerEpoch: 1, Leader: 2, ISR: ids(2, 3, 1)}),
			`{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":0,"isr":[2,3,1]}`,
		},
		{
			"partition state without leader", znode.EncodePartitionState(metadata.LeaderAndISR{ControllerEpoch: 1, Leader: -1, LeaderEpoch: 2, ISR: ids(2)}),
			`{"controller_epoch":1,"leader":-1,"version":1,"leader_epoch":2,"isr":[2]}`,
		},
		{
			"partition state after an unclean election", znode.EncodePartitionState(metadata.LeaderAndISR{ControllerEpoch: 1, Leader: 3, LeaderEpoch: 3, ISR: ids(3), Recovery: metadata.Recovering}),
			`{"controller_epoch":1,"leader":3,"version":1,"leader_recovery_state":1,"leader_epoch":3,"isr":[3]}`,
		},
		{"empty config", znode.EncodeConfig(nil), `{"version":1,"config":{}}`},
		{
			"topic config", znode.EncodeConfig(map[string]string{"retention.ms": "86400000", "min.insync.replicas": "2"}),
			`{"version":1,"config":{"min.insync.replicas":"2","retention.ms":"86400000"}}`,
		},
		{
			"throttled topic config", znode.EncodeConfig(map[string]string{"leader.replication.throttled.replicas": "0:1,0:2,1:2,1:3", "follower.replication.throttled.replicas": "0:3,1:1"}),
			`{"version":1,"config":{"leader.replication.throttled.replicas":"0:1,0:2,1:2,1:3","follower.replication.throttled.replicas":"0:3,1:1"}}`,
		},
		{
			"throttled broker config", znode.EncodeConfig(map[string]string{"log.cleaner.threads": "2", "leader.replication.throttled.rate": "1000000", "follower.replication.throttled.rate": "1000000"}),
			`{"version":1,"config":{"leader.replication.throttled.rate":"1000000","follower.replication.throttled.rate":"1000000","log.cleaner.threads":"2"}}`,
		},
		{
			"scram config", znode.EncodeConfig(map[string]string{"SCRAM-SHA-256": "salt=NXE4emwxNm1lMzQzYzA3aHI3N2Vvc2l6Ng==,stored_key=RAJI4sVamqvEam0JqlIf1Mn+t08RYVWU5/O2I8zYXCY=,server_key=EVc1qsaJO6uVmOIxFJyglGVKrIbwZhJI7io41ftLqeg=,iterations=4096"}),
			`{"version":1,"config":{"SCRAM-SHA-256":"salt=NXE4emwxNm1lMzQzYzA3aHI3N2Vvc2l6Ng==,stored_key=RAJI4sVamqvEam0JqlIf1Mn+t08RYVWU5/O2I8zYXCY=,server_key=EVc1qsaJO6uVmOIxFJyglGVKrIbwZhJI7io41ftLqeg=,iterations=4096"}}`,
		},
		{"config change", znode.ConfigChange{EntityType: "users", EntityName: "alice/clients/app"}.Encode(), `{"version":2,"entity_path":"users/alice/clients/app"}`},
		{"config change of a default", znode.ConfigChange{EntityType: "brokers", EntityName: znode.DefaultEntity}.Encode(), `{"version":2,"entity_path":"brokers/<default>"}`},
		{"reassignment", znode.EncodeReassignPartitions([]znode.Reassignment{{TP: b0[0], Replicas: ids(1, 2)}}), `{"version":1,"partitions":[{"topic":"b","partition":0,"replicas":[1,2]}]}`},
		{"preferred election", znode.EncodePreferredElection(b0), `{"version":1,"partitions":[{"topic":"b","partition":0}]}`},
		{"log dir event", znode.LogDirEvent{Broker: 3, Event: znode.LogDirFailure}.Encode(), `{"version":1,"broker":3,"event":1}`},
		{"producer ids", znode.ProducerIDBlock{Broker: 1, Start: 5000, End: 5999}.Encode(), `{"version":1,"broker":1,"block_start":"5000","block_end":"5999"}`},
		{"cluster id", znode.EncodeClusterID("TI5CQpH9R4qrpbwAcweDqg"), `{"version":"1","id":"TI5CQpH9R4qrpbwAcweDqg"}`},
		{"feature", znode.Feature{Status: znode.FeaturesEnabled}.Encode(), `{"features":{},"version":2,"status":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, string(tt.got)); d != "" {
				t.Errorf("-captured +encoded\n%s", d)
			}
		})
	}
}

func TestBroker_RoundTrip_Same(t *testing.T) {
	want := captured()
	got, err := znode.DecodeBroker(1, want.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestBroker_NoPlaintextEndpointNoRack_NullHost(t *testing.T) {
	b := znode.BrokerInfo{Broker: metadata.Broker{ID: 1, Endpoints: []metadata.Endpoint{{Listener: "IN", Protocol: "SSL", Host: "::1", Port: 9}}}, JMXPort: -1}
	const want = `{"features":{},"listener_security_protocol_map":{"IN":"SSL"},"endpoints":["IN://[::1]:9"],"jmx_port":-1,"port":-1,"host":null,"version":5,"timestamp":"0"}`
	if got := string(b.Encode()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	back, err := znode.DecodeBroker(1, b.Encode())
	if err != nil || back.Endpoints[0] != b.Endpoints[0] {
		t.Errorf("got %v, %v", back, err)
	}
}

func TestDecodeBroker_OldVersions_Read(t *testing.T) {
	plain := metadata.Endpoint{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "h", Port: 9092}
	tests := []struct {
		name, data string
		want       metadata.Endpoint
	}{
		{"version 1 has host and port only", `{"version":1,"host":"h","port":9092,"jmx_port":-1,"timestamp":"2233345666"}`, plain},
		{"version 2 has endpoints", `{"version":2,"host":"h","port":9092,"jmx_port":9999,"timestamp":"1","endpoints":["PLAINTEXT://h:9092"]}`, plain},
		{
			"version 3 has a rack", `{"version":3,"host":"h","port":9092,"jmx_port":9999,"timestamp":"1","endpoints":["SSL://h:9093"],"rack":"r"}`,
			metadata.Endpoint{Listener: "SSL", Protocol: "SSL", Host: "h", Port: 9093},
		},
		{
			"version 4 maps listeners", `{"version":4,"host":"h","port":9092,"jmx_port":9999,"timestamp":1,"endpoints":["CLIENT://h:9092"],"listener_security_protocol_map":{"CLIENT":"SASL_SSL"},"rack":null}`,
			metadata.Endpoint{Listener: "CLIENT", Protocol: "SASL_SSL", Host: "h", Port: 9092},
		},
		{
			"a later version with unknown keys", `{"version":9,"new":{"x":[1]},"endpoints":["CLIENT://h:9092"],"listener_security_protocol_map":{"CLIENT":"PLAINTEXT"}}`,
			metadata.Endpoint{Listener: "CLIENT", Protocol: "PLAINTEXT", Host: "h", Port: 9092},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := znode.DecodeBroker(1, []byte(tt.data))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]metadata.Endpoint{tt.want}, b.Endpoints); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDecodeController_AllForms_Read(t *testing.T) {
	for _, data := range []string{
		`4`, `{"version":1,"brokerid":4,"timestamp":"1"}`, `{"version":1,"brokerid":4,"timestamp":1}`,
		`{"version":2,"brokerid":4,"timestamp":"1","kraftControllerEpoch":-1}`,
	} {
		c, err := znode.DecodeController([]byte(data))
		if err != nil || c.Broker != 4 || c.KRaftEpoch != -1 {
			t.Errorf("%s: got %+v, %v", data, c, err)
		}
	}
}

func TestDecodeTopicAssignment_OldVersions_Read(t *testing.T) {
	for _, data := range []string{
		`{"version":1,"partitions":{"0":[1,2]}}`,
		`{"version":2,"partitions":{"0":[1,2]},"adding_replicas":{},"removing_replicas":{}}`,
	} {
		a, err := znode.DecodeTopicAssignment([]byte(data))
		if err != nil || !a.TopicID.IsZero() || len(a.Partitions[0]) != 2 {
			t.Errorf("%s: got %+v, %v", data, a, err)
		}
	}
}

func TestDecodePartitionState_RoundTrip_VersionIsEpoch(t *testing.T) {
	want := metadata.LeaderAndISR{ControllerEpoch: 7, Leader: 3, LeaderEpoch: 4, ISR: []metadata.BrokerID{3, 1}, Recovery: metadata.Recovering, PartitionEpoch: 12}
	got, err := znode.DecodePartitionState(znode.EncodePartitionState(want), 12)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDecodeConfigChange_BothVersions_Read(t *testing.T) {
	for _, data := range []string{`{"version":1,"entity_type":"topics","entity_name":"a"}`, `{"version":2,"entity_path":"topics/a"}`} {
		c, err := znode.DecodeConfigChange([]byte(data))
		if err != nil || c != (znode.ConfigChange{EntityType: "topics", EntityName: "a"}) {
			t.Errorf("%s: got %+v, %v", data, c, err)
		}
	}
}

func TestDecode_Broken_DecodeErrorNamesNode(t *testing.T) {
	decoders := map[string]func([]byte) error{
		"broker":     func(b []byte) error { _, err := znode.DecodeBroker(1, b); return err },
		"controller": func(b []byte) error { _, err := znode.DecodeController(b); return err },
		"topic":      func(b []byte) error { _, err := znode.DecodeTopicAssignment(b); return err },
		"state":      func(b []byte) error { _, err := znode.DecodePartitionState(b, 0); return err },
		"config":     func(b []byte) error { _, err := znode.DecodeConfig(b); return err },
		"change":     func(b []byte) error { _, err := znode.DecodeConfigChange(b); return err },
		"cluster":    func(b []byte) error { _, err := znode.DecodeClusterID(b); return err },
	}
	for name, f := range decoders {
		var de *znode.DecodeError
		if err := f([]byte(`{"version":`)); !errors.As(err, &de) || de.Node == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := znode.DecodePartitionState([]byte(`{"leader":1,"isr":[1]}`), 0); err == nil {
		t.Error("a state without leader_epoch was taken")
	}
}

func TestEncodeConfig_OddStrings_RoundTrip(t *testing.T) {
	in := map[string]string{"a": "q\"b\\n\n\t\x01</>&\u2028é😀", "b": ""}
	out, err := znode.DecodeConfig(znode.EncodeConfig(in))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(in, out); d != "" {
		t.Error(d)
	}
}

func TestSanitize_SpecialNames_AsJava(t *testing.T) {
	for in, want := range map[string]string{"alice": "alice", "User:bob": "User%3Abob", "a b*~é/": "a%20b%2A%7E%C3%A9%2F", "<default>": "%3Cdefault%3E"} {
		if got := znode.Sanitize(in); got != want {
			t.Errorf("Sanitize(%q) = %q, want %q", in, got, want)
		}
		if got := znode.Desanitize(want); got != in {
			t.Errorf("Desanitize(%q) = %q, want %q", want, got, in)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(captured().Encode())
	f.Add([]byte(`{"partitions":{"0":[2,3,1]},"topic_id":"u6tLvK_hTq-jxMke_mB82Q","adding_replicas":{},"removing_replicas":{},"version":3}`))
	f.Add([]byte(`{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":0,"isr":[2,3,1]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		// Whatever can be decoded must survive a round trip; nothing may panic.
		if a, err := znode.DecodeTopicAssignment(data); err == nil {
			b, err := znode.DecodeTopicAssignment(a.Encode())
			if err != nil || b.TopicID != a.TopicID || len(b.Partitions) != len(a.Partitions) {
				t.Errorf("%+v became %+v, %v", a, b, err)
			}
		}
		if s, err := znode.DecodePartitionState(data, 1); err == nil {
			if _, err := znode.DecodePartitionState(znode.EncodePartitionState(s), 1); err != nil {
				t.Error(err)
			}
		}
		if b, err := znode.DecodeBroker(1, data); err == nil {
			_ = b.Encode()
		}
		if c, err := znode.DecodeConfig(data); err == nil {
			if d, err := znode.DecodeConfig(znode.EncodeConfig(c)); err != nil || len(d) != len(c) {
				t.Errorf("%+v became %+v, %v", c, d, err)
			}
		}
	})
}
