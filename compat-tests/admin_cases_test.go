//go:build compat

package compat

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// explainedAdmin are the cases in which Jackdaw answers otherwise on purpose: a part of its answer, and why.
var explainedAdmin = map[string]struct{ ours, why string }{
	"IncrementalAlterConfigs: append to an unknown key":         {`"ErrorCode":40,"ErrorMessage":"Unknown config name: no.such"`, "Kafka answers -1"},
	"IncrementalAlterConfigs: broker: append to an unknown key": {`"ErrorCode":40,"ErrorMessage":"Unknown config name: no.such"`, "Kafka answers -1"},
	"IncrementalAlterConfigs: operation 9":                      {`"ErrorCode":42,"ErrorMessage":"Unknown operations type 9"`, "Kafka answers -1"},
	"IncrementalAlterConfigs: logger: operation 9":              {`"ErrorCode":42,"ErrorMessage":"Unknown operations type 9"`, "Kafka answers -1"},
	"IncrementalAlterConfigs: logger: other broker": {
		`"ErrorMessage":"Unexpected broker id, expected 1, but received 77"`, "Kafka: Expected 1, but received 1",
	},
	"IncrementalAlterConfigs: broker: overrides": {
		`Invalid value x for configuration max.connections.per.ip.overrides: \"x\" is not host:limit`, "Kafka shows the inside of a Java parser",
	},
	"AlterClientQuotas: value 0":                                            {`must be at least 1`, "a client with no bytes at all would wait for ever"},
	"AlterClientQuotas: bad ip, removed":                                    {`"1.2.3 is not a valid IP or resolvable host."`, "the same"},
	"AlterClientQuotas: bad ip":                                             {`"1.2.3 is not a valid IP or resolvable host."`, "Java takes it for 1.2.0.3"},
	"DescribeClientQuotas: match type 7":                                    {`"ErrorCode":42,"ErrorMessage":"Unexpected match type: 7"`, "Kafka answers -1"},
	"DescribeClientQuotas: exact without a name":                            {`"ErrorCode":42`, "Kafka answers -1"},
	"CreateTopics: collide in one request":                                  {`"Topic 'new_one' collides with existing topics: new.one"`, "Kafka finds it when it creates the second"},
	"CreateTopics: assigned: none":                                          {`"Empty replica list for partition 0"`, "Kafka makes a partition without replicas"},
	"CreateTopics: assigned: partition -1":                                  {`"ErrorCode":39`, "Kafka answers -1"},
	"CreatePartitions: empty name":                                          {`"ErrorCode":3`, "Kafka answers -1"},
	"DeleteTopics: neither name nor id":                                     {`"ErrorCode":100`, "Kafka answers TOPIC_AUTHORIZATION_FAILED, without an authorizer"},
	"DeleteRecords: bad name and good":                                      {`"ErrorCode":3,"LowWatermark":-1,"Partition":-1}],"Topic":"e"}`, "Kafka answers once for a topic that is there twice"},
	"IncrementalAlterConfigs: broker: value metric.reporters=no.such.Class": {`no effect: concerns the Java virtual machine only`, "Kafka does not find the class"},
	"IncrementalAlterConfigs: broker: value max.connections.per.ip.overrides=127.0.0.1:x": {
		`\"127.0.0.1:x\" is not host:limit`, "Kafka shows the inside of a Java parser",
	},
	"IncrementalAlterConfigs: broker: value listeners=PLAINTEXT": {`unable to parse \"PLAINTEXT\" as NAME://host:port`, "another text"},
	"IncrementalAlterConfigs: broker: value listeners=A://:1":    {`no security protocol defined for listener A`, "another text"},
	"IncrementalAlterConfigs: broker: value advertised.listeners=OTHER://h:1": {
		`no security protocol defined for listener OTHER`, "another text",
	},
	"IncrementalAlterConfigs: broker: value listener.security.protocol.map=PLAINTEXT": {
		`\"PLAINTEXT\" is not LISTENER:PROTOCOL`, "Kafka shows the inside of a Java parser",
	},
	"AlterConfigs: same resource twice": {`"Each resource must appear at most once."`, "Kafka never answers"},
}

// adminCases are sent in this order: later ones see what earlier ones have changed.
func adminCases() []adminCase {
	var all []adminCase
	for _, part := range [][]adminCase{
		topicCases(), incrementalCases(), legacyCases(), describeConfigCases(), securityCases(), scramCases(), quotaCases(), otherAdminCases(), oddCases(),
	} {
		all = append(all, part...)
	}
	return all
}

// Resource types of configs.
const (
	topicResource  = kmsg.ConfigResourceTypeTopic
	brokerResource = kmsg.ConfigResourceTypeBroker
	loggerResource = kmsg.ConfigResourceTypeBrokerLogger
)

// Operations of IncrementalAlterConfigs.
const (
	opSet = kmsg.IncrementalAlterConfigOp(iota)
	opDelete
	opAppend
	opSubtract
)

// change is one key of an incremental change; a value of "null" is null.
type change struct {
	op         kmsg.IncrementalAlterConfigOp
	key, value string
}

func nullable(s string) *string {
	if s == "null" {
		return nil
	}
	return &s
}

func incremental(kind kmsg.ConfigResourceType, name string, changes ...change) kmsg.IncrementalAlterConfigsRequestResource {
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, c := range changes {
		e := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		e.Name, e.Op, e.Value = c.key, c.op, nullable(c.value)
		r.Configs = append(r.Configs, e)
	}
	return r
}

// alterCase is a case of IncrementalAlterConfigs.
func alterCase(name string, resources ...kmsg.IncrementalAlterConfigsRequestResource) adminCase {
	return adminCase{name: name, req: func(int16) kmsg.Request {
		r := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r.Resources = resources
		return r
	}}
}

func topicCases() []adminCase {
	create := func(name string, topic string, partitions int32, rf int16, edit func(*kmsg.CreateTopicsRequest, *kmsg.CreateTopicsRequestTopic)) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrCreateTopicsRequest()
			r.TimeoutMillis = 10000
			t := kmsg.NewCreateTopicsRequestTopic()
			t.Topic, t.NumPartitions, t.ReplicationFactor = topic, partitions, rf
			if edit != nil {
				edit(r, &t)
			}
			r.Topics = append(r.Topics, t)
			return r
		}}
	}
	config := func(key, value string) func(*kmsg.CreateTopicsRequest, *kmsg.CreateTopicsRequestTopic) {
		return func(_ *kmsg.CreateTopicsRequest, t *kmsg.CreateTopicsRequestTopic) {
			t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: key, Value: nullable(value)})
		}
	}
	first := create("a topic", "e", 2, 1, nil)
	first.from, first.to = 4, 4
	validate := create("only validate", "v", 3, 1, func(r *kmsg.CreateTopicsRequest, _ *kmsg.CreateTopicsRequestTopic) { r.ValidateOnly = true })
	validate.from = 1
	invalid := create("only validate, and it is wrong", "v", 0, 1, func(r *kmsg.CreateTopicsRequest, _ *kmsg.CreateTopicsRequestTopic) { r.ValidateOnly = true })
	invalid.from = 1
	grow := func(name, topic string, count int32, assigned ...[]int32) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrCreatePartitionsRequest()
			r.TimeoutMillis, r.ValidateOnly = 10000, true
			t := kmsg.NewCreatePartitionsRequestTopic()
			t.Topic, t.Count = topic, count
			for _, a := range assigned {
				t.Assignment = append(t.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: a})
			}
			r.Topics = append(r.Topics, t)
			return r
		}}
	}
	remove := func(name string, topics ...string) adminCase {
		return adminCase{name: name, to: 5, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrDeleteTopicsRequest()
			r.TimeoutMillis, r.TopicNames = 10000, topics
			return r
		}}
	}
	return []adminCase{
		first, validate, invalid,
		create("exists already", "e", 1, 1, nil),
		create("no partitions", "n", 0, 1, nil),
		create("negative partitions", "n", -2, 1, nil),
		create("replication factor 0", "n", 1, 0, nil),
		create("replication factor 3 of 1", "n", 1, 3, nil),
		create("empty name", "", 1, 1, nil),
		create("bad name", "a b", 1, 1, nil),
		create("name .", ".", 1, 1, nil),
		create("unknown key", "n", 1, 1, config("no.such", "1")),
		create("bad value", "n", 1, 1, config("retention.ms", "x")),
		create("out of range", "n", 1, 1, config("retention.ms", "-5")),
		create("null value", "n", 1, 1, config("retention.ms", "null")),
		create("bad policy", "n", 1, 1, config("cleanup.policy", "shred")),
		create("remote storage", "n", 1, 1, config("remote.storage.enable", "true")),
		create("assignment and partitions", "n", 1, 1, func(_ *kmsg.CreateTopicsRequest, t *kmsg.CreateTopicsRequestTopic) {
			t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: 0, Replicas: []int32{1}})
		}),
		create("assignment with a gap", "n", -1, -1, func(_ *kmsg.CreateTopicsRequest, t *kmsg.CreateTopicsRequestTopic) {
			t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: 2, Replicas: []int32{1}})
		}),
		create("assignment with twins", "n", -1, -1, func(_ *kmsg.CreateTopicsRequest, t *kmsg.CreateTopicsRequestTopic) {
			t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: 0, Replicas: []int32{1, 1}})
		}),
		create("twice in one request", "n", 1, 1, func(r *kmsg.CreateTopicsRequest, t *kmsg.CreateTopicsRequestTopic) { r.Topics = append(r.Topics, *t) }),
		grow("one more", "e", 3),
		grow("as many", "e", 2),
		grow("fewer", "e", 1),
		grow("unknown topic", "nope", 3),
		grow("with assignment", "e", 3, []int32{1}),
		grow("assignment too long", "e", 3, []int32{1}, []int32{1}),
		grow("assignment to an unknown broker", "e", 3, []int32{9}),
		remove("unknown topic", "nope"),
		remove("empty name", ""),
	}
}

func incrementalCases() []adminCase {
	validate := func(c adminCase) adminCase {
		make := c.req
		c.req = func(v int16) kmsg.Request {
			r := make(v).(*kmsg.IncrementalAlterConfigsRequest)
			r.ValidateOnly = true
			return r
		}
		return c
	}
	on := func(changes ...change) kmsg.IncrementalAlterConfigsRequestResource {
		return incremental(topicResource, "e", changes...)
	}
	broker := func(name string, changes ...change) kmsg.IncrementalAlterConfigsRequestResource {
		return incremental(brokerResource, name, changes...)
	}
	return []adminCase{
		alterCase("unknown topic", incremental(topicResource, "nope", change{opSet, "retention.ms", "1"})),
		alterCase("unknown topic, unknown key", incremental(topicResource, "nope", change{opSet, "no.such", "1"})),
		alterCase("invalid value", on(change{opSet, "retention.ms", "x"})),
		alterCase("out of range", on(change{opSet, "retention.ms", "-5"})),
		alterCase("min.insync.replicas 0", on(change{opSet, "min.insync.replicas", "0"})),
		alterCase("ratio", on(change{opSet, "min.cleanable.dirty.ratio", "1.5"})),
		alterCase("policy", on(change{opSet, "cleanup.policy", "shred"})),
		alterCase("compression", on(change{opSet, "compression.type", "rar"})),
		alterCase("gzip level", on(change{opSet, "compression.gzip.level", "12"})),
		alterCase("boolean", on(change{opSet, "preallocate", "yes"})),
		alterCase("segment.bytes", on(change{opSet, "segment.bytes", "13"})),
		alterCase("throttled replicas", on(change{opSet, "leader.replication.throttled.replicas", "0-1"})),
		alterCase("lags in conflict", on(change{opSet, "min.compaction.lag.ms", "20"}, change{opSet, "max.compaction.lag.ms", "10"})),
		alterCase("remote storage", on(change{opSet, "remote.storage.enable", "true"})),
		alterCase("unknown key", on(change{opSet, "no.such", "1"})),
		alterCase("delete of an unknown key", on(change{opDelete, "no.such", "null"})),
		alterCase("append to an unknown key", on(change{opAppend, "no.such", "1"})),
		alterCase("append to a number", on(change{opAppend, "retention.ms", "1"})),
		alterCase("subtract from a number", on(change{opSubtract, "retention.ms", "1"})),
		alterCase("operation 9", on(change{9, "retention.ms", "1"})),
		alterCase("null value", on(change{opSet, "retention.ms", "null"})),
		alterCase("two null values", on(change{opSet, "retention.ms", "null"}, change{opAppend, "cleanup.policy", "null"})),
		alterCase("same key twice", on(change{opSet, "retention.ms", "1"}, change{opDelete, "retention.ms", "null"})),
		alterCase("same resource twice", on(change{opSet, "retention.ms", "1"}), on(change{opSet, "retention.ms", "2"})),
		alterCase("empty topic name", incremental(topicResource, "", change{opSet, "retention.ms", "1"})),
		alterCase("resource type 77", incremental(77, "e", change{opSet, "retention.ms", "1"})),
		alterCase("resource type 0", incremental(0, "e", change{opSet, "retention.ms", "1"})),
		alterCase("client metrics", incremental(16, "e", change{opSet, "retention.ms", "1"})),
		alterCase("group", incremental(32, "e", change{opSet, "retention.ms", "1"})),
		validate(alterCase("only validate", on(change{opSet, "retention.ms", "12345"}))),
		validate(alterCase("only validate, and it is wrong", on(change{opSet, "retention.ms", "x"}))),
		alterCase("nothing", on()),
		alterCase("no resource"),
		alterCase("set", on(change{opSet, "retention.ms", "60000"}, change{opSet, "max.message.bytes", "2000000"})),
		alterCase("append to the default", on(change{opAppend, "cleanup.policy", "compact"})),
		alterCase("append what is there", on(change{opAppend, "cleanup.policy", "compact"})),
		alterCase("append to an empty list", on(change{opAppend, "leader.replication.throttled.replicas", "0:1"})),
		alterCase("append two", on(change{opAppend, "leader.replication.throttled.replicas", "1:1,0:1"})),
		describeCase("after append", topicResource, "e", "cleanup.policy", "leader.replication.throttled.replicas", "retention.ms", "max.message.bytes"),
		alterCase("subtract", on(change{opSubtract, "cleanup.policy", "delete"})),
		alterCase("subtract what is not there", on(change{opSubtract, "cleanup.policy", "delete"})),
		describeCase("after subtract", topicResource, "e", "cleanup.policy"),
		alterCase("subtract all", on(change{opSubtract, "leader.replication.throttled.replicas", "1:1,0:1"})),
		describeCase("after subtract all", topicResource, "e", "leader.replication.throttled.replicas"),
		alterCase("delete", on(change{opDelete, "cleanup.policy", "null"}, change{opDelete, "retention.ms", "x"})),
		alterCase("delete again", on(change{opDelete, "cleanup.policy", "null"})),
		alterCase("good and bad", on(change{opSet, "segment.ms", "1000"}), incremental(topicResource, "nope", change{opSet, "segment.ms", "1000"})),
		describeCase("after delete", topicResource, "e", "cleanup.policy", "retention.ms", "segment.ms"),

		alterCase("broker: read-only key", broker("1", change{opSet, "zookeeper.connect", "x"})),
		alterCase("default: read-only key", broker("", change{opSet, "zookeeper.connect", "x"})),
		alterCase("broker: unknown key", broker("1", change{opSet, "no.such", "1"})),
		alterCase("broker: delete unknown key", broker("1", change{opDelete, "no.such", "null"})),
		alterCase("broker: append to an unknown key", broker("1", change{opAppend, "no.such", "1"})),
		alterCase("broker: append to a number", broker("1", change{opAppend, "log.retention.ms", "1"})),
		alterCase("broker: operation 9", broker("1", change{9, "log.retention.ms", "1"})),
		alterCase("default: key of one broker", broker("", change{opSet, "listeners", "PLAINTEXT://:1"})),
		alterCase("broker: other id", broker("77", change{opSet, "log.retention.ms", "1"})),
		alterCase("broker: not a number", broker("abc", change{opSet, "log.retention.ms", "1"})),
		alterCase("broker: invalid value", broker("1", change{opSet, "log.cleaner.threads", "zap"})),
		alterCase("broker: out of range", broker("1", change{opSet, "message.max.bytes", "-1"})),
		alterCase("broker: retention 0", broker("1", change{opSet, "log.retention.ms", "0"})),
		alterCase("default: invalid value", broker("", change{opSet, "log.cleaner.threads", "zap"})),
		alterCase("broker: null value", broker("1", change{opSet, "log.retention.ms", "null"})),
		alterCase("broker: cleaner threads too many", broker("1", change{opSet, "log.cleaner.threads", "9"})),
		alterCase("broker: io threads too many", broker("1", change{opSet, "num.io.threads", "100"})),
		alterCase("broker: io threads too few", broker("1", change{opSet, "num.io.threads", "1"})),
		alterCase("broker: fetchers 0", broker("1", change{opSet, "num.replica.fetchers", "0"})),
		alterCase("broker: ssl without prefix", broker("1", change{opSet, "ssl.keystore.location", "/x"})),
		alterCase("broker: min.insync.replicas 0", broker("1", change{opSet, "min.insync.replicas", "0"})),
		alterCase("broker: overrides", broker("1", change{opSet, "max.connections.per.ip.overrides", "x"})),
		alterCase("broker: set", broker("1", change{opSet, "log.retention.ms", "3600000"}, change{opSet, "log.cleanup.policy", "compact,delete"})),
		alterCase("broker: append", broker("1", change{opAppend, "log.cleanup.policy", "delete"})),
		alterCase("broker: subtract", broker("1", change{opSubtract, "log.cleanup.policy", "compact"})),
		alterCase("default: set", broker("", change{opSet, "log.segment.bytes", "1000000"}, change{opSet, "log.retention.ms", "7200000"})),
		describeCase("broker with dynamic settings", brokerResource, "1", "log.retention.ms", "log.cleanup.policy", "log.segment.bytes", "no.such"),
		describeCase("default settings", brokerResource, "", "log.retention.ms", "log.segment.bytes"),
		describeCase("topic under dynamic settings", topicResource, "e", "retention.ms", "cleanup.policy", "segment.bytes", "retention.bytes"),
		alterCase("broker: delete", broker("1", change{opDelete, "log.retention.ms", "null"}, change{opDelete, "log.cleanup.policy", "null"}, change{opDelete, "no.such", "null"})),
		alterCase("default: delete", broker("", change{opDelete, "log.segment.bytes", "null"}, change{opDelete, "log.retention.ms", "null"})),
		describeCase("broker after delete", brokerResource, "1", "log.retention.ms", "log.cleanup.policy", "log.segment.bytes"),

		alterCase("logger: unknown", incremental(loggerResource, "1", change{opSet, "no.such", "INFO"})),
		alterCase("logger: bad level", incremental(loggerResource, "1", change{opSet, "root", "LOUD"})),
		alterCase("logger: append", incremental(loggerResource, "1", change{opAppend, "root", "INFO"})),
		alterCase("logger: subtract", incremental(loggerResource, "1", change{opSubtract, "root", "INFO"})),
		alterCase("logger: delete root", incremental(loggerResource, "1", change{opDelete, "root", "null"})),
		alterCase("logger: other broker", incremental(loggerResource, "77", change{opSet, "root", "INFO"})),
		alterCase("logger: no broker", incremental(loggerResource, "", change{opSet, "root", "INFO"})),
		alterCase("logger: operation 9", incremental(loggerResource, "1", change{9, "root", "INFO"})),
		alterCase("logger: set", incremental(loggerResource, "1", change{opSet, "root", "WARN"})),
		describeCase("logger after set", loggerResource, "1", "root"),
		alterCase("logger: set back", incremental(loggerResource, "1", change{opSet, "root", "INFO"})),
		describeCase("logger of another broker", loggerResource, "77", "root"),
	}
}

func legacyCases() []adminCase {
	set := func(name string, kind kmsg.ConfigResourceType, resource string, kv ...string) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrAlterConfigsRequest()
			e := kmsg.NewAlterConfigsRequestResource()
			e.ResourceType, e.ResourceName = kind, resource
			for i := 0; i < len(kv); i += 2 {
				e.Configs = append(e.Configs, kmsg.AlterConfigsRequestResourceConfig{Name: kv[i], Value: nullable(kv[i+1])})
			}
			r.Resources = append(r.Resources, e)
			return r
		}}
	}
	twice := set("same resource twice", topicResource, "e", "retention.ms", "1")
	once := twice.req
	twice.req = func(v int16) kmsg.Request {
		r := once(v).(*kmsg.AlterConfigsRequest)
		r.Resources = append(r.Resources, r.Resources[0])
		return r
	}
	return []adminCase{
		twice,
		set("unknown topic", topicResource, "nope", "retention.ms", "1"),
		set("invalid value", topicResource, "e", "retention.ms", "x"),
		set("unknown key", topicResource, "e", "no.such", "x"),
		set("null value", topicResource, "e", "retention.ms", "null"),
		set("same key twice", topicResource, "e", "retention.ms", "1", "retention.ms", "2"),
		set("empty topic name", topicResource, "", "retention.ms", "1"),
		set("resource type 77", 77, "e", "retention.ms", "1"),
		set("logger", loggerResource, "1", "root", "INFO"),
		set("client metrics", 16, "e", "retention.ms", "1"),
		set("replace", topicResource, "e", "retention.ms", "70000", "flush.messages", "5"),
		describeCase("after replace", topicResource, "e", "retention.ms", "max.message.bytes", "flush.messages"),
		set("replace by nothing", topicResource, "e"),
		describeCase("after replace by nothing", topicResource, "e"),
		set("broker: read-only key", brokerResource, "1", "zookeeper.connect", "x"),
		set("broker: invalid value", brokerResource, "1", "log.cleaner.threads", "zap"),
		set("broker: other id", brokerResource, "77", "log.retention.ms", "1"),
		set("broker: not a number", brokerResource, "abc", "log.retention.ms", "1"),
		set("broker: unknown key", brokerResource, "1", "no.such", "1"),
		set("default: key of one broker", brokerResource, "", "listeners", "PLAINTEXT://:1"),
		set("broker: replace", brokerResource, "1", "log.retention.ms", "3600000"),
		describeCase("broker after replace", brokerResource, "1", "log.retention.ms"),
		set("broker: replace by nothing", brokerResource, "1"),
		set("default: replace", brokerResource, "", "log.retention.ms", "3600000"),
		set("default: replace by nothing", brokerResource, ""),
	}
}

func describeCase(name string, kind kmsg.ConfigResourceType, resource string, keys ...string) adminCase {
	return adminCase{name: name, req: func(v int16) kmsg.Request {
		r := kmsg.NewPtrDescribeConfigsRequest()
		r.IncludeSynonyms, r.IncludeDocumentation = v >= 1, false
		e := kmsg.NewDescribeConfigsRequestResource()
		e.ResourceType, e.ResourceName = kind, resource
		if len(keys) > 0 {
			e.ConfigNames = keys
		}
		r.Resources = append(r.Resources, e)
		return r
	}}
}

func describeConfigCases() []adminCase {
	return []adminCase{
		describeCase("topic", topicResource, "e"),
		describeCase("unknown topic", topicResource, "nope"),
		describeCase("unknown key", topicResource, "e", "no.such"),
		describeCase("bad topic name", topicResource, "a b"),
		describeCase("empty topic name", topicResource, ""),
		describeCase("some keys of a broker", brokerResource, "1", "message.max.bytes", "log.dirs", "num.io.threads", "ssl.keystore.password", "log.roll.ms", "log.roll.hours"),
		describeCase("other broker", brokerResource, "77"),
		describeCase("not a number", brokerResource, "abc"),
		describeCase("no broker", brokerResource, ""),
		describeCase("logger of no broker", loggerResource, ""),
		describeCase("resource type 77", 77, "x"),
		describeCase("resource type 16", 16, "x"),
	}
}

func securityCases() []adminCase {
	fixed := func(name string, r func() kmsg.Request) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request { return r() }}
	}
	return []adminCase{
		fixed("without SASL", func() kmsg.Request { r := kmsg.NewPtrSASLHandshakeRequest(); r.Mechanism = "PLAIN"; return r }),
		fixed("without SASL", func() kmsg.Request {
			r := kmsg.NewPtrSASLAuthenticateRequest()
			r.SASLAuthBytes = []byte("x")
			return r
		}),
		fixed("no authorizer", func() kmsg.Request {
			r := kmsg.NewPtrDescribeACLsRequest()
			r.ResourceType, r.Operation, r.PermissionType = 1, 1, 1
			return r
		}),
		fixed("no authorizer", func() kmsg.Request {
			r := kmsg.NewPtrCreateACLsRequest()
			for range 2 {
				c := kmsg.NewCreateACLsRequestCreation()
				c.ResourceType, c.ResourceName, c.Principal, c.Host, c.Operation, c.PermissionType = 2, "e", "User:a", "*", 3, 3
				r.Creations = append(r.Creations, c)
			}
			return r
		}),
		fixed("nothing", func() kmsg.Request { return kmsg.NewPtrCreateACLsRequest() }),
		fixed("no authorizer", func() kmsg.Request {
			r := kmsg.NewPtrDeleteACLsRequest()
			f := kmsg.NewDeleteACLsRequestFilter()
			f.ResourceType, f.Operation, f.PermissionType = 2, 3, 3
			r.Filters = append(r.Filters, f)
			return r
		}),
		fixed("plaintext", func() kmsg.Request {
			r := kmsg.NewPtrCreateDelegationTokenRequest()
			r.MaxLifetimeMillis = 1000
			return r
		}),
		fixed("plaintext", func() kmsg.Request { r := kmsg.NewPtrRenewDelegationTokenRequest(); r.HMAC = []byte("x"); return r }),
		fixed("plaintext", func() kmsg.Request { r := kmsg.NewPtrExpireDelegationTokenRequest(); r.HMAC = []byte("x"); return r }),
		fixed("plaintext", func() kmsg.Request { return kmsg.NewPtrDescribeDelegationTokenRequest() }),
	}
}

func scramCases() []adminCase {
	describe := func(name string, users ...string) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
			for _, u := range users {
				r.Users = append(r.Users, kmsg.DescribeUserSCRAMCredentialsRequestUser{Name: u})
			}
			return r
		}}
	}
	type upsert struct {
		user       string
		mechanism  int8
		iterations int32
	}
	alter := func(name string, deletions []upsert, upserts ...upsert) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
			for _, d := range deletions {
				r.Deletions = append(r.Deletions, kmsg.AlterUserSCRAMCredentialsRequestDeletion{Name: d.user, Mechanism: d.mechanism})
			}
			for _, u := range upserts {
				r.Upsertions = append(r.Upsertions, kmsg.AlterUserSCRAMCredentialsRequestUpsertion{
					Name: u.user, Mechanism: u.mechanism, Iterations: u.iterations, Salt: []byte("salt"), SaltedPassword: []byte("salted-password"),
				})
			}
			return r
		}}
	}
	return []adminCase{
		describe("nobody has any"),
		describe("unknown user", "nobody"),
		describe("twice", "nobody", "nobody"),
		alter("nothing", nil),
		alter("10 iterations", nil, upsert{"u", 1, 10}),
		alter("99999 iterations", nil, upsert{"u", 1, 99999}),
		alter("mechanism 9", nil, upsert{"u", 9, 4096}),
		alter("empty user", nil, upsert{"", 1, 4096}),
		alter("delete unknown", []upsert{{"u", 1, 0}}),
		alter("delete mechanism 9", []upsert{{"u", 9, 0}}),
		alter("delete the empty user", []upsert{{"", 1, 0}}),
		alter("the same twice", nil, upsert{"u", 1, 4096}, upsert{"u", 1, 8192}),
		alter("delete and set", []upsert{{"u", 1, 0}}, upsert{"u", 1, 4096}),
		alter("set two, and a bad user", nil, upsert{"alice", 1, 4096}, upsert{"alice", 2, 8192}, upsert{"b c", 2, 4096}, upsert{"", 1, 4096}),
		describe("all"),
		describe("one, and an unknown one", "alice", "nobody"),
		describe("a name to be escaped", "b c"),
		alter("good and bad of one user", []upsert{{"alice", 9, 0}}, upsert{"alice", 1, 4096}),
		alter("delete one", []upsert{{"alice", 1, 0}, {"b c", 2, 0}}),
		describe("after delete"),
		describe("deleted", "b c"),
	}
}

// entity is type, name, type, name ...; a name of "null" is the default.
func quotaCases() []adminCase {
	type op struct {
		key    string
		value  float64
		remove bool
	}
	alter := func(name string, entity []string, ops ...op) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrAlterClientQuotasRequest()
			e := kmsg.NewAlterClientQuotasRequestEntry()
			for i := 0; i < len(entity); i += 2 {
				e.Entity = append(e.Entity, kmsg.AlterClientQuotasRequestEntryEntity{Type: entity[i], Name: nullable(entity[i+1])})
			}
			for _, o := range ops {
				e.Ops = append(e.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: o.key, Value: o.value, Remove: o.remove})
			}
			r.Entries = append(r.Entries, e)
			return r
		}}
	}
	const exact, standard, any = 0, 1, 2
	type component struct {
		kind  string
		match kmsg.QuotasMatchType
		name  string
	}
	describe := func(name string, strict bool, components ...component) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrDescribeClientQuotasRequest()
			r.Strict = strict
			for _, c := range components {
				r.Components = append(r.Components, kmsg.DescribeClientQuotasRequestComponent{EntityType: c.kind, MatchType: c.match, Match: nullable(c.name)})
			}
			return r
		}}
	}
	return []adminCase{
		describe("none yet", false),
		alter("entity type planet", []string{"planet", "mars"}, op{"producer_byte_rate", 1, false}),
		alter("no entity", nil, op{"producer_byte_rate", 1, false}),
		alter("entity twice", []string{"user", "a", "user", "b"}, op{"producer_byte_rate", 1, false}),
		alter("empty name", []string{"user", ""}, op{"producer_byte_rate", 1, false}),
		alter("empty client", []string{"client-id", ""}, op{"producer_byte_rate", 1, false}),
		alter("unknown key", []string{"user", "a"}, op{"no_such", 1, false}),
		alter("value -1", []string{"user", "a"}, op{"producer_byte_rate", -1, false}),
		alter("value 0", []string{"user", "a"}, op{"producer_byte_rate", 0, false}),
		alter("fraction", []string{"user", "a"}, op{"producer_byte_rate", 1.5, false}),
		alter("nearly whole", []string{"user", "a"}, op{"producer_byte_rate", 1.9999999, false}),
		alter("huge", []string{"user", "a"}, op{"producer_byte_rate", 1e30, false}),
		alter("percentage 0", []string{"user", "a"}, op{"request_percentage", 0, false}),
		alter("ip and user", []string{"ip", "127.0.0.1", "user", "a"}, op{"connection_creation_rate", 1, false}),
		alter("ip with a byte rate", []string{"ip", "127.0.0.1"}, op{"producer_byte_rate", 1, false}),
		alter("user with a connection rate", []string{"user", "a"}, op{"connection_creation_rate", 1, false}),
		alter("bad ip", []string{"ip", "1.2.3"}, op{"connection_creation_rate", 1, false}),
		alter("resolvable host", []string{"ip", "localhost"}, op{"connection_creation_rate", 1000, false}),
		alter("bad ip, removed", []string{"ip", "1.2.3"}, op{"connection_creation_rate", 1, true}),
		alter("unresolvable ip", []string{"ip", "no such host"}, op{"connection_creation_rate", 1, false}),
		alter("negative connection rate", []string{"ip", "127.0.0.1"}, op{"connection_creation_rate", -1, false}),
		alter("connection rate too large", []string{"ip", "127.0.0.1"}, op{"connection_creation_rate", 1e12, false}),
		alter("key twice", []string{"user", "k"}, op{"producer_byte_rate", 7, false}, op{"producer_byte_rate", 8, false}),
		alter("remove what is not there", []string{"user", "a"}, op{"producer_byte_rate", 0, true}),
		alter("user", []string{"user", "a"}, op{"producer_byte_rate", 1000, false}, op{"consumer_byte_rate", 2000, false}),
		alter("user and client", []string{"user", "a", "client-id", "c d"}, op{"request_percentage", 12.5, false}),
		alter("user and default client", []string{"client-id", "null", "user", "a"}, op{"controller_mutation_rate", 3.25, false}),
		alter("default user", []string{"user", "null"}, op{"producer_byte_rate", 1e6, false}),
		alter("default user and client", []string{"user", "null", "client-id", "x"}, op{"producer_byte_rate", 1e6, false}),
		alter("both defaults", []string{"user", "null", "client-id", "null"}, op{"producer_byte_rate", 123456789, false}),
		alter("client", []string{"client-id", "c"}, op{"consumer_byte_rate", 99, false}),
		alter("default client", []string{"client-id", "null"}, op{"consumer_byte_rate", 1e15, false}),
		alter("ip", []string{"ip", "10.1.2.3"}, op{"connection_creation_rate", 5, false}),
		alter("default ip", []string{"ip", "null"}, op{"connection_creation_rate", 50, false}),
		describe("all", false),
		describe("user a", false, component{"user", exact, "a"}),
		describe("user a, strict", true, component{"user", exact, "a"}),
		describe("any user", false, component{"user", any, "null"}),
		describe("any user, strict", true, component{"user", any, "null"}),
		describe("default user", false, component{"user", standard, "null"}),
		describe("default user, strict", true, component{"user", standard, "null"}),
		describe("user a and any client", false, component{"user", exact, "a"}, component{"client-id", any, "null"}),
		describe("any client, any user", true, component{"client-id", any, "null"}, component{"user", any, "null"}),
		describe("client c", false, component{"client-id", exact, "c"}),
		describe("client c d", false, component{"client-id", exact, "c d"}),
		describe("any client, strict", true, component{"client-id", any, "null"}),
		describe("default client", false, component{"client-id", standard, "null"}),
		describe("ip", false, component{"ip", exact, "10.1.2.3"}),
		describe("any ip", false, component{"ip", any, "null"}),
		describe("default ip", true, component{"ip", standard, "null"}),
		describe("ip and user", false, component{"ip", exact, "10.1.2.3"}, component{"user", exact, "a"}),
		describe("user twice", false, component{"user", exact, "a"}, component{"user", exact, "b"}),
		describe("planet", false, component{"planet", exact, "mars"}),
		describe("empty type", false, component{"", exact, "mars"}),
		describe("match type 7", false, component{"user", 7, "a"}),
		describe("exact without a name", false, component{"user", exact, "null"}),
		describe("default with a name", false, component{"user", standard, "a"}),
		describe("any with a name", false, component{"user", any, "a"}),
		describe("nothing, strict", true),
		alter("remove", []string{"user", "a"}, op{"producer_byte_rate", 0, true}),
		alter("remove the rest", []string{"user", "a"}, op{"consumer_byte_rate", 0, true}),
		describe("after remove", false, component{"user", exact, "a"}),
	}
}

func otherAdminCases() []adminCase {
	fixed := func(name string, r func() kmsg.Request) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request { return r() }}
	}
	feature := func(name, feature string, level int16, kind int8, downgrade bool) adminCase {
		return fixed(name, func() kmsg.Request {
			r := kmsg.NewPtrUpdateFeaturesRequest()
			u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
			u.Feature, u.MaxVersionLevel, u.UpgradeType, u.AllowDowngrade = feature, level, kind, downgrade
			r.FeatureUpdates = append(r.FeatureUpdates, u)
			return r
		})
	}
	producers := func(name, topic string, partitions ...int32) adminCase {
		return fixed(name, func() kmsg.Request {
			r := kmsg.NewPtrDescribeProducersRequest()
			r.Topics = append(r.Topics, kmsg.DescribeProducersRequestTopic{Topic: topic, Partitions: partitions})
			return r
		})
	}
	reassign := func(name, topic string, partition int32, replicas []int32) adminCase {
		return fixed(name, func() kmsg.Request {
			r := kmsg.NewPtrAlterPartitionAssignmentsRequest()
			r.TimeoutMillis = 5000
			r.Topics = append(r.Topics, kmsg.AlterPartitionAssignmentsRequestTopic{Topic: topic, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{
				{Partition: partition, Replicas: replicas},
			}})
			return r
		})
	}
	elect := func(name string, kind int8, topic string, partitions ...int32) adminCase {
		return adminCase{name: name, from: 1, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrElectLeadersRequest()
			r.TimeoutMillis, r.ElectionType = 5000, kind
			if topic != "" {
				r.Topics = append(r.Topics, kmsg.ElectLeadersRequestTopic{Topic: topic, Partitions: partitions})
			}
			return r
		}}
	}
	deleteRecords := func(name, topic string, partition int32, offset int64) adminCase {
		return fixed(name, func() kmsg.Request {
			r := kmsg.NewPtrDeleteRecordsRequest()
			r.TimeoutMillis = 5000
			r.Topics = append(r.Topics, kmsg.DeleteRecordsRequestTopic{Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{
				{Partition: partition, Offset: offset},
			}})
			return r
		})
	}
	return []adminCase{
		feature("unknown feature", "no.such", 1, 1, false),
		feature("metadata.version", "metadata.version", 20, 1, false),
		feature("empty name", "", 1, 1, false),
		feature("level 0", "no.such", 0, 1, false),
		feature("delete", "no.such", 0, 2, true),
		feature("unsafe delete", "no.such", 0, 3, true),
		feature("downgrade", "no.such", 1, 2, true),
		feature("upgrade type 9", "no.such", 1, 9, false),
		fixed("nothing", func() kmsg.Request { return kmsg.NewPtrUpdateFeaturesRequest() }),
		fixed("the same feature twice", func() kmsg.Request {
			r := kmsg.NewPtrUpdateFeaturesRequest()
			for range 2 {
				u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
				u.Feature, u.MaxVersionLevel, u.UpgradeType = "no.such", 1, 1
				r.FeatureUpdates = append(r.FeatureUpdates, u)
			}
			return r
		}),
		fixed("not from a broker", func() kmsg.Request { return kmsg.NewPtrEnvelopeRequest() }),
		producers("no producers", "e", 0, 1),
		producers("unknown partition", "e", 9),
		producers("unknown topic", "nope", 0),
		producers("bad topic name", "a b", 0),
		producers("empty topic name", "", 0),
		fixed("new group protocol", func() kmsg.Request { r := kmsg.NewPtrConsumerGroupHeartbeatRequest(); r.Group = "g"; return r }),
		fixed("new group protocol", func() kmsg.Request {
			r := kmsg.NewPtrConsumerGroupDescribeRequest()
			r.Groups = []string{"g", "h"}
			return r
		}),
		reassign("unknown broker", "e", 0, []int32{99}),
		reassign("no replicas", "e", 0, []int32{}),
		reassign("twins", "e", 0, []int32{1, 1}),
		reassign("cancel nothing", "e", 0, nil),
		reassign("unknown topic", "nope", 0, []int32{1}),
		reassign("as it is", "e", 0, []int32{1}),
		fixed("none", func() kmsg.Request { return kmsg.NewPtrListPartitionReassignmentsRequest() }),
		elect("preferred: leads already", 0, "e", 0),
		elect("preferred: unknown partition", 0, "e", 9),
		elect("preferred: all", 0, ""),
		elect("unclean: has a leader", 1, "e", 0, 9),
		deleteRecords("unknown topic", "nope", 0, 0),
		deleteRecords("beyond the end", "e", 0, 5),
		deleteRecords("nothing", "e", 0, 0),
		deleteRecords("up to the end", "e", 0, -1),
		deleteRecords("offset -2", "e", 0, -2),
		fixed("plain", func() kmsg.Request { return kmsg.NewPtrDescribeClusterRequest() }),
		fixed("all", func() kmsg.Request { return kmsg.NewPtrDescribeLogDirsRequest() }),
	}
}
