//go:build compat

package compat

import (
	"math"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// oddCases go on where adminCases end: inputs that nobody means, of a kind that scripts produce all the same.
func oddCases() []adminCase {
	var all []adminCase
	for _, part := range [][]adminCase{oddTopicCases(), oddValueCases(), oddPartitionCases(), oddDeletionCases(), oddReplicaCases(), oddQuotaCases(), oddReadCases()} {
		all = append(all, part...)
	}
	return all
}

// createCase is a case of CreateTopics that only validates, which version 0 cannot.
func createCase(name string, topics ...kmsg.CreateTopicsRequestTopic) adminCase {
	return adminCase{name: name, from: 1, req: func(int16) kmsg.Request {
		r := kmsg.NewPtrCreateTopicsRequest()
		r.TimeoutMillis, r.ValidateOnly, r.Topics = 10000, true, topics
		return r
	}}
}

// onceFor sends a case at one version, and not to validate only.
func onceFor(version int16, c adminCase) adminCase {
	build := c.req
	c.from, c.to = version, version
	c.req = func(v int16) kmsg.Request {
		r := build(v)
		if create, ok := r.(*kmsg.CreateTopicsRequest); ok {
			create.ValidateOnly = false
		}
		return r
	}
	return c
}

func newTopic(name string, partitions int32, replicas int16, config ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replicas
	for i := 0; i < len(config); i += 2 {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: config[i], Value: nullable(config[i+1])})
	}
	return t
}

// assigned gives a topic its replicas by pairs of a partition and its replicas.
func assigned(name string, pairs ...any) kmsg.CreateTopicsRequestTopic {
	t := newTopic(name, -1, -1)
	for i := 0; i < len(pairs); i += 2 {
		t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{
			Partition: int32(pairs[i].(int)), Replicas: pairs[i+1].([]int32),
		})
	}
	return t
}

func oddTopicCases() []adminCase {
	timeout := func(ms int32, c adminCase) adminCase {
		build := c.req
		c.req = func(v int16) kmsg.Request {
			r := build(v).(*kmsg.CreateTopicsRequest)
			r.TimeoutMillis = ms
			return r
		}
		return c
	}
	return []adminCase{
		onceFor(4, createCase("with a dot", newTopic("odd.one", 1, 1))),
		createCase("collides", newTopic("odd_one", 1, 1)),
		createCase("collide in one request", newTopic("new.one", 1, 1), newTopic("new_one", 1, 1)),
		createCase("name ..", newTopic("..", 1, 1)),
		createCase("name ...", newTopic("...", 1, 1)),
		createCase("249 letters", newTopic(strings.Repeat("x", 249), 1, 1)),
		createCase("250 letters", newTopic(strings.Repeat("x", 250), 1, 1)),
		createCase("letters of another alphabet", newTopic("th\u00e9", 1, 1)),
		createCase("line break", newTopic("a\nb", 1, 1)),
		createCase("slash", newTopic("a/b", 1, 1)),
		createCase("internal topic", newTopic("__consumer_offsets", 1, 1)),
		createCase("defaults", newTopic("n", -1, -1)),
		createCase("default of one", newTopic("n", -1, 1)),
		createCase("as the defaults, and replicas that are too many", newTopic("n", -1, 2)),
		createCase("many partitions", newTopic("n", 20000, 1)),
		createCase("most replicas", newTopic("n", 1, math.MaxInt16)),
		createCase("replicas -2", newTopic("n", 1, -2)),
		createCase("good and bad", newTopic("n", 1, 1), newTopic("m", 0, 1), newTopic("e", 1, 1)),
		createCase("no topics"),
		createCase("three of one name", newTopic("n", 1, 1), newTopic("n", 2, 1), newTopic("n", 1, 5)),
		timeout(0, createCase("timeout 0, only validate", newTopic("n", 1, 1))),
		timeout(-5, createCase("timeout -5, only validate", newTopic("n", 1, 1))),
		timeout(0, onceFor(4, createCase("timeout 0", newTopic("timed-out", 1, 1)))),
		createCase("assigned: none", assigned("n", 0, []int32{})),
		createCase("assigned: broker -1", assigned("n", 0, []int32{-1})),
		createCase("assigned: unknown broker", assigned("n", 0, []int32{9})),
		createCase("assigned: partition -1", assigned("n", -1, []int32{1})),
		createCase("assigned: same partition twice", assigned("n", 0, []int32{1}, 0, []int32{1})),
		createCase("assigned: not from 0", assigned("n", 1, []int32{1}, 2, []int32{1})),
		createCase("assigned: other order", assigned("n", 1, []int32{1}, 0, []int32{1})),
		createCase("assigned: unequal", assigned("n", 0, []int32{1}, 1, []int32{1, 2})),
		createCase("assigned: one has none", assigned("n", 0, []int32{1}, 1, []int32{})),
		createCase("two bad settings", newTopic("n", 1, 1, "no.such", "1", "retention.ms", "x")),
		createCase("same key twice", newTopic("n", 1, 1, "retention.ms", "1", "retention.ms", "2")),
		createCase("empty key", newTopic("n", 1, 1, "", "1")),
	}
}

// oddValueCases are values of topics that are nearly right, and those of brokers.
func oddValueCases() []adminCase {
	values := [][2]string{
		{"preallocate", "maybe"},
		{"preallocate", "TRUE"},
		{"preallocate", ""},
		{"preallocate", " true "},
		{"segment.bytes", "1e6"},
		{"segment.bytes", "13"},
		{"segment.bytes", "14"},
		{"segment.bytes", " 1000000 "},
		{"segment.bytes", "0x1000"},
		{"segment.bytes", "+1000000"},
		{"segment.bytes", "1000000.0"},
		{"segment.bytes", "2147483648"},
		{"segment.bytes", ""},
		{"retention.ms", "99999999999999999999"},
		{"retention.ms", "-2"},
		{"retention.ms", "-1"},
		{"retention.ms", "1_000"},
		{"retention.bytes", "-9"},
		{"min.cleanable.dirty.ratio", "2"},
		{"min.cleanable.dirty.ratio", "NaN"},
		{"min.cleanable.dirty.ratio", "0.5f"},
		{"min.cleanable.dirty.ratio", "1"},
		{"cleanup.policy", ""},
		{"cleanup.policy", " delete , compact "},
		{"cleanup.policy", "delete,delete"},
		{"cleanup.policy", "Compact"},
		{"compression.type", "snap"},
		{"compression.type", "none"},
		{"compression.type", "GZIP"},
		{"compression.type", "uncompressed"},
		{"compression.zstd.level", "99"},
		{"compression.gzip.level", "0"},
		{"compression.gzip.level", "-1"},
		{"compression.lz4.level", "0"},
		{"message.timestamp.type", "createtime"},
		{"message.timestamp.after.max.ms", "-1"},
		{"message.format.version", "99"},
		{"message.format.version", "0.8"},
		{"max.message.bytes", "-1"},
		{"max.message.bytes", "0"},
		{"min.insync.replicas", "0"},
		{"min.insync.replicas", "9"},
		{"unclean.leader.election.enable", "yes"},
		{"index.interval.bytes", "-1"},
		{"segment.index.bytes", "3"},
		{"segment.ms", "0"},
		{"segment.jitter.ms", "-1"},
		{"file.delete.delay.ms", "-1"},
		{"flush.messages", "0"},
		{"flush.ms", "-1"},
		{"delete.retention.ms", "-1"},
		{"max.compaction.lag.ms", "0"},
		{"leader.replication.throttled.replicas", "abc"},
		{"leader.replication.throttled.replicas", "*"},
		{"follower.replication.throttled.replicas", "0:1,1"},
		{"follower.replication.throttled.replicas", "none"},
		{"local.retention.ms", "5"},
		{"local.retention.bytes", "-3"},
		{"remote.log.copy.disable", "true"},
		{"remote.log.delete.on.disable", "true"},
		{"RETENTION.MS", "1"},
		{"log.retention.ms", "1"},
	}
	var all []adminCase
	for _, v := range values {
		c := createCase("value "+v[0]+"="+v[1], newTopic("n", 1, 1, v[0], v[1]))
		c.from = 7
		all = append(all, c, validateOnly(alterCase("value "+v[0]+"="+v[1], incremental(topicResource, "e", change{opSet, v[0], v[1]}))))
	}
	for _, v := range [][2]string{
		{"log.cleaner.dedupe.buffer.size", "1"},
		{"log.cleaner.io.buffer.load.factor", "2"},
		{"log.cleaner.io.max.bytes.per.second", "-1"},
		{"log.flush.interval.ms", "-1"},
		{"log.roll.ms", "0"},
		{"log.retention.ms", "-5"},
		{"max.connections", "-1"},
		{"max.connections.per.ip", "0"},
		{"max.connections.per.ip.overrides", "127.0.0.1:5"},
		{"max.connections.per.ip.overrides", "127.0.0.1:x"},
		{"max.connection.creation.rate", "-1"},
		{"num.network.threads", "0"},
		{"num.network.threads", "7"},
		{"background.threads", "6"},
		{"num.recovery.threads.per.data.dir", "3"},
		{"unclean.leader.election.enable", "perhaps"},
		{"compression.type", "snap"},
		{"message.max.bytes", "9999999999"},
		{"metric.reporters", "no.such.Class"},
		{"leader.replication.throttled.rate", "-1"},
		{"follower.replication.throttled.rate", "x"},
		{"producer.id.expiration.ms", "0"},
		{"transaction.partition.verification.enable", "2"},
		{"log.message.timestamp.type", "never"},
		{"listeners", "PLAINTEXT"},
		{"listeners", "A://:1"},
		{"advertised.listeners", "OTHER://h:1"},
		{"listener.security.protocol.map", "PLAINTEXT"},
		{"advertised.listeners", "PLAINTEXT://0.0.0.0:1"},
	} {
		all = append(all, validateOnly(alterCase("broker: value "+v[0]+"="+v[1], incremental(brokerResource, "1", change{opSet, v[0], v[1]}))))
	}
	return append(all,
		validateOnly(alterCase("logger: only validate", incremental(loggerResource, "1", change{opSet, "root", "TRACE"}))),
		validateOnly(alterCase("logger: lower case", incremental(loggerResource, "1", change{opSet, "root", "debug"}))),
		validateOnly(alterCase("logger: null", incremental(loggerResource, "1", change{opSet, "root", "null"}))),
		validateOnly(alterCase("default: only validate", incremental(brokerResource, "", change{opSet, "log.retention.ms", "5000"}))),
		describeCase("nothing was changed", brokerResource, ""),
		describeCase("nothing was changed", topicResource, "e", "retention.ms", "cleanup.policy"),
	)
}

// validateOnly makes a case of IncrementalAlterConfigs one that changes nothing.
func validateOnly(c adminCase) adminCase {
	build := c.req
	c.req = func(v int16) kmsg.Request {
		r := build(v).(*kmsg.IncrementalAlterConfigsRequest)
		r.ValidateOnly = true
		return r
	}
	return c
}

func oddPartitionCases() []adminCase {
	grow := func(name string, topics ...kmsg.CreatePartitionsRequestTopic) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrCreatePartitionsRequest()
			r.TimeoutMillis, r.ValidateOnly, r.Topics = 10000, true, topics
			return r
		}}
	}
	to := func(topic string, count int32, replicas ...[]int32) kmsg.CreatePartitionsRequestTopic {
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = topic, count
		for _, ids := range replicas {
			t.Assignment = append(t.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: ids})
		}
		return t
	}
	empty := to("e", 3)
	empty.Assignment = []kmsg.CreatePartitionsRequestTopicAssignment{}
	return []adminCase{
		grow("nothing"),
		grow("count 0", to("e", 0)),
		grow("count -1", to("e", -1)),
		grow("topic twice", to("e", 3), to("e", 4)),
		grow("good and bad", to("e", 3), to("odd.one", 1)),
		grow("no assignments", empty),
		grow("assigned: too few", to("e", 5, []int32{1})),
		grow("assigned: no replicas", to("e", 3, []int32{})),
		grow("assigned: twice", to("e", 3, []int32{1, 1})),
		grow("assigned: too many replicas", to("e", 3, []int32{1, 2})),
		grow("assigned: broker -1", to("e", 3, []int32{-1})),
		grow("assigned: for fewer", to("e", 1, []int32{1})),
		grow("bad name", to("a b", 3)),
		grow("empty name", to("", 3)),
		grow("internal topic", to("__consumer_offsets", 60)),
		{name: "timeout 0", to: 1, from: 1, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrCreatePartitionsRequest()
			r.Topics = []kmsg.CreatePartitionsRequestTopic{to("odd.one", 2)}
			return r
		}},
		grow("after timeout 0", to("odd.one", 2)),
	}
}

func oddDeletionCases() []adminCase {
	names := func(name string, topics ...string) adminCase {
		return adminCase{name: name, to: 5, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrDeleteTopicsRequest()
			r.TimeoutMillis, r.TopicNames = 10000, topics
			return r
		}}
	}
	named := "nope"
	ids := func(name string, topics ...kmsg.DeleteTopicsRequestTopic) adminCase {
		return adminCase{name: name, from: 6, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrDeleteTopicsRequest()
			r.TimeoutMillis, r.Topics = 10000, topics
			return r
		}}
	}
	return []adminCase{
		names("nothing"),
		names("same name twice", "nope", "nope"),
		names("bad name", "a b"),
		ids("nothing"),
		ids("unknown name", kmsg.DeleteTopicsRequestTopic{Topic: &named}),
		ids("unknown id", kmsg.DeleteTopicsRequestTopic{TopicID: [16]byte{1}}),
		ids("neither name nor id", kmsg.DeleteTopicsRequestTopic{}),
		ids("name and id", kmsg.DeleteTopicsRequestTopic{Topic: &named, TopicID: [16]byte{1}}),
		ids("same id twice", kmsg.DeleteTopicsRequestTopic{TopicID: [16]byte{1}}, kmsg.DeleteTopicsRequestTopic{TopicID: [16]byte{1}}),
		ids("same name twice", kmsg.DeleteTopicsRequestTopic{Topic: &named}, kmsg.DeleteTopicsRequestTopic{Topic: &named}),
	}
}

func oddReplicaCases() []adminCase {
	type assignment = kmsg.AlterPartitionAssignmentsRequestTopicPartition
	reassign := func(name string, timeout int32, topics ...kmsg.AlterPartitionAssignmentsRequestTopic) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrAlterPartitionAssignmentsRequest()
			r.TimeoutMillis, r.Topics = timeout, topics
			return r
		}}
	}
	topic := func(name string, ps ...assignment) kmsg.AlterPartitionAssignmentsRequestTopic {
		return kmsg.AlterPartitionAssignmentsRequestTopic{Topic: name, Partitions: ps}
	}
	list := func(name, topic string, partitions ...int32) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrListPartitionReassignmentsRequest()
			r.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: topic, Partitions: partitions}}
			return r
		}}
	}
	elect := func(name string, edit func(*kmsg.ElectLeadersRequest)) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrElectLeadersRequest()
			r.TimeoutMillis = 5000
			edit(r)
			return r
		}}
	}
	return []adminCase{
		reassign("nothing", 5000),
		reassign("no partitions", 5000, topic("e")),
		reassign("broker -1", 5000, topic("e", assignment{Partition: 0, Replicas: []int32{-1}})),
		reassign("partition -1", 5000, topic("e", assignment{Partition: -1, Replicas: []int32{1}})),
		reassign("unknown partition", 5000, topic("e", assignment{Partition: 9, Replicas: []int32{1}})),
		reassign("good and bad", 5000, topic("e", assignment{Partition: 0, Replicas: []int32{1}}, assignment{Partition: 1, Replicas: []int32{7}})),
		reassign("timeout 0", 0, topic("e", assignment{Partition: 0, Replicas: []int32{1}})),
		reassign("cancel, unknown topic", 5000, topic("nope", assignment{Partition: 0})),
		list("unknown topic", "nope", 0),
		list("unknown partition", "e", 9),
		list("no partitions", "e"),
		elect("empty list", func(r *kmsg.ElectLeadersRequest) { r.Topics = []kmsg.ElectLeadersRequestTopic{} }),
		elect("no partitions", func(r *kmsg.ElectLeadersRequest) { r.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "e"}} }),
		elect("timeout 0", func(r *kmsg.ElectLeadersRequest) {
			r.TimeoutMillis, r.Topics = 0, []kmsg.ElectLeadersRequestTopic{{Topic: "e", Partitions: []int32{0}}}
		}),
		elect("unknown topic", func(r *kmsg.ElectLeadersRequest) {
			r.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "nope", Partitions: []int32{0, -1}}}
		}),
		{name: "timeout 0", req: func(int16) kmsg.Request {
			r := kmsg.NewPtrDeleteRecordsRequest()
			r.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "e", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 0}}}}
			return r
		}},
		{name: "bad name and good", req: func(int16) kmsg.Request {
			r := kmsg.NewPtrDeleteRecordsRequest()
			r.TimeoutMillis = 5000
			one := []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 0}}
			r.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "a b", Partitions: one}, {Topic: "e", Partitions: one}, {Topic: "e", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: -1}}}}
			return r
		}},
	}
}

func oddQuotaCases() []adminCase {
	alter := func(name string, validate bool, key string, value float64, entity ...string) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request {
			r := kmsg.NewPtrAlterClientQuotasRequest()
			r.ValidateOnly = validate
			e := kmsg.NewAlterClientQuotasRequestEntry()
			for i := 0; i < len(entity); i += 2 {
				e.Entity = append(e.Entity, kmsg.AlterClientQuotasRequestEntryEntity{Type: entity[i], Name: nullable(entity[i+1])})
			}
			e.Ops = append(e.Ops, kmsg.AlterClientQuotasRequestEntryOp{Key: key, Value: value})
			r.Entries = append(r.Entries, e)
			return r
		}}
	}
	return []adminCase{
		alter("only validate", true, "producer_byte_rate", 5, "user", "odd"),
		alter("only validate, and it is wrong", true, "producer_byte_rate", -5, "user", "odd"),
		alter("only validate an unknown key", true, "no_such", 5, "user", "odd"),
		alter("not a number", true, "request_percentage", math.NaN(), "user", "odd"),
		alter("infinite", true, "request_percentage", math.Inf(1), "user", "odd"),
		alter("name with a slash", true, "producer_byte_rate", 5, "user", "a/b"),
		alter("long name", true, "producer_byte_rate", 5, "client-id", strings.Repeat("x", 300)),
		alter("name <default>", true, "producer_byte_rate", 5, "client-id", "<default>"),
		alter("three entities", true, "producer_byte_rate", 5, "user", "a", "client-id", "b", "ip", "127.0.0.1"),
		{name: "nothing was changed", req: func(int16) kmsg.Request {
			r := kmsg.NewPtrDescribeClientQuotasRequest()
			name := "odd"
			r.Components = []kmsg.DescribeClientQuotasRequestComponent{{EntityType: "user", Match: &name}}
			return r
		}},
	}
}

func oddReadCases() []adminCase {
	fixed := func(name string, r func() kmsg.Request) adminCase {
		return adminCase{name: name, req: func(int16) kmsg.Request { return r() }}
	}
	return []adminCase{
		fixed("unknown topic", func() kmsg.Request {
			r := kmsg.NewPtrDescribeLogDirsRequest()
			r.Topics = []kmsg.DescribeLogDirsRequestTopic{{Topic: "nope", Partitions: []int32{0}}, {Topic: "e", Partitions: []int32{0, 9, -1}}}
			return r
		}),
		fixed("unknown ids", func() kmsg.Request {
			r := kmsg.NewPtrDescribeTransactionsRequest()
			r.TransactionalIDs = []string{"nope", "", "nope"}
			return r
		}),
		fixed("nothing", func() kmsg.Request { return kmsg.NewPtrDescribeTransactionsRequest() }),
		fixed("unknown state", func() kmsg.Request {
			r := kmsg.NewPtrListTransactionsRequest()
			r.StateFilters = []string{"Nonsense", "Ongoing"}
			return r
		}),
		fixed("negative producer", func() kmsg.Request {
			r := kmsg.NewPtrListTransactionsRequest()
			r.ProducerIDFilters = []int64{-1}
			return r
		}),
		fixed("without synonyms", func() kmsg.Request {
			r := kmsg.NewPtrDescribeConfigsRequest()
			keys := []string{"retention.ms", "log.retention.ms", "no.such"}
			r.Resources = []kmsg.DescribeConfigsRequestResource{
				{ResourceType: topicResource, ResourceName: "e", ConfigNames: keys},
				{ResourceType: brokerResource, ResourceName: "1", ConfigNames: keys},
				{ResourceType: topicResource, ResourceName: "nope"},
				{ResourceType: topicResource, ResourceName: "e", ConfigNames: keys},
			}
			return r
		}),
		fixed("null is all", func() kmsg.Request { return kmsg.NewPtrDescribeUserSCRAMCredentialsRequest() }),
		fixed("operations", func() kmsg.Request {
			r := kmsg.NewPtrDescribeClusterRequest()
			r.IncludeClusterAuthorizedOperations = true
			return r
		}),
		fixed("no topics", func() kmsg.Request { return kmsg.NewPtrDescribeProducersRequest() }),
	}
}
