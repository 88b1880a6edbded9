//go:build compat

package compat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// explained are the rows that Jackdaw answers otherwise on purpose: what it answers, and why.
var explained = map[string]struct{ answer, why string }{
	"Produce v9: codec 7 (unknown)": {
		`Topics[0].Partitions[0].ErrorCode=76 UNSUPPORTED_COMPRESSION_TYPE; Topics[0].Partitions[0].BaseOffset=-1; Topics[0].Partitions[0].LogStartOffset=0`,
		"Kafka answers -1 UNKNOWN_SERVER_ERROR",
	},
	"Produce v9: codec gzip, rubbish inside": {
		`Topics[0].Partitions[0].ErrorCode=87 INVALID_RECORD; Topics[0].Partitions[0].BaseOffset=-1; Topics[0].Partitions[0].LogStartOffset=0`,
		"Kafka answers -1 UNKNOWN_SERVER_ERROR",
	},
	"Produce v9: offset delta 3 in the only record": {
		`Topics[0].Partitions[0].ErrorCode=87 INVALID_RECORD; Topics[0].Partitions[0].BaseOffset=-1; Topics[0].Partitions[0].LogStartOffset=0`,
		"Kafka stores the batch and leaves a hole of offsets",
	},
	"Fetch v12: offset beyond the end": {
		`ErrorCode=0 NONE; Topics[0].Partitions[0].ErrorCode=1 OFFSET_OUT_OF_RANGE; Topics[0].Partitions[0].HighWatermark=N; Topics[0].Partitions[0].LogStartOffset=0`,
		"Kafka does not say where the log begins and ends",
	},
	"Fetch v12: offset -1": {
		`ErrorCode=0 NONE; Topics[0].Partitions[0].ErrorCode=1 OFFSET_OUT_OF_RANGE; Topics[0].Partitions[0].HighWatermark=N; Topics[0].Partitions[0].LogStartOffset=0`,
		"Kafka does not say where the log begins and ends",
	},
	"DeleteGroups v2: group with members, unknown group, empty id": {
		`Groups[0].Group=g2; Groups[0].ErrorCode=68 NON_EMPTY_GROUP; Groups[1].Group=g-none; Groups[1].ErrorCode=69 GROUP_ID_NOT_FOUND; Groups[2].Group=; Groups[2].ErrorCode=0 NONE`,
		"Kafka answers in the order of a hash table, Jackdaw in the order of the request",
	},
	"Produce v9: LogAppendTime bit set by a client": {
		`Topics[0].Partitions[0].ErrorCode=32 INVALID_TIMESTAMP; Topics[0].Partitions[0].BaseOffset=-1; Topics[0].Partitions[0].LogStartOffset=0`,
		"Kafka stores the batch with a time type that its topic does not have",
	},
}

// catalog sends the cases in order and collects the answers.
type catalog struct {
	t     *testing.T
	addr  string
	rows  []row
	topic [16]byte // id of topic e
}

// send sends one request on a connection of its own and records the answer.
func (c *catalog) send(name string, req kmsg.Request, version int16) kmsg.Response {
	c.t.Helper()
	conn, err := wire.Dial(c.addr)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	conn.ClientID = "errs"
	resp, err := conn.Do(req, version)
	api := fmt.Sprintf("%s v%d", kmsg.NameForKey(req.Key()), version)
	c.rows = append(c.rows, row{name, api, normalise(answerText(resp, err))})
	return resp
}

// produce sends one record set to partition 0 of topic e.
func (c *catalog) produce(name string, records []byte) {
	c.t.Helper()
	c.produceTo(name, "e", 0, -1, records)
}

func (c *catalog) produceTo(name, topic string, partition int32, acks int16, records []byte) {
	c.t.Helper()
	c.send(name, wire.NewProduce(acks, wire.Part{Topic: topic, Partition: partition, Records: records}), 9)
}

// TestErrs_AnswersOfApacheKafka sends the captured cases to a fresh broker; every answer is the captured one, or explained.
func TestErrs_AnswersOfApacheKafka(t *testing.T) {
	b := cluster.Start(t, cluster.Options{Brokers: 1}).Brokers[0]
	c := &catalog{t: t, addr: b.Addr()}
	c.topics()
	c.partitions()
	c.batches()
	c.producers()
	c.coordinators()
	c.fetches()
	c.offsets()
	c.metadata()
	c.groups()
	c.brokers()

	t.Run("codes", func(t *testing.T) { compareAnswers(t, c.rows, withoutTexts) })
	t.Run("messages", func(t *testing.T) { compareAnswers(t, c.rows, textsOnly) })
}

// compareAnswers compares what part leaves of each answer with the table, row by row.
func compareAnswers(t *testing.T, rows []row, part func(string) string) {
	t.Helper()
	got := map[string][]string{}
	for _, r := range rows {
		got[r.key()] = append(got[r.key()], r.answer)
	}
	compared := 0
	for _, want := range readTable(t) {
		answers := got[want.key()]
		if len(answers) == 0 {
			t.Errorf("%s: in the table and not sent", want.key())
			continue
		}
		answer := answers[0]
		got[want.key()] = answers[1:]
		compared++
		x, ok := explained[want.key()]
		if ok = ok && cluster.Target() == cluster.Jackdaw; ok {
			want.answer = x.answer
		}
		if ok && part("x=\"text\"") != "" {
			continue // its text is our own
		}
		if part(answer) != part(want.answer) {
			t.Errorf("%s\n  got  %s\n  want %s", want.key(), part(answer), part(want.answer))
		}
	}
	t.Logf("%d answers compared", compared)
}

func (c *catalog) topics() {
	c.t.Helper()
	api := newApiVersions()
	api.ClientSoftwareName = "errs"
	c.send("plain", api, 3)
	api.ClientSoftwareName = "bad name!"
	c.send("client software name with a space", api, 3)

	create := func(name string, req *kmsg.CreateTopicsRequest) {
		c.t.Helper()
		req.TimeoutMillis = 10000
		c.send(name, req, 7)
	}
	create("ok: e (1 partition)", wire.NewCreateTopic("e", 1, 1))
	create("ok: compacted c", wire.NewCreateTopic("c", 1, 1, "cleanup.policy", "compact"))
	create("ok: small (max.message.bytes=200)", wire.NewCreateTopic("small", 1, 1, "max.message.bytes", "200"))
	create("ok: isr2 (min.insync.replicas=2, RF 1)", wire.NewCreateTopic("isr2", 1, 1, "min.insync.replicas", "2"))
	create("ok: ts (message.timestamp.after.max.ms and before.max.ms = 3600000)",
		wire.NewCreateTopic("ts", 1, 1, "message.timestamp.after.max.ms", "3600000", "message.timestamp.before.max.ms", "3600000"))
	create("topic exists", wire.NewCreateTopic("e", 1, 1))
	create("RF 3 > 1 broker", wire.NewCreateTopic("rf3", 1, 3))
	create("RF 0", wire.NewCreateTopic("rf0", 1, 0))
	create("RF -2", wire.NewCreateTopic("rfm", 1, -2))
	create("partitions 0", wire.NewCreateTopic("p0", 0, 1))
	create("partitions -2", wire.NewCreateTopic("pm2", -2, 1))
	only := wire.NewCreateTopic("dflt", -1, -1)
	only.ValidateOnly = true
	create("defaults -1/-1 (validate only)", only)
	create("name with a space", wire.NewCreateTopic("a b", 1, 1))
	create("empty name", wire.NewCreateTopic("", 1, 1))
	create("name .", wire.NewCreateTopic(".", 1, 1))
	create("name ..", wire.NewCreateTopic("..", 1, 1))
	create("name of 250 characters", wire.NewCreateTopic(strings.Repeat("x", 250), 1, 1))
	create("ok: x.y", wire.NewCreateTopic("x.y", 1, 1))
	create("x_y collides with x.y", wire.NewCreateTopic("x_y", 1, 1))
	create("__consumer_offsets2 (two underscores)", wire.NewCreateTopic("__mine", 1, 1))
	create("unknown config", wire.NewCreateTopic("uc", 1, 1, "no.such", "1"))
	create("invalid config value", wire.NewCreateTopic("ic", 1, 1, "retention.ms", "abc"))
	create("config out of range", wire.NewCreateTopic("ic2", 1, 1, "segment.bytes", "1"))
	create("invalid cleanup.policy", wire.NewCreateTopic("ic3", 1, 1, "cleanup.policy", "zap"))
	null := wire.NewCreateTopic("nv", 1, 1, "retention.ms", "1")
	null.Topics[0].Configs[0].Value = nil
	create("config with null value", null)
	create("remote.storage.enable=true without tiered storage", wire.NewCreateTopic("rs", 1, 1, "remote.storage.enable", "true"))
	twice := wire.NewCreateTopic("twice", 1, 1)
	twice.Topics = append(twice.Topics, twice.Topics[0])
	create("same topic twice in a request", twice)
	both := wire.Assign(wire.NewCreateTopic("as1", 1, 1), []int32{1})
	both.Topics[0].NumPartitions, both.Topics[0].ReplicationFactor = 1, 1
	create("assignment and partition count together", both)
	create("assignment to unknown broker 99", wire.Assign(wire.NewCreateTopic("as2", -1, -1), []int32{99}))
	late := wire.Assign(wire.NewCreateTopic("as3", -1, -1), []int32{1})
	late.Topics[0].ReplicaAssignment[0].Partition = 1
	create("assignment not starting at 0", late)
	create("assignment with duplicate broker", wire.Assign(wire.NewCreateTopic("as4", -1, -1), []int32{1, 1}))
	create("assignments of unequal length", wire.Assign(wire.NewCreateTopic("as5", -1, -1), []int32{1}, []int32{}))
}

func (c *catalog) partitions() {
	c.t.Helper()
	remove := func(name string, topic *string, id [16]byte) {
		c.t.Helper()
		r := kmsg.NewPtrDeleteTopicsRequest()
		r.TimeoutMillis = 5000
		x := kmsg.NewDeleteTopicsRequestTopic()
		x.Topic, x.TopicID = topic, id
		r.Topics = append(r.Topics, x)
		c.send(name, r, 6)
	}
	remove("unknown topic by name", kmsg.StringPtr("nope"), [16]byte{})
	remove("unknown topic by id", nil, [16]byte{1, 2, 3})
	remove("name and id both given", kmsg.StringPtr("e"), [16]byte{1, 2, 3})
	for _, x := range []struct {
		name, topic string
		count       int32
	}{{"same count", "e", 1}, {"fewer (0)", "e", 0}, {"unknown topic", "nope", 3}, {"negative", "e", -1}} {
		r := kmsg.NewPtrCreatePartitionsRequest()
		r.TimeoutMillis = 5000
		y := kmsg.NewCreatePartitionsRequestTopic()
		y.Topic, y.Count = x.topic, x.count
		r.Topics = append(r.Topics, y)
		c.send(x.name, r, 3)
	}
	for _, x := range []struct {
		name, topic string
		offset      int64
	}{{"offset beyond the high watermark", "e", 1000}, {"offset -2", "e", -2}, {"unknown topic", "nope", 0}, {"compacted topic (no delete policy)", "c", 0}} {
		r := kmsg.NewPtrDeleteRecordsRequest()
		r.TimeoutMillis = 5000
		y := kmsg.NewDeleteRecordsRequestTopic()
		y.Topic = x.topic
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Offset = x.offset
		y.Partitions = append(y.Partitions, p)
		r.Topics = append(r.Topics, y)
		c.send(x.name, r, 2)
	}
}

func (c *catalog) batches() {
	c.t.Helper()
	good := wire.Values("v").Encode()
	broken := wire.Values("v").Encode()
	broken[20] ^= 0xff
	hours := func(n int64) []byte { return wire.Values("v").At(time.Now().UnixMilli() + n*3600000).Encode() }
	bent := func(change func(*wire.Batch)) []byte { return wire.Values("v").With(change).Encode() }
	c.produceTo("ok, acks=1", "e", 0, 1, good)
	c.produceTo("acks=2", "e", 0, 2, good)
	c.produceTo("acks=-2", "e", 0, -2, good)
	c.produce("corrupt CRC", broken)
	c.produceTo("unknown topic", "nope", 0, -1, good)
	c.produceTo("unknown partition 5", "e", 5, -1, good)
	c.produceTo("partition -1", "e", -1, -1, good)
	c.produceTo("empty topic name", "", 0, -1, good)
	c.produceTo("invalid topic name", "a b", 0, -1, good)
	c.produceTo("internal topic __consumer_offsets, not there yet", "__consumer_offsets", 0, -1, good)
	c.produceTo("batch larger than max.message.bytes", "small", 0, -1, wire.Values(strings.Repeat("z", 400)).Encode())
	c.produceTo("acks=all with ISR 1 < min.insync.replicas 2", "isr2", 0, -1, good)
	c.produceTo("acks=1 with ISR 1 < min.insync.replicas 2", "isr2", 0, 1, good)
	keyless := wire.Record{Value: []byte("v")}
	c.produceTo("null key, compacted topic", "c", 0, -1, wire.NewBatch(keyless).Encode())
	c.produceTo("null key in the 2nd of 3 records, compacted topic", "c", 0, -1, wire.NewBatch(
		wire.Record{Key: []byte("a")}, wire.Record{OffsetDelta: 1}, wire.Record{Key: []byte("b"), OffsetDelta: 2}).Encode())
	c.produceTo("timestamp 2 h ahead", "ts", 0, -1, hours(2))
	c.produceTo("timestamp 2 h behind", "ts", 0, -1, hours(-2))
	c.produce("timestamp 2 h ahead, topic with defaults", hours(2))
	c.produce("timestamp -1", wire.Values("v").At(-1).Encode())
	c.produce("no records (empty bytes)", []byte{})
	c.produce("two batches for one partition", append(append([]byte{}, good...), good...))
	c.produce("batch cut short by 5 bytes", good[:len(good)-5])
	c.produce("10 bytes of rubbish", []byte("0123456789"))
	c.produce("batch of 0 records", wire.NewBatch().Encode())
	c.produce("record count 2, 1 record inside", bent(func(b *wire.Batch) { b.NumRecords, b.LastOffsetDelta = 2, 1 }))
	c.produce("lastOffsetDelta 5 with 1 record", bent(func(b *wire.Batch) { b.LastOffsetDelta = 5 }))
	skips := wire.NewBatch(wire.Record{Key: []byte("k"), Value: []byte("v"), OffsetDelta: 3})
	c.produce("offset delta 3 in the only record", skips.Encode())
	c.produce("base offset 77", bent(func(b *wire.Batch) { b.FirstOffset = 77 }))
	control := wire.NewBatch(wire.Record{Key: []byte{0, 0, 0, 1}, Value: make([]byte, 6)})
	c.produce("control batch from a client", control.With(func(b *wire.Batch) { b.Attributes = 0x20 }).Encode())
	c.produce("magic 3", bent(func(b *wire.Batch) { b.Magic = 3 }))
	c.produce("codec 7 (unknown)", bent(func(b *wire.Batch) { b.Attributes = 7 }))
	c.produce("codec gzip, rubbish inside", bent(func(b *wire.Batch) { b.Attributes = 1 }))
	c.produce("LogAppendTime bit set by a client", bent(func(b *wire.Batch) { b.Attributes = 8 }))
	zstd := wire.NewProduce(-1, wire.Part{Topic: "e", Records: bent(func(b *wire.Batch) { b.Attributes = 4 })})
	c.send("zstd batch in Produce v6", zstd, 6)
	c.send("magic 1 in Produce v3", wire.NewProduce(-1, wire.Part{Topic: "e", Records: oldMessage()}), 3)
}

func (c *catalog) producers() {
	c.t.Helper()
	init := kmsg.NewPtrInitProducerIDRequest()
	init.TransactionTimeoutMillis, init.ProducerID, init.ProducerEpoch = 60000, -1, -1
	id := producerID(c.t, c.addr) // the broker has its block of ids from here on
	c.send("the same, 100 ms later", init, 4)
	sequence := func(name string, id int64, epoch int16, sequence int32) {
		c.t.Helper()
		c.produce(name, wire.Values("v").Producer(id, epoch, sequence).Encode())
	}
	sequence("sequence 0", id, 0, 0)
	sequence("sequence 0 again: duplicate", id, 0, 0)
	sequence("sequence 5 after 0: gap", id, 0, 5)
	sequence("epoch 1, sequence 0", id, 1, 0)
	sequence("epoch 0 after epoch 1", id, 0, 1)
	sequence("epoch 2, sequence 3 (not 0)", id, 2, 3)
	sequence("never seen producer id 987654, sequence 9", 987654, 0, 9)
	sequence("producer id, no sequence (-1)", id, 1, -1)
	txn := *init
	txn.TransactionalID = kmsg.StringPtr("")
	c.send("transactional id empty", &txn, 4)
	txn.TransactionalID = kmsg.StringPtr("tx")
	txn.TransactionTimeoutMillis = 99999999
	c.send("timeout > transaction.max.timeout.ms", &txn, 4)
	txn.TransactionTimeoutMillis = 0
	c.send("timeout 0", &txn, 4)
}

func (c *catalog) coordinators() {
	c.t.Helper()
	find := func(name string, kind int8, key string) {
		c.t.Helper()
		r := kmsg.NewPtrFindCoordinatorRequest()
		r.CoordinatorType, r.CoordinatorKeys = kind, []string{key}
		c.send(name, r, 4)
	}
	find("group (creates __consumer_offsets)", 0, "g1")
	cluster.Eventually(c.t, 20*time.Second, "coordinator", func() error {
		r := kmsg.NewPtrFindCoordinatorRequest()
		r.CoordinatorKeys = []string{""}
		x, err := wire.Ask[*kmsg.FindCoordinatorResponse](c.addr, r, 4)
		if err == nil && x.Coordinators[0].ErrorCode != 0 {
			err = fmt.Errorf("error %d", x.Coordinators[0].ErrorCode)
		}
		return err
	})
	find("group, when the topic is there", 0, "")
	find("group, empty key", 0, "")
	find("type 2 (share)", 2, "x")
	find("type 9", 9, "x")
	for _, group := range []string{"", "g1", "g2", "g-none"} { // their partitions are loaded before the cases below
		awaitCoordinator(c.t, c.addr, group)
	}
}

// awaitCoordinator waits until a broker answers for a group.
func awaitCoordinator(t *testing.T, addr, group string) {
	t.Helper()
	cluster.Eventually(t, 20*time.Second, "coordinator of "+group, func() error {
		r, err := wire.Ask[*kmsg.DescribeGroupsResponse](addr, describeRequest(group), 5)
		if err == nil && r.Groups[0].ErrorCode != 0 {
			err = fmt.Errorf("error %d", r.Groups[0].ErrorCode)
		}
		return err
	})
}

func describeRequest(groups ...string) *kmsg.DescribeGroupsRequest {
	r := kmsg.NewPtrDescribeGroupsRequest()
	r.Groups = groups
	return r
}

func (c *catalog) fetches() {
	c.t.Helper()
	c.topic = topicID(c.t, c.addr, "e")
	fetch := func(name string, version int16, topic string, id [16]byte, partition int32, offset int64, change func(*kmsg.FetchRequest)) {
		c.t.Helper()
		r := wire.NewFetch(wire.Position{Topic: topic, TopicID: id, Partition: partition, Offset: offset})
		r.MaxWaitMillis, r.MinBytes, r.MaxBytes = 100, 0, 1<<20
		if change != nil {
			change(r)
		}
		c.send(name, r, version)
	}
	epoch := func(current, last int32) func(*kmsg.FetchRequest) {
		return func(r *kmsg.FetchRequest) {
			r.Topics[0].Partitions[0].CurrentLeaderEpoch, r.Topics[0].Partitions[0].LastFetchedEpoch = current, last
		}
	}
	fetch("offset beyond the end", 12, "e", c.topic, 0, 99999, nil)
	fetch("offset -1", 12, "e", c.topic, 0, -1, nil)
	fetch("unknown topic name", 12, "nope", c.topic, 0, 0, nil)
	fetch("unknown topic id", 13, "", [16]byte{9, 9}, 0, 0, nil)
	fetch("zero topic id", 13, "", [16]byte{}, 0, 0, nil)
	fetch("unknown partition", 13, "e", c.topic, 7, 0, nil)
	fetch("current leader epoch too high", 13, "e", c.topic, 0, 0, epoch(99, -1))
	fetch("session id 12345 unknown", 13, "e", c.topic, 0, 0, func(r *kmsg.FetchRequest) { r.SessionID, r.SessionEpoch = 12345, 3 })
	fetch("session epoch 5 without a session id", 13, "e", c.topic, 0, 0, func(r *kmsg.FetchRequest) { r.SessionEpoch = 5 })
	fetch("replica id 42, not a replica (v12)", 12, "e", c.topic, 0, 0, func(r *kmsg.FetchRequest) { r.ReplicaID = 42 })
	fetch("lastFetchedEpoch 0, offset beyond the end (diverging epoch)", 13, "e", c.topic, 0, 99999, epoch(0, 0))
}

func (c *catalog) offsets() {
	c.t.Helper()
	list := func(name string, version int16, topic string, partition int32, timestamp int64, epoch int32) {
		c.t.Helper()
		r := wire.NewListOffsets(topic, partition, timestamp)
		r.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
		c.send(name, r, version)
	}
	list("unknown partition", 7, "e", 9, -1, -1)
	list("unknown topic", 7, "nope", 0, -1, -1)
	list("latest", 7, "e", 0, -1, -1)
	list("earliest", 7, "e", 0, -2, -1)
	list("max timestamp (-3)", 7, "e", 0, -3, -1)
	list("earliest local (-4)", 8, "e", 0, -4, -1)
	list("latest tiered (-5)", 9, "e", 0, -5, -1)
	list("-6", 9, "e", 0, -6, -1)
	list("timestamp in the future", 7, "e", 0, time.Now().UnixMilli()+9e9, -1)
	list("leader epoch too high", 7, "e", 0, -1, 99)
	list("v0, latest", 0, "e", 0, -1, -1)
	list("max timestamp (-3) on an empty topic", 7, "x.y", 0, -3, -1)
	epoch := func(name string, current, of int32) {
		c.t.Helper()
		r := kmsg.NewPtrOffsetForLeaderEpochRequest()
		r.ReplicaID = -1
		x := kmsg.NewOffsetForLeaderEpochRequestTopic()
		x.Topic = "e"
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.CurrentLeaderEpoch, p.LeaderEpoch = current, of
		x.Partitions = append(x.Partitions, p)
		r.Topics = append(r.Topics, x)
		c.send(name, r, 4)
	}
	epoch("leader epoch 99 unknown to the leader", -1, 99)
	epoch("current leader epoch 99", 99, 99)
}

func (c *catalog) metadata() {
	c.t.Helper()
	named := func(name, topic string, create bool) {
		c.t.Helper()
		r := wire.NewMetadata(topic)
		r.AllowAutoTopicCreation = create
		c.send(name, r, 12)
	}
	named("unknown topic, no auto-creation", "nope", false)
	named("invalid name, no auto-creation", "a b", false)
	named("unknown topic, auto-creation (broker default: on)", "auto", true)
	cluster.Eventually(c.t, 10*time.Second, "topic auto", func() error {
		_, err := leaders(c.addr, "auto", 1)
		return err
	})
	named("the same a second later", "auto", true)
	named("invalid name, auto-creation", "a b", true)
	named("x_y while x.y exists, auto-creation", "x_y", true)
	byID := kmsg.NewPtrMetadataRequest()
	byID.Topics = append(byID.Topics, kmsg.NewMetadataRequestTopic())
	byID.Topics[0].TopicID = [16]byte{7}
	c.send("unknown topic id", byID, 12)
	byID.Topics[0].Topic = kmsg.StringPtr("e")
	c.send("topic id and name together", byID, 12)

	configs := func(name string, kind kmsg.ConfigResourceType, resource string) {
		c.t.Helper()
		r := kmsg.NewPtrDescribeConfigsRequest()
		x := kmsg.NewDescribeConfigsRequestResource()
		x.ResourceType, x.ResourceName, x.ConfigNames = kind, resource, []string{"retention.ms"}
		r.Resources = append(r.Resources, x)
		c.send(name, r, 4)
	}
	configs("unknown topic", kmsg.ConfigResourceTypeTopic, "nope")
	configs("broker 77", kmsg.ConfigResourceTypeBroker, "77")
	configs("broker abc", kmsg.ConfigResourceTypeBroker, "abc")
}

func (c *catalog) groups() {
	c.t.Helper()
	commit := func(name, group, member string, generation int32, topic, metadata string) {
		c.t.Helper()
		c.send(name, wire.NewCommit(group, member, generation, wire.Commit{Topic: topic, Offset: 1, Metadata: &metadata}), 8)
	}
	commit("unknown member, group not there", "g1", "ghost", 3, "e", "")
	commit("no member, generation 3", "g1", "", 3, "e", "")
	commit("ok: simple (no member, generation -1)", "g1", "", -1, "e", "")
	commit("metadata of 5000 bytes", "g1", "", -1, "e", strings.Repeat("m", 5000))
	commit("unknown topic", "g1", "", -1, "nope", "")
	commit("empty group id", "", "", -1, "e", "")
	join := func(name, group, member, kind string, change func(*kmsg.JoinGroupRequest), protocols ...string) *kmsg.JoinGroupResponse {
		c.t.Helper()
		r := wire.NewJoin(group, member, protocols...)
		r.ProtocolType = kind
		for i := range r.Protocols {
			r.Protocols[i].Metadata = []byte{}
		}
		if change != nil {
			change(r)
		}
		j, ok := c.send(name, r, 9).(*kmsg.JoinGroupResponse)
		if !ok {
			c.t.Fatalf("JoinGroup %s: no answer", name)
		}
		return j
	}
	session := func(ms int32) func(*kmsg.JoinGroupRequest) {
		return func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = ms }
	}
	join("empty group id", "", "", "consumer", nil, "range")
	join("session timeout 1 ms", "g2", "", "consumer", session(1), "range")
	join("session timeout 9999999 ms", "g2", "", "consumer", session(9999999), "range")
	join("unknown member id", "g2", "ghost", "consumer", nil, "range")
	join("unknown member id of an existing group", "g1", "ghost", "consumer", nil, "range")
	join("no protocols", "g2", "", "consumer", nil)
	join("empty protocol type", "g2", "", "", nil, "range")
	id := join("no member id", "g2", "", "consumer", nil, "range").MemberID
	generation := join("with the member id that came back", "g2", id, "consumer", nil, "range").Generation
	join("other protocol type in a group of consumers", "g2", "", "connect", nil, "range")
	join("no common protocol", "g2", "", "consumer", nil, "sticky")
	c.send("unknown member", wire.NewHeartbeat("g2", "ghost", 1), 4)
	c.send("unknown group", wire.NewHeartbeat("g-none", "ghost", 1), 4)
	c.send("wrong generation", wire.NewHeartbeat("g2", id, generation+5), 4)
	commit("wrong generation", "g2", id, generation+5, "e", "")
	commit("no member, in a group with members", "g2", "", -1, "e", "")
	bare := wire.NewSync("g2", "ghost", 1, "", nil)
	bare.ProtocolType, bare.Protocol = nil, nil
	c.send("no protocol type and name", bare, 5)
	c.send("unknown member", wire.NewSync("g2", "ghost", 1, "range", nil), 5)
	c.send("wrong generation", wire.NewSync("g2", id, 99, "range", nil), 5)
	other := wire.NewSync("g2", id, generation, "range", nil)
	other.ProtocolType = kmsg.StringPtr("connect")
	c.send("other protocol type", other, 5)
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Groups = []string{"g2", "g-none", ""}
	c.send("group with members, unknown group, empty id", remove, 2)
	leave := wire.NewLeave("g2", "ghost")
	c.send("unknown member", leave, 5)
	c.send("unknown group, empty id", describeRequest("g-none", ""), 5)
	fetch := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = "g-none"
	x := kmsg.NewOffsetFetchRequestGroupTopic()
	x.Topic, x.Partitions = "e", []int32{0, 9}
	g.Topics = append(g.Topics, x)
	fetch.Groups = append(fetch.Groups, g)
	c.send("unknown group", fetch, 8)
	offsets := kmsg.NewPtrOffsetDeleteRequest()
	offsets.Group = "g-none"
	c.send("unknown group", offsets, 0)
}

// brokers are requests that only brokers send, with epochs that are none.
func (c *catalog) brokers() {
	c.t.Helper()
	alter := kmsg.NewPtrAlterPartitionRequest()
	alter.BrokerID, alter.BrokerEpoch = 1, 1
	c.send("stale broker epoch", alter, 3)
	shutdown := kmsg.NewPtrControlledShutdownRequest()
	shutdown.BrokerID, shutdown.BrokerEpoch = 99, -1
	c.send("unknown broker 99", shutdown, 3)
	shutdown.BrokerID, shutdown.BrokerEpoch = 1, 1
	c.send("stale broker epoch", shutdown, 3)
	ids := kmsg.NewPtrAllocateProducerIDsRequest()
	ids.BrokerID, ids.BrokerEpoch = 1, 1
	c.send("stale broker epoch", ids, 0)
	leader := kmsg.NewPtrLeaderAndISRRequest()
	leader.ControllerID, leader.ControllerEpoch, leader.BrokerEpoch = 1, 0, -1
	c.send("stale controller epoch 0", leader, 7)
	leader.ControllerEpoch, leader.BrokerEpoch = 1000, 1
	c.send("stale broker epoch 1", leader, 7)
	update := kmsg.NewPtrUpdateMetadataRequest()
	update.ControllerID, update.ControllerEpoch, update.BrokerEpoch = 1, 0, -1
	c.send("stale controller epoch 0", update, 8)
	update.BrokerEpoch = 1
	c.send("stale broker epoch 1", update, 8)
	stop := kmsg.NewPtrStopReplicaRequest()
	stop.ControllerID, stop.ControllerEpoch, stop.BrokerEpoch = 1, 0, -1
	c.send("stale controller epoch 0", stop, 4)
}
