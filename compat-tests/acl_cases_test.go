//go:build compat

package compat

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/compat-tests/cluster"
	"jackdaw/compat-tests/wire"
)

// aclScene is what the cases are about: topics t and u, group g with an offset in each, transactional id x.
type aclScene struct {
	t         *testing.T
	u         [16]byte // id of topic u
	id        int64    // producer of x
	epoch     int16
	plainData []byte
}

func prepareACLs(t *testing.T, addr string) *aclScene {
	t.Helper()
	s := &aclScene{t: t, plainData: wire.Values("v").Encode()}
	for _, name := range []string{"t", "u"} {
		create := wire.NewCreateTopic(name, 1, 1)
		if r := ask[*kmsg.CreateTopicsResponse](t, addr, create, 5); r.Topics[0].ErrorCode != 0 {
			t.Fatalf("create %s: %v", name, kerr.ErrorForCode(r.Topics[0].ErrorCode))
		}
	}
	s.u = topicID(t, addr, "u")
	ask[*kmsg.FindCoordinatorResponse](t, addr, find(0, "g"), 4)
	ask[*kmsg.FindCoordinatorResponse](t, addr, find(1, "x"), 4)
	awaitCoordinator(t, addr, "g")
	commit := wire.NewCommit("g", "", -1, wire.Commit{Topic: "t", Offset: 5}, wire.Commit{Topic: "u", Offset: 6})
	if r := ask[*kmsg.OffsetCommitResponse](t, addr, commit, 8); r.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("commit: %v", kerr.ErrorForCode(r.Topics[0].Partitions[0].ErrorCode))
	}
	cluster.Eventually(t, 20*time.Second, "transaction coordinator", func() error {
		r, err := wire.Ask[*kmsg.InitProducerIDResponse](addr, initProducer("x"), 4)
		if err == nil {
			s.id, s.epoch, err = r.ProducerID, r.ProducerEpoch, kerr.ErrorForCode(r.ErrorCode)
		}
		return err
	})
	awaitProducerIDs(t, addr)
	return s
}

// awaitProducerIDs waits until a broker has a block of them.
func awaitProducerIDs(t *testing.T, addr string) {
	t.Helper()
	cluster.Eventually(t, 20*time.Second, "producer ids", func() error {
		r, err := wire.Ask[*kmsg.InitProducerIDResponse](addr, initProducer(""), 4)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(r.ErrorCode)
	})
}

func find(kind int8, keys ...string) *kmsg.FindCoordinatorRequest {
	r := kmsg.NewPtrFindCoordinatorRequest()
	r.CoordinatorType, r.CoordinatorKeys, r.CoordinatorKey = kind, keys, keys[0]
	return r
}

func initProducer(id string) *kmsg.InitProducerIDRequest {
	r := kmsg.NewPtrInitProducerIDRequest()
	r.TransactionTimeoutMillis = 60_000
	if id != "" {
		r.TransactionalID = &id
	}
	return r
}

func (s *aclScene) produce() kmsg.Request {
	return wire.NewProduce(1, wire.Part{Topic: "t", Records: s.plainData}, wire.Part{Topic: "u", Records: s.plainData}, wire.Part{Topic: "nope", Records: s.plainData})
}

func (s *aclScene) produceTxn(id string) kmsg.Request {
	batch := wire.Values("v").Producer(s.id, s.epoch, 0).With(func(b *wire.Batch) { b.Attributes |= 0x10 })
	r := wire.NewProduce(-1, wire.Part{Topic: "u", Records: batch.Encode()})
	if id != "" {
		r.TransactionID = &id
	}
	return r
}

func fetchTwo() *kmsg.FetchRequest {
	r := wire.NewFetch(wire.Position{Topic: "t"}, wire.Position{Topic: "u"}, wire.Position{Topic: "nope"})
	r.MaxWaitMillis = 0
	return r
}

func metadataOf(create bool, topics ...string) *kmsg.MetadataRequest {
	r := wire.NewMetadata(topics...)
	r.AllowAutoTopicCreation = create
	r.IncludeClusterAuthorizedOperations, r.IncludeTopicAuthorizedOperations = true, true
	return r
}

func (s *aclScene) metadataByID() *kmsg.MetadataRequest {
	r := metadataOf(false)
	r.Topics = []kmsg.MetadataRequestTopic{{TopicID: s.u}}
	return r
}

// clientCases are the APIs of producers and consumers.
func (s *aclScene) clientCases() []aclCase {
	offsets := wire.NewListOffsets("t", 0, -1)
	offsets.Topics = append(offsets.Topics, wire.NewListOffsets("u", 0, -1).Topics...)
	byID := fetchTwo()
	byID.Topics = []kmsg.FetchRequestTopic{{TopicID: s.u, Partitions: byID.Topics[0].Partitions}}
	follower := fetchTwo()
	follower.ReplicaID = 9
	epochs := kmsg.NewPtrOffsetForLeaderEpochRequest()
	epochs.ReplicaID = -2
	for _, name := range []string{"t", "u"} {
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		epochs.Topics = append(epochs.Topics, kmsg.OffsetForLeaderEpochRequestTopic{Topic: name, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}})
	}
	return []aclCase{
		{"", s.produce(), 9, nil},
		{"", s.produce(), 9, []grant{onTopic("t", kmsg.ACLOperationWrite)}},
		{"", s.produce(), 2, []grant{onPrefix("t", kmsg.ACLOperationAll), onPrefix("n", kmsg.ACLOperationWrite), onTopic("u", kmsg.ACLOperationRead)}},
		{"", s.produce(), 9, []grant{onTopic("*", kmsg.ACLOperationWrite), onPrefix("u", kmsg.ACLOperationAll).but()}},
		{"transactional", s.produceTxn("x"), 9, nil},
		{"transactional", s.produceTxn("x"), 9, []grant{onTopic("u", kmsg.ACLOperationWrite)}},
		{"transactional", s.produceTxn("x"), 9, []grant{onTxn("x", kmsg.ACLOperationWrite)}},
		{"transactional without id", s.produceTxn(""), 9, []grant{onTopic("u", kmsg.ACLOperationWrite), onTxn("*", kmsg.ACLOperationAll)}},
		{"", fetchTwo(), 11, nil},
		{"", fetchTwo(), 11, []grant{onTopic("t", kmsg.ACLOperationRead)}},
		{"", fetchTwo(), 4, []grant{onTopic("t", kmsg.ACLOperationWrite), onTopic("u", kmsg.ACLOperationAll), onTopic("nope", kmsg.ACLOperationRead)}},
		{"by id", byID, 13, nil},
		{"by id", byID, 13, []grant{onTopic("u", kmsg.ACLOperationRead)}},
		{"as follower", follower, 11, []grant{onTopic("*", kmsg.ACLOperationAll)}},
		{"", offsets, 7, nil},
		{"", offsets, 0, nil},
		{"", offsets, 7, []grant{onTopic("t", kmsg.ACLOperationRead)}},
		{"", offsets, 7, []grant{onTopic("t", kmsg.ACLOperationAlterConfigs), onTopic("u", kmsg.ACLOperationDescribe)}},
		{"", epochs, 4, nil},
		{"", epochs, 4, []grant{onTopic("t", kmsg.ACLOperationDescribe)}},
		{"", epochs, 4, []grant{onCluster(kmsg.ACLOperationClusterAction)}},
		{"all", metadataOf(false), 12, nil},
		{"all", metadataOf(false), 10, []grant{onTopic("u", kmsg.ACLOperationDelete), onCluster(kmsg.ACLOperationAlter)}},
		{"all", metadataOf(false), 8, []grant{onTopic("t", kmsg.ACLOperationAll), onTopic("t", kmsg.ACLOperationWrite).but(), onCluster(kmsg.ACLOperationCreate)}},
		{"named", metadataOf(false, "t", "u", "nope", "__consumer_offsets"), 12, nil},
		{"named", metadataOf(false, "t", "u", "nope", "__consumer_offsets"), 9, []grant{onTopic("t", kmsg.ACLOperationRead), onTopic("nope", kmsg.ACLOperationDescribe)}},
		{"by id", s.metadataByID(), 12, nil},
		{"by id", s.metadataByID(), 12, []grant{onTopic("u", kmsg.ACLOperationDescribe)}},
		{"to be created", metadataOf(true, "new"), 12, nil},
		{"to be created", metadataOf(true, "new"), 12, []grant{onTopic("new", kmsg.ACLOperationCreate)}},
		{"to be created", metadataOf(true, "new"), 12, []grant{onTopic("new", kmsg.ACLOperationDescribe)}},
		{"to be created", metadataOf(true, "new"), 12, []grant{onTopic("new", kmsg.ACLOperationDescribe), onPrefix("n", kmsg.ACLOperationCreate)}},
		{"to be created", metadataOf(true, "new2"), 4, []grant{onTopic("new2", kmsg.ACLOperationRead), onCluster(kmsg.ACLOperationCreate)}},
	}
}

// groupCases are the APIs of groups and their offsets.
func (s *aclScene) groupCases() []aclCase {
	commit := wire.NewCommit("g", "", -1, wire.Commit{Topic: "t", Offset: 7}, wire.Commit{Topic: "u", Offset: 8}, wire.Commit{Topic: "nope", Offset: 9})
	named := kmsg.NewPtrOffsetFetchRequest()
	named.Group = "g"
	for _, topic := range []string{"t", "u"} {
		named.Topics = append(named.Topics, kmsg.OffsetFetchRequestTopic{Topic: topic, Partitions: []int32{0}})
	}
	all := kmsg.NewPtrOffsetFetchRequest()
	all.Group = "g"
	many := kmsg.NewPtrOffsetFetchRequest()
	many.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g", Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: "u", Partitions: []int32{0}}, {Topic: "t", Partitions: []int32{0, 1}}}}, {Group: "h"}}
	describe := describeRequest("g", "h")
	describe.IncludeAuthorizedOperations = true
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Groups = []string{"g-none", "h-none"}
	forget := kmsg.NewPtrOffsetDeleteRequest()
	forget.Group = "g"
	for _, topic := range []string{"t", "u", "nope"} {
		forget.Topics = append(forget.Topics, kmsg.OffsetDeleteRequestTopic{Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}})
	}
	readG, describeG := onGroup("g", kmsg.ACLOperationRead), onGroup("g", kmsg.ACLOperationDescribe)
	cases := []aclCase{
		{"group", find(0, "g", "h"), 4, nil},
		{"group", find(0, "g"), 3, nil},
		{"group", find(0, "g"), 3, []grant{describeG}},
		{"group", find(0, "g", "h"), 4, []grant{describeG}},
		{"transaction", find(1, "x", "y"), 4, []grant{describeG}},
		{"transaction", find(1, "x", "y"), 4, []grant{onTxn("x", kmsg.ACLOperationWrite)}},
		{"", commit, 8, nil},
		{"", commit, 8, []grant{readG}},
		{"", commit, 8, []grant{readG, onTopic("t", kmsg.ACLOperationRead), onTopic("nope", kmsg.ACLOperationRead)}},
		{"", commit, 0, []grant{onTopic("t", kmsg.ACLOperationRead)}},
		{"named", named, 7, nil},
		{"named", named, 1, nil},
		{"named", named, 0, nil},
		{"named", named, 0, []grant{describeG, onTopic("t", kmsg.ACLOperationDescribe)}},
		{"named", named, 7, []grant{describeG, onTopic("t", kmsg.ACLOperationDescribe)}},
		{"all", all, 7, nil},
		{"all", all, 7, []grant{readG, onTopic("u", kmsg.ACLOperationRead)}},
		{"many", many, 8, nil},
		{"many", many, 8, []grant{readG, onTopic("t", kmsg.ACLOperationRead)}},
		{"", wire.NewJoin("g2", "", "range"), 5, nil},
		{"", wire.NewSync("g2", "m", 1, "range", nil), 5, nil},
		{"", wire.NewHeartbeat("g2", "m", 1), 4, nil},
		{"", wire.NewLeave("g2", "m"), 4, nil},
		{"", wire.NewSync("g2", "m", 1, "range", nil), 5, []grant{onGroup("g2", kmsg.ACLOperationRead)}},
		{"", wire.NewHeartbeat("g2", "m", 1), 4, []grant{onGroup("g2", kmsg.ACLOperationRead)}},
		{"", wire.NewLeave("g2", "m"), 2, []grant{onGroup("g2", kmsg.ACLOperationRead)}},
		{"", describe, 5, nil},
		{"", describe, 5, []grant{describeG}},
		{"", describe, 5, []grant{onGroup("*", kmsg.ACLOperationAll)}},
		{"", kmsg.NewPtrListGroupsRequest(), 4, nil},
		{"", kmsg.NewPtrListGroupsRequest(), 4, []grant{readG}},
		{"", kmsg.NewPtrListGroupsRequest(), 4, []grant{onCluster(kmsg.ACLOperationDescribe)}},
		{"", remove, 2, nil},
		{"", remove, 2, []grant{onGroup("h-none", kmsg.ACLOperationDelete)}},
		{"", forget, 0, nil},
		{"", forget, 0, []grant{onGroup("g", kmsg.ACLOperationDelete)}},
		{"", forget, 0, []grant{onGroup("g", kmsg.ACLOperationDelete), onTopic("t", kmsg.ACLOperationRead)}},
	}
	return cases
}

// txnCases are the APIs of transactions and idempotence.
func (s *aclScene) txnCases() []aclCase {
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch = "x", s.id, s.epoch
	for _, topic := range []string{"t", "u", "nope"} {
		add.Topics = append(add.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: topic, Partitions: []int32{0}})
	}
	internal := *add
	internal.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "__consumer_offsets", Partitions: []int32{0}}}
	many := kmsg.NewPtrAddPartitionsToTxnRequest()
	many.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{TransactionalID: "x", ProducerID: s.id, ProducerEpoch: s.epoch}}
	offsets := kmsg.NewPtrAddOffsetsToTxnRequest()
	offsets.TransactionalID, offsets.ProducerID, offsets.ProducerEpoch, offsets.Group = "x", s.id, s.epoch, "g"
	end := kmsg.NewPtrEndTxnRequest()
	end.TransactionalID, end.ProducerID, end.ProducerEpoch = "x", s.id+1, s.epoch
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.Group, commit.ProducerID, commit.ProducerEpoch, commit.Generation = "x", "g", s.id, s.epoch, -1
	for _, topic := range []string{"t", "u"} {
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		commit.Topics = append(commit.Topics, kmsg.TxnOffsetCommitRequestTopic{Topic: topic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{p}})
	}
	describe := kmsg.NewPtrDescribeTransactionsRequest()
	describe.TransactionalIDs = []string{"x", "y"}
	write, readG := onTxn("x", kmsg.ACLOperationWrite), onGroup("g", kmsg.ACLOperationRead)
	return []aclCase{
		{"idempotent", initProducer(""), 4, nil},
		{"idempotent", initProducer(""), 4, []grant{onCluster(kmsg.ACLOperationIdempotentWrite)}},
		{"idempotent", initProducer(""), 4, []grant{onPrefix("zz", kmsg.ACLOperationWrite)}},
		{"idempotent", initProducer(""), 4, []grant{onTopic("zz", kmsg.ACLOperationAll), onPrefix("z", kmsg.ACLOperationWrite).but()}},
		{"transactional", initProducer("y"), 4, []grant{onCluster(kmsg.ACLOperationIdempotentWrite)}},
		{"", add, 3, nil},
		{"", add, 3, []grant{write}},
		{"", add, 3, []grant{write, onTopic("t", kmsg.ACLOperationWrite), onTopic("nope", kmsg.ACLOperationWrite)}},
		{"internal topic", &internal, 3, []grant{write, onTopic("*", kmsg.ACLOperationAll)}},
		{"many", many, 4, []grant{write}},
		{"", offsets, 3, nil},
		{"", offsets, 3, []grant{write}},
		{"", offsets, 3, []grant{readG}},
		{"", offsets, 3, []grant{write, readG}},
		{"", commit, 3, nil},
		{"", commit, 3, []grant{write}},
		{"", commit, 3, []grant{write, readG}},
		{"", commit, 3, []grant{write, readG, onTopic("t", kmsg.ACLOperationRead)}},
		{"", end, 3, nil},
		{"", end, 3, []grant{write}},
		{"", describe, 0, nil},
		{"", describe, 0, []grant{onTxn("x", kmsg.ACLOperationDescribe)}},
		{"", kmsg.NewPtrListTransactionsRequest(), 0, nil},
		{"", kmsg.NewPtrListTransactionsRequest(), 0, []grant{onTxn("x", kmsg.ACLOperationDescribe)}},
	}
}
