package broker_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/protocol/record"
)

// rawProducer speaks the transaction APIs by hand, at the versions it is told to.
type rawProducer struct {
	t     *testing.T
	b     *kgo.Broker
	id    string
	pid   int64
	epoch int16
	seq   int32
}

func (r *running) raw(t *testing.T, id string) *rawProducer {
	t.Helper()
	// The topics of the coordinators are made when somebody asks for them.
	client := r.client(t)
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKeys = []string{id}
	for find.CoordinatorType = range int8(2) {
		for {
			resp, err := client.Broker(7).Request(t.Context(), find)
			if err != nil {
				t.Fatal(err)
			}
			if resp.(*kmsg.FindCoordinatorResponse).Coordinators[0].ErrorCode == 0 {
				break
			}
			pause(t)
		}
	}
	return &rawProducer{t: t, b: client.Broker(7), id: id, pid: -1, epoch: -1}
}

// pause is for what no answer tells the end of.
func pause(t *testing.T) {
	t.Helper()
	select {
	case <-time.After(10 * time.Millisecond):
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// request sends req as this version; kgo chooses a version, unless it is pinned.
func (p *rawProducer) request(version int16, req kmsg.Request) kmsg.Response {
	p.t.Helper()
	resp, err := p.b.Request(p.t.Context(), pinned{req, version})
	if err != nil {
		p.t.Fatal(err)
	}
	return resp
}

// pinned keeps a request at a version: kgo sends the lower of its own choice and MaxVersion.
type pinned struct {
	kmsg.Request
	version int16
}

func (r pinned) MaxVersion() int16 { return r.version }

func (p *rawProducer) init(version int16, timeout time.Duration, current bool) (int64, int16, error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &p.id, int32(timeout.Milliseconds())
	if current {
		req.ProducerID, req.ProducerEpoch = p.pid, p.epoch
	}
	resp := p.request(version, req).(*kmsg.InitProducerIDResponse)
	return resp.ProducerID, resp.ProducerEpoch, kerr.ErrorForCode(resp.ErrorCode)
}

// begin gets a producer id, waiting for the end of the transaction before.
func (p *rawProducer) begin(timeout time.Duration) {
	p.t.Helper()
	for {
		pid, epoch, err := p.init(4, timeout, false)
		switch {
		case err == nil:
			p.pid, p.epoch, p.seq = pid, epoch, 0
			return
		case !errors.Is(err, kerr.ConcurrentTransactions) && !errors.Is(err, kerr.CoordinatorLoadInProgress) && !errors.Is(err, kerr.NotCoordinator):
			p.t.Fatal(err)
		}
		pause(p.t)
	}
}

func (p *rawProducer) add(version int16, topic string, partitions ...int32) []error {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.id, p.pid, p.epoch
	req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: topic, Partitions: partitions}}
	var errs []error
	for _, t := range p.request(version, req).(*kmsg.AddPartitionsToTxnResponse).Topics {
		for _, o := range t.Partitions {
			errs = append(errs, kerr.ErrorForCode(o.ErrorCode))
		}
	}
	return errs
}

func (p *rawProducer) addOffsets(version int16, group string) error {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = p.id, p.pid, p.epoch, group
	return kerr.ErrorForCode(p.request(version, req).(*kmsg.AddOffsetsToTxnResponse).ErrorCode)
}

func (p *rawProducer) end(version int16, commit bool) error {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.id, p.pid, p.epoch, commit
	return kerr.ErrorForCode(p.request(version, req).(*kmsg.EndTxnResponse).ErrorCode)
}

func (p *rawProducer) commitOffset(version int16, group, topic string, offset int64, metadata string) error {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group, req.Generation = p.id, p.pid, p.epoch, group, -1
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{
		Topic: topic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Offset: offset, LeaderEpoch: -1, Metadata: &metadata}},
	}}
	return kerr.ErrorForCode(p.request(version, req).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}

// produce sends one record to partition 0; plain is without the transactional bit.
func (p *rawProducer) produce(version int16, topic string, plain bool) kmsg.ProduceResponseTopicPartition {
	b := record.NewBuilder(record.None, record.BuilderOptions{
		Transactional: !plain, Producer: &record.Producer{ID: p.pid, Epoch: p.epoch, BaseSequence: p.seq},
	})
	b.Append(time.Now().UnixMilli(), nil, []byte("v"), nil)
	req := kmsg.NewPtrProduceRequest()
	req.TransactionID, req.Acks, req.TimeoutMillis = &p.id, -1, 10_000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: b.Build()}}}}
	out := p.request(version, req).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	if out.ErrorCode == 0 {
		p.seq++
	}
	return out
}

func (p *rawProducer) check(what string, err, want error) {
	p.t.Helper()
	if !errors.Is(err, want) || (want == nil) != (err == nil) {
		p.t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func (p *rawProducer) checkProduced(what string, got kmsg.ProduceResponseTopicPartition, want error) {
	p.t.Helper()
	p.check(what, kerr.ErrorForCode(got.ErrorCode), want)
}

func TestTransactions_SuccessorStarted_OldProducerIsFenced(t *testing.T) {
	r := start(t, t.TempDir(), txnSettings...)
	createTopic(t, r, "a", 1)
	p := r.raw(t, "x")
	p.begin(time.Minute)
	if p.epoch != 0 {
		t.Fatalf("first epoch %d", p.epoch)
	}
	p.check("add", errors.Join(p.add(3, "a", 0)...), nil)
	for range 3 {
		p.checkProduced("produce", p.produce(9, "a", false), nil)
	}

	next := *p
	next.begin(time.Minute)
	if next.pid != p.pid || next.epoch != 2 {
		t.Fatalf("successor has producer %d epoch %d, want %d and 2", next.pid, next.epoch, p.pid)
	}
	p.checkProduced("produce", p.produce(9, "a", false), kerr.InvalidProducerEpoch)
	p.check("add 3", p.add(3, "a", 0)[0], kerr.ProducerFenced)
	p.check("add 1", p.add(1, "a", 0)[0], kerr.InvalidProducerEpoch)
	p.check("add offsets 3", p.addOffsets(3, "g"), kerr.ProducerFenced)
	p.check("add offsets 1", p.addOffsets(1, "g"), kerr.InvalidProducerEpoch)
	p.check("commit offset 3", p.commitOffset(3, "g", "a", 1, ""), kerr.InvalidProducerEpoch)
	p.check("end 3", p.end(3, true), kerr.ProducerFenced)
	p.check("end 1", p.end(1, true), kerr.InvalidProducerEpoch)
	_, _, err := p.init(4, time.Minute, true)
	p.check("init 4", err, kerr.ProducerFenced)
	_, _, err = p.init(3, time.Minute, true)
	p.check("init 3", err, kerr.InvalidProducerEpoch)

	_, epoch, err := next.init(4, time.Minute, true)
	if err != nil || epoch != 3 {
		t.Errorf("successor's own bump: epoch %d, %v, want 3", epoch, err)
	}
}

func TestTransactions_BadRequests_GetKafkasCodes(t *testing.T) {
	r := start(t, t.TempDir(), append(txnSettings, "transaction.max.timeout.ms=60000")...)
	createTopic(t, r, "a", 2)
	p := r.raw(t, "x")
	for _, timeout := range []time.Duration{0, -time.Second, time.Minute + time.Millisecond} {
		_, _, err := p.init(4, timeout, false)
		p.check(fmt.Sprint("timeout ", timeout), err, kerr.InvalidTransactionTimeout)
	}
	empty := *p
	empty.id = ""
	_, _, err := empty.init(4, time.Second, false)
	p.check("empty id", err, kerr.InvalidRequest)

	p.begin(time.Minute)
	p.check("end of nothing", p.end(3, true), kerr.InvalidTxnState)
	got := p.add(3, "a", 0, 9, 1)
	for i, want := range []error{kerr.OperationNotAttempted, kerr.UnknownTopicOrPartition, kerr.OperationNotAttempted} {
		p.check(fmt.Sprint("unknown partition, answer ", i), got[i], want)
	}
	p.check("nothing was added", p.end(3, true), kerr.InvalidTxnState)

	refused := p.produce(9, "a", false)
	p.checkProduced("not added, v9", refused, kerr.InvalidTxnState)
	if m := refused.ErrorMessage; m == nil || *m != "Partition was not added to the transaction" || refused.LogStartOffset != -1 {
		t.Errorf("not added: message %v, log start %d", m, refused.LogStartOffset)
	}
	p.checkProduced("not added, v11", p.produce(11, "a", false), kerr.TransactionAbortable)
	p.check("offsets not added, v3", p.commitOffset(3, "g", "a", 1, ""), kerr.InvalidTxnState)
	p.check("offsets not added, v4", p.commitOffset(4, "g", "a", 1, ""), kerr.TransactionAbortable)

	p = r.raw(t, "y")
	p.begin(time.Minute)
	p.check("add", errors.Join(p.add(3, "a", 0)...), nil)
	p.checkProduced("plain batch before the transaction has any", p.produce(9, "a", true), nil)
	p.checkProduced("produce", p.produce(9, "a", false), nil)
	p.checkProduced("plain batch in the transaction", p.produce(9, "a", true), kerr.InvalidTxnState)
	p.check("abort", p.end(3, false), nil)
	for err := p.end(3, false); err != nil; err = p.end(3, false) {
		p.check("abort again", err, kerr.ConcurrentTransactions)
		pause(t)
	}
	p.check("commit after abort", p.end(3, true), kerr.InvalidTxnState)
	p.checkProduced("produce after the end", p.produce(9, "a", false), kerr.InvalidTxnState)
}

func TestTransactions_VerificationDisabled_TakesWhatWasNotAdded(t *testing.T) {
	const key = "transaction.partition.verification.enable"
	r := start(t, t.TempDir(), append(txnSettings, key+"=false")...)
	createTopic(t, r, "a", 1)
	p := r.raw(t, "x")
	p.begin(time.Minute)
	p.checkProduced("not added", p.produce(9, "a", false), nil)

	yes := "true"
	_, err := kadm.NewClient(r.client(t)).AlterBrokerConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &yes}})
	if err != nil {
		t.Fatal(err)
	}
	y := r.raw(t, "y")
	y.begin(time.Minute)
	for {
		if out := y.produce(9, "a", false); out.ErrorCode != 0 {
			y.checkProduced("not added", out, kerr.InvalidTxnState)
			return
		}
		pause(t)             // the change is on its way
		y.begin(time.Minute) // else the transaction that was begun behind the coordinator's back goes on
	}
}

func TestTransactions_TimeoutPasses_AbortsAndFences(t *testing.T) {
	r := start(t, t.TempDir(), txnSettings...)
	createTopic(t, r, "a", 1)
	p := r.raw(t, "x")
	p.begin(300 * time.Millisecond)
	p.check("add", errors.Join(p.add(3, "a", 0)...), nil)
	p.checkProduced("produce", p.produce(9, "a", false), nil)
	admin := kadm.NewClient(r.client(t))
	if lso := committedEnd(t, admin, "a"); lso != 0 {
		t.Errorf("LSO %d of an open transaction, want 0", lso)
	}
	for committedEnd(t, admin, "a") != 2 {
		pause(t)
	}
	p.check("late end", p.end(3, true), kerr.ProducerFenced)
	p.checkProduced("late produce", p.produce(9, "a", false), kerr.InvalidProducerEpoch)
	_, _, err := p.init(4, time.Minute, true)
	p.check("late bump", err, kerr.ProducerFenced)
	old := p.epoch
	p.begin(time.Minute)
	if p.epoch != old+2 {
		t.Errorf("epoch %d after expiry of %d", p.epoch, old)
	}
}

func committedEnd(t *testing.T, admin *kadm.Client, topic string) int64 {
	t.Helper()
	offsets, err := admin.ListCommittedOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	o, _ := offsets.Lookup(topic, 0)
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	return o.Offset
}

func TestTransactions_OffsetsInTransaction_AreUnstableUntilItsEnd(t *testing.T) {
	r := start(t, t.TempDir(), txnSettings...)
	createTopic(t, r, "a", 1)
	p := r.raw(t, "x")
	fetch := func(stable bool) (int64, error) {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group, req.RequireStable = "g", stable
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "a", Partitions: []int32{0}}}
		o := p.request(7, req).(*kmsg.OffsetFetchResponse).Topics[0].Partitions[0]
		return o.Offset, kerr.ErrorForCode(o.ErrorCode)
	}
	settled := func(want int64) {
		t.Helper()
		for {
			offset, err := fetch(true)
			if err == nil {
				if offset != want {
					t.Errorf("offset %d, want %d", offset, want)
				}
				return
			}
			p.check("fetch", err, kerr.UnstableOffsetCommit)
			pause(t)
		}
	}
	p.begin(time.Minute)
	offset := int64(-1)
	for i, commit := range []bool{true, false, true} {
		p.check("add offsets", p.addOffsets(3, "g"), nil)
		p.check("metadata too long", p.commitOffset(3, "g", "a", 99, string(make([]byte, 5000))), kerr.OffsetMetadataTooLarge)
		p.check("commit offset", p.commitOffset(3, "g", "a", int64(10*i+10), ""), nil)
		if _, err := fetch(true); !errors.Is(err, kerr.UnstableOffsetCommit) {
			t.Errorf("stable fetch in the transaction: %v", err)
		}
		if got, err := fetch(false); got != offset || err != nil {
			t.Errorf("unstable fetch: %d, %v, want %d", got, err, offset)
		}
		p.check("end", p.end(3, commit), nil)
		if commit {
			offset = int64(10*i + 10)
		}
		settled(offset)
		for p.end(3, commit) != nil {
			pause(t)
		}
	}
	p.begin(200 * time.Millisecond)
	p.check("add offsets", p.addOffsets(3, "g"), nil)
	p.check("commit offset", p.commitOffset(3, "g", "a", 77, ""), nil)
	settled(offset)
}
