package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator/txn"
	"jackdaw/metadata"
)

// txnWorld is a service in a bubble, and three brokers that lead partition p of any topic as broker p mod 3. Topic "gone" has
// been deleted, "leaderless" has no leader.
type txnWorld struct {
	t     *testing.T
	log   *memLog
	x     *Transactions
	epoch metadata.LeaderEpoch

	mu      sync.Mutex
	down    map[metadata.BrokerID]bool
	answer  map[metadata.TopicPartition]*kerr.Error // instead of success
	written map[string]int                          // markers by "producer/epoch topic-partition outcome"
	noIDs   bool
	nextID  int64
	missing map[string]bool // topics that are gone
	orphans map[string]bool // topics without leader
}

func inTxnWorld(t *testing.T, f func(t *testing.T, w *txnWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &txnWorld{
			t: t, log: newMemLog(), nextID: 1000, down: map[metadata.BrokerID]bool{},
			answer: map[metadata.TopicPartition]*kerr.Error{}, written: map[string]int{}, missing: map[string]bool{}, orphans: map[string]bool{},
		}
		w.x = NewTransactions(TransactionsConfig{
			Config: txn.DefaultConfig(), Log: w.log, Partitions: testPartitions, ProducerIDs: w,
			GroupPartitionFor: func(string) int32 { return 3 },
			PartitionExists:   func(tp metadata.TopicPartition) bool { return tp.Partition < 10 },
			Markers:           MarkerConfig{Leader: w.leader, Write: w.write},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.x.Run(ctx) }()
		w.elect()
		f(t, w)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func (w *txnWorld) elect() {
	w.epoch++
	for p := range int32(testPartitions) {
		w.x.Elected(p, w.epoch)
	}
	synctest.Wait()
}

// Next implements ProducerIDs.
func (w *txnWorld) Next(context.Context) (int64, error) {
	if w.noIDs {
		return 0, errors.New("no block")
	}
	w.nextID++
	return w.nextID - 1, nil
}

func (w *txnWorld) leader(tp metadata.TopicPartition) (metadata.BrokerID, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.missing[tp.Topic]:
		return metadata.NoBroker, false
	case w.orphans[tp.Topic]:
		return metadata.NoBroker, true
	default:
		return metadata.BrokerID(tp.Partition % 3), true
	}
}

func (w *txnWorld) write(
	_ context.Context, to metadata.BrokerID, req *kmsg.WriteTxnMarkersRequest,
) (*kmsg.WriteTxnMarkersResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down[to] {
		return nil, errors.New("connection refused")
	}
	resp := kmsg.NewPtrWriteTxnMarkersResponse()
	for _, m := range req.Markers {
		rm := kmsg.WriteTxnMarkersResponseMarker{ProducerID: m.ProducerID}
		for _, t := range m.Topics {
			rt := kmsg.WriteTxnMarkersResponseMarkerTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				code := int16(0)
				if err := w.answer[tp(t.Topic, p)]; err != nil {
					code = err.Code
				} else {
					w.written[fmt.Sprintf("%d/%d %s-%d %v", m.ProducerID, m.ProducerEpoch, t.Topic, p, m.Committed)]++
				}
				rt.Partitions = append(rt.Partitions, kmsg.WriteTxnMarkersResponseMarkerTopicPartition{Partition: p, ErrorCode: code})
			}
			rm.Topics = append(rm.Topics, rt)
		}
		resp.Markers = append(resp.Markers, rm)
	}
	return resp, nil
}

func (w *txnWorld) set(f func()) {
	w.mu.Lock()
	f()
	w.mu.Unlock()
}

func (w *txnWorld) ctx() context.Context { return w.t.Context() }

func (w *txnWorld) wantCode(what string, code int16, want *kerr.Error) {
	w.t.Helper()
	(&world{t: w.t}).wantCode(what, code, want)
}

// init asks for a producer; with p it presents what it has.
func (w *txnWorld) init(version int16, id string, timeout time.Duration, p *txn.Producer) *kmsg.InitProducerIDResponse {
	r := kmsg.NewPtrInitProducerIDRequest()
	r.Version, r.TransactionalID, r.TransactionTimeoutMillis = version, &id, int32(timeout.Milliseconds())
	if p != nil {
		r.ProducerID, r.ProducerEpoch = p.ID, p.Epoch
	}
	return w.x.InitProducerID(w.ctx(), r)
}

// producer begins with an id and must succeed.
func (w *txnWorld) producer(id string) txn.Producer {
	w.t.Helper()
	r := w.init(4, id, time.Minute, nil)
	w.wantCode("init "+id, r.ErrorCode, nil)
	return txn.Producer{ID: r.ProducerID, Epoch: r.ProducerEpoch}
}

func addReq(version int16, id string, p txn.Producer, verify bool, tps ...metadata.TopicPartition) *kmsg.AddPartitionsToTxnRequest {
	r := kmsg.NewPtrAddPartitionsToTxnRequest()
	r.Version = version
	one := kmsg.AddPartitionsToTxnRequestTransaction{TransactionalID: id, ProducerID: p.ID, ProducerEpoch: p.Epoch, VerifyOnly: verify}
	r.TransactionalID, r.ProducerID, r.ProducerEpoch = id, p.ID, p.Epoch
	for _, tp := range tps {
		one.Topics = append(one.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: tp.Topic, Partitions: []int32{tp.Partition}})
		r.Topics = append(r.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: tp.Topic, Partitions: []int32{tp.Partition}})
	}
	r.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{one}
	return r
}

// add returns the codes of an AddPartitionsToTxn.
func (w *txnWorld) add(r *kmsg.AddPartitionsToTxnRequest) (out []int16) {
	resp := w.x.AddPartitions(w.ctx(), r, func(topic string) bool { return topic == "secret" })
	for _, t := range resp.Topics {
		out = append(out, t.Partitions[0].ErrorCode)
	}
	for _, x := range resp.Transactions {
		for _, t := range x.Topics {
			out = append(out, t.Partitions[0].ErrorCode)
		}
	}
	return out
}

func (w *txnWorld) mustAdd(id string, p txn.Producer, tps ...metadata.TopicPartition) {
	w.t.Helper()
	for _, c := range w.add(addReq(3, id, p, false, tps...)) {
		w.wantCode("add to "+id, c, nil)
	}
}

func (w *txnWorld) end(version int16, id string, p txn.Producer, commit bool) int16 {
	r := kmsg.NewPtrEndTxnRequest()
	r.Version, r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.Commit = version, id, p.ID, p.Epoch, commit
	return w.x.EndTxn(w.ctx(), r).ErrorCode
}

func (w *txnWorld) state(id string) string {
	r := kmsg.NewPtrDescribeTransactionsRequest()
	r.TransactionalIDs = []string{id}
	return w.x.DescribeTransactions(w.ctx(), r).TransactionStates[0].State
}

func (w *txnWorld) wantState(id, want string) {
	w.t.Helper()
	synctest.Wait()
	if got := w.state(id); got != want {
		w.t.Errorf("%s is %s, want %s", id, got, want)
	}
}

func TestInitProducerID_SecondProducer_FencesTheFirst(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		old := w.producer("x")
		w.mustAdd("x", old, tp("t", 0))
		w.set(func() { w.down[0] = true })
		for range 3 {
			w.wantCode("the open one ends first", w.init(4, "x", time.Minute, nil).ErrorCode, kerr.ConcurrentTransactions)
		}
		w.set(func() { w.down[0] = false })
		time.Sleep(time.Second)
		p := w.producer("x")
		if want := (txn.Producer{ID: old.ID, Epoch: old.Epoch + 2}); p != want {
			t.Errorf("second producer %+v, want %+v", p, want)
		}
		if d := cmp.Diff(map[string]int{fmt.Sprintf("%d/1 t-0 false", p.ID): 1}, w.written); d != "" {
			t.Error(d)
		}

		for v := int16(0); v <= 5; v++ {
			want := kerr.ProducerFenced
			if v < 4 {
				want = kerr.InvalidProducerEpoch
			}
			if v >= 3 {
				w.wantCode(fmt.Sprintf("InitProducerId %d", v), w.init(v, "x", time.Minute, &old).ErrorCode, want)
			}
		}
		for v := int16(0); v <= 3; v++ {
			want := kerr.ProducerFenced
			if v < 2 {
				want = kerr.InvalidProducerEpoch
			}
			w.wantCode(fmt.Sprintf("AddPartitionsToTxn %d", v), w.add(addReq(v, "x", old, false, tp("t", 0)))[0], want)
			w.wantCode(fmt.Sprintf("EndTxn %d", v), w.end(v, "x", old, true), want)
			o := kmsg.NewPtrAddOffsetsToTxnRequest()
			o.Version, o.TransactionalID, o.ProducerID, o.ProducerEpoch, o.Group = v, "x", old.ID, old.Epoch, "g"
			w.wantCode(fmt.Sprintf("AddOffsetsToTxn %d", v), w.x.AddOffsets(w.ctx(), o).ErrorCode, want)
		}
	})
}

func TestInitProducerID_BadRequests_RightCodes(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		w.wantCode("empty id", w.init(4, "", time.Minute, nil).ErrorCode, kerr.InvalidRequest)
		w.wantCode("timeout 0", w.init(4, "x", 0, nil).ErrorCode, kerr.InvalidTransactionTimeout)
		w.wantCode("timeout above the maximum", w.init(4, "x", time.Hour, nil).ErrorCode, kerr.InvalidTransactionTimeout)
		w.wantCode("id without epoch", w.init(4, "x", time.Minute, &txn.Producer{ID: 5, Epoch: -1}).ErrorCode, kerr.InvalidRequest)
		w.wantCode("epoch without id", w.init(4, "x", time.Minute, &txn.Producer{ID: -1, Epoch: 5}).ErrorCode, kerr.InvalidRequest)
		w.noIDs = true
		r := kmsg.NewPtrInitProducerIDRequest()
		r.Version = 4
		got := w.x.InitProducerID(w.ctx(), r)
		w.wantCode("no producer ids", got.ErrorCode, kerr.CoordinatorLoadInProgress)
		if got.ProducerID != -1 || got.ProducerEpoch != -1 {
			t.Errorf("%+v", got)
		}
		w.noIDs = false
		got = w.x.InitProducerID(w.ctx(), r)
		w.wantCode("without transactional id", got.ErrorCode, nil)
		if got.ProducerID != 1000 || got.ProducerEpoch != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestTransaction_TimedOut_AbortedAndFenced(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		r := w.init(4, "x", 5*time.Second, nil)
		p := txn.Producer{ID: r.ProducerID, Epoch: r.ProducerEpoch}
		w.mustAdd("x", p, tp("t", 0))
		time.Sleep(15 * time.Second)
		w.wantState("x", "CompleteAbort")
		w.wantCode("late EndTxn", w.end(3, "x", p, true), kerr.ProducerFenced)
	})
}

func TestEndTxn_EmptyAndTwice_RightCodes(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		p := w.producer("x")
		w.wantCode("nothing was added", w.end(3, "x", p, true), kerr.InvalidTxnState)
		w.wantCode("unknown id", w.end(3, "none", p, true), kerr.InvalidProducerIDMapping)
		w.mustAdd("x", p, tp("t", 0))
		w.wantCode("commit", w.end(3, "x", p, true), nil)
		w.wantState("x", "CompleteCommit")
		w.wantCode("again", w.end(3, "x", p, true), nil)
		w.wantCode("abort after commit", w.end(3, "x", p, false), kerr.InvalidTxnState)
	})
}

func TestAddPartitions_SomeRefused_NoneAdded(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		p := w.producer("x")
		for v := int16(0); v <= 5; v++ {
			got := w.add(addReq(v, "x", p, false, tp("t", 0), tp("t", 99), tp("secret", 0), tp("u", 0)))
			want := []int16{
				kerr.OperationNotAttempted.Code, kerr.UnknownTopicOrPartition.Code, kerr.TopicAuthorizationFailed.Code,
				kerr.OperationNotAttempted.Code,
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("v%d: %s", v, d)
			}
		}
		w.wantState("x", "Empty")
	})
}

func TestAddPartitions_Verify_ByVersion(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		p := w.producer("x")
		w.mustAdd("x", p, tp("t", 0))
		for v, want := range map[int16]int16{4: kerr.InvalidTxnState.Code, 5: kerr.TransactionAbortable.Code} {
			got := w.add(addReq(v, "x", p, true, tp("t", 0), tp("t", 1)))
			if d := cmp.Diff([]int16{0, want}, got); d != "" {
				t.Errorf("v%d: %s", v, d)
			}
		}
		w.wantState("x", "Ongoing")
		got := w.add(addReq(5, "x", txn.Producer{ID: p.ID + 9}, true, tp("t", 0)))
		w.wantCode("another producer", got[0], kerr.InvalidProducerIDMapping)
	})
}

func TestAddOffsets_Group_PartitionOfItsTopic(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		p := w.producer("x")
		o := kmsg.NewPtrAddOffsetsToTxnRequest()
		o.Version, o.TransactionalID, o.ProducerID, o.ProducerEpoch, o.Group = 3, "x", p.ID, p.Epoch, "g"
		w.wantCode("add", w.x.AddOffsets(w.ctx(), o).ErrorCode, nil)
		w.wantCode("commit", w.end(3, "x", p, true), nil)
		synctest.Wait()
		if w.written[fmt.Sprintf("%d/0 __consumer_offsets-3 true", p.ID)] != 1 {
			t.Errorf("markers %v", w.written)
		}
	})
}

func TestMarkers_TopicDeleted_TransactionCompletes(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		p := w.producer("x")
		w.mustAdd("x", p, tp("t", 0), tp("u", 1))
		w.set(func() { w.answer[tp("u", 1)] = kerr.UnknownTopicOrPartition })
		w.wantCode("commit", w.end(3, "x", p, true), nil)
		time.Sleep(time.Second)
		w.wantState("x", "PrepareCommit")
		w.set(func() { w.missing["u"] = true })
		time.Sleep(time.Second)
		w.wantState("x", "CompleteCommit")
	})
}

func TestMarkers_PartitionsInTrouble_TriedUntilWritten(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		p := w.producer("x")
		w.mustAdd("x", p, tp("t", 0), tp("t", 1), tp("t", 2), tp("u", 0), tp("old", 0))
		w.set(func() {
			w.down[2] = true
			w.orphans["u"] = true
			w.answer[tp("t", 1)] = kerr.NotEnoughReplicas
			w.answer[tp("old", 0)] = kerr.UnsupportedForMessageFormat
		})
		w.wantCode("commit", w.end(3, "x", p, true), nil)
		time.Sleep(time.Second)
		w.wantState("x", "PrepareCommit")
		w.set(func() { w.down[2] = false; w.orphans["u"] = false; delete(w.answer, tp("t", 1)) })
		time.Sleep(time.Second)
		w.wantState("x", "CompleteCommit")
		for _, at := range []string{"t-0", "t-1", "t-2", "u-0"} {
			if n := w.written[fmt.Sprintf("%d/0 %s true", p.ID, at)]; n != 1 {
				t.Errorf("%s has %d markers", at, n)
			}
		}
	})
}

// A partition that has heard of a newer coordinator refuses; the job ends, and with it the tries.
func TestMarkers_CoordinatorFenced_GivenUp(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		p := w.producer("x")
		w.mustAdd("x", p, tp("t", 0), tp("t", 1))
		w.set(func() { w.answer[tp("t", 0)] = kerr.TransactionCoordinatorFenced; w.down[1] = true })
		w.wantCode("commit", w.end(3, "x", p, true), nil)
		time.Sleep(time.Second)
		w.x.sender.mu.Lock()
		jobs, parked := len(w.x.sender.mu.jobs), len(w.x.sender.mu.parked)
		w.x.sender.mu.Unlock()
		if jobs != 0 || parked != 0 {
			t.Errorf("%d jobs and %d deliveries are left", jobs, parked)
		}
	})
}

// Two hundred ids commit at once, one broker is down for a while, and the coordinator moves while markers are on their way:
// every id completes and may begin again.
func TestMarkers_ManyCommitsBrokerDownCoordinatorMoves_AllComplete(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		ids := map[string]txn.Producer{}
		for i := range 200 {
			id := fmt.Sprintf("id-%d", i)
			ids[id] = w.producer(id)
			w.mustAdd(id, ids[id], tp("t", int32(i%10)), tp("u", int32(i%7)))
		}
		w.set(func() { w.down[1] = true })
		var ends []<-chan int16
		for id, p := range ids {
			ends = append(ends, async(func() int16 { return w.end(3, id, p, true) }))
		}
		for _, e := range ends {
			w.wantCode("commit", <-e, nil)
		}
		time.Sleep(time.Second)
		w.elect()
		time.Sleep(time.Second)
		w.set(func() { w.down[1] = false })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for id, p := range ids {
			if s := w.state(id); s != "CompleteCommit" {
				t.Fatalf("%s is %s", id, s)
			}
			w.mustAdd(id, p, tp("t", 0))
		}
	})
}

// A partition that is led elsewhere now: its markers are not this broker's business any more.
func TestResigned_MarkersOnTheirWay_Dropped(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		p := w.producer("x")
		w.mustAdd("x", p, tp("t", 1))
		w.set(func() { w.down[1] = true })
		w.wantCode("commit", w.end(3, "x", p, true), nil)
		w.x.Resigned(w.x.PartitionFor("x"), w.epoch+1)
		w.set(func() { w.down[1] = false })
		time.Sleep(time.Second)
		if len(w.written) != 0 {
			t.Errorf("markers %v", w.written)
		}
		w.wantCode("end", w.end(3, "x", p, true), kerr.NotCoordinator)
	})
}

func TestListTransactions_Filters_AsAsked(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		w.producer("a")
		b := w.producer("b")
		w.mustAdd("b", b, tp("t", 0))
		time.Sleep(5 * time.Second)
		c := w.producer("c")
		w.mustAdd("c", c, tp("t", 0))
		list := func(change func(*kmsg.ListTransactionsRequest)) (ids, unknown []string) {
			r := kmsg.NewPtrListTransactionsRequest()
			r.Version = 1
			change(r)
			resp := w.x.ListTransactions(w.ctx(), r)
			w.wantCode("list", resp.ErrorCode, nil)
			for _, s := range resp.TransactionStates {
				ids = append(ids, s.TransactionalID)
			}
			slices.Sort(ids)
			return ids, resp.UnknownStateFilters
		}
		for _, c := range []struct {
			name    string
			change  func(*kmsg.ListTransactionsRequest)
			want    []string
			unknown []string
		}{
			{"all", func(*kmsg.ListTransactionsRequest) {}, []string{"a", "b", "c"}, nil},
			{"by state", func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Ongoing"} }, []string{"b", "c"}, nil},
			{"unknown state", func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Odd"} }, nil, []string{"Odd"}},
			{"by producer", func(r *kmsg.ListTransactionsRequest) { r.ProducerIDFilters = []int64{b.ID} }, []string{"b"}, nil},
			{"by age", func(r *kmsg.ListTransactionsRequest) {
				r.StateFilters, r.DurationFilterMillis = []string{"Ongoing"}, 1000
			}, []string{"b"}, nil},
		} {
			ids, unknown := list(c.change)
			if d := cmp.Diff(c.want, ids) + cmp.Diff(c.unknown, unknown); d != "" {
				t.Errorf("%s: %s", c.name, d)
			}
		}
	})
}

func TestDescribeTransactions_UnknownAndEmpty_RightCodes(t *testing.T) {
	inTxnWorld(t, func(t *testing.T, w *txnWorld) {
		p := w.producer("x")
		w.mustAdd("x", p, tp("t", 0), tp("t", 1), tp("u", 2))
		r := kmsg.NewPtrDescribeTransactionsRequest()
		r.TransactionalIDs = []string{"none", "", "x"}
		got := w.x.DescribeTransactions(w.ctx(), r).TransactionStates
		w.wantCode("unknown", got[0].ErrorCode, kerr.TransactionalIDNotFound)
		w.wantCode("empty", got[1].ErrorCode, kerr.InvalidRequest)
		topics := map[string][]int32{}
		for _, t := range got[2].Topics {
			topics[t.Topic] = t.Partitions
		}
		if d := cmp.Diff(map[string][]int32{"t": {0, 1}, "u": {2}}, topics); d != "" || got[2].State != "Ongoing" || got[2].TimeoutMillis != 60_000 {
			t.Errorf("%+v %s", got[2], d)
		}
	})
}
