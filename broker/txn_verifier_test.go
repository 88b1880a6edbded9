package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/internal/run"
	"jackdaw/metadata"
)

func tps(topic string, partitions ...int32) (out []metadata.TopicPartition) {
	for _, p := range partitions {
		out = append(out, metadata.TopicPartition{Topic: topic, Partition: p})
	}
	return out
}

// echo answers each partition with its own number as the code.
func echo(req *kmsg.AddPartitionsToTxnRequest) *kmsg.AddPartitionsToTxnResponse {
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	for _, t := range req.Transactions {
		out := kmsg.AddPartitionsToTxnResponseTransaction{TransactionalID: t.TransactionalID}
		for _, topic := range t.Topics {
			o := kmsg.AddPartitionsToTxnResponseTransactionTopic{Topic: topic.Topic}
			for _, p := range topic.Partitions {
				o.Partitions = append(o.Partitions, kmsg.AddPartitionsToTxnResponseTransactionTopicPartition{Partition: p, ErrorCode: int16(p)})
			}
			out.Topics = append(out.Topics, o)
		}
		resp.Transactions = append(resp.Transactions, out)
	}
	return resp
}

// show prints a request as "id/producer/epoch topic[partitions] ...".
func show(req *kmsg.AddPartitionsToTxnRequest) (out []string) {
	for _, t := range req.Transactions {
		s := fmt.Sprintf("%s/%d/%d", t.TransactionalID, t.ProducerID, t.ProducerEpoch)
		for _, topic := range t.Topics {
			s += fmt.Sprint(" ", topic.Topic, topic.Partitions)
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// What comes while a request is under way goes with the next one, one producer for each transactional id.
func TestTxnVerifier_QuestionsMeanwhile_AreAskedTogether(t *testing.T) {
	group := run.New(t.Context(), slog.New(slog.DiscardHandler))
	defer group.Stop()
	asked := make(chan []string)
	hold := make(chan struct{})
	ask := func(_ context.Context, to metadata.BrokerID, req *kmsg.AddPartitionsToTxnRequest) (*kmsg.AddPartitionsToTxnResponse, error) {
		if to != 3 {
			t.Errorf("asked broker %d", to)
		}
		asked <- show(req)
		<-hold
		return echo(req), nil
	}
	v := newTxnVerifier(group, nil, func(string) (metadata.BrokerID, error) { return 3, nil }, ask)
	answer := make(chan []error)
	go func() { answer <- v.Verify(t.Context(), "w", 9, 0, tps("a", 0)) }()
	<-asked
	for _, x := range []*verification{
		{id: "x", producer: 1, epoch: 0, tps: tps("a", 0, 1)},
		{id: "x", producer: 1, epoch: 0, tps: tps("a", 1, 2)},
		{id: "y", producer: 2, epoch: 5, tps: tps("b", 0)},
		{id: "x", producer: 1, epoch: 1, tps: tps("a", 0)},
	} {
		x.done = make(chan []error, 1)
		v.enqueue(3, x)
	}
	close(hold)
	if diff := cmp.Diff([]string{"x/1/0 a[0 1 2]", "y/2/5 b[0]"}, <-asked); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"x/1/1 a[0]"}, <-asked); diff != "" {
		t.Error(diff)
	}
	if errs := <-answer; errs[0] != nil {
		t.Error(errs)
	}
}

func TestTxnVerifier_Answers_AreToldForEachPartition(t *testing.T) {
	for _, c := range []struct {
		name string
		resp *kmsg.AddPartitionsToTxnResponse
		err  error
		want []error
	}{
		{"the coordinator does not answer", nil, errors.New("connection reset"), []error{kerr.NetworkException, kerr.NetworkException}},
		{
			"the request is refused", &kmsg.AddPartitionsToTxnResponse{ErrorCode: kerr.ClusterAuthorizationFailed.Code}, nil,
			[]error{kerr.ClusterAuthorizationFailed, kerr.ClusterAuthorizationFailed},
		},
		{"a partition is missing in the answer", echo(verifyRequest([]*verification{{id: "x", tps: tps("a", 0)}})), nil, []error{nil, kerr.NetworkException}},
		{
			"fenced", echo(verifyRequest([]*verification{{id: "x", tps: tps("a", 0, int32(kerr.ProducerFenced.Code))}})), nil,
			[]error{nil, kerr.InvalidProducerEpoch},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &verification{id: "x", tps: tps("a", 0, int32(kerr.ProducerFenced.Code))}
			for i, err := range x.answers(c.resp, c.err) {
				if !errors.Is(err, c.want[i]) {
					t.Errorf("partition %d: got %v, want %v", i, err, c.want[i])
				}
			}
		})
	}
}

func TestTxnVerifier_NoCoordinator_IsNotAvailable(t *testing.T) {
	v := newTxnVerifier(nil, nil, func(string) (metadata.BrokerID, error) { return -1, errors.New("none") }, nil)
	if errs := v.Verify(t.Context(), "x", 1, 0, tps("a", 0)); len(errs) != 1 || !errors.Is(errs[0], kerr.CoordinatorNotAvailable) {
		t.Error(errs)
	}
}

func TestProduceVerifyError_CodesOfTheCoordinator_BecomeThoseOfProduce(t *testing.T) {
	for _, c := range []struct {
		err     error
		version int16
		want    error
	}{
		{kerr.TransactionAbortable, 11, kerr.TransactionAbortable},
		{kerr.TransactionAbortable, 10, kerr.InvalidTxnState},
		{kerr.ConcurrentTransactions, 11, kerr.NotEnoughReplicas},
		{kerr.NetworkException, 9, kerr.NotEnoughReplicas},
		{kerr.NotCoordinator, 9, kerr.NotEnoughReplicas},
		{kerr.CoordinatorLoadInProgress, 9, kerr.NotEnoughReplicas},
		{kerr.InvalidProducerEpoch, 9, kerr.InvalidProducerEpoch},
		{kerr.InvalidProducerIDMapping, 9, kerr.InvalidProducerIDMapping},
	} {
		if got := produceVerifyError(c.err, c.version); !errors.Is(got, c.want) {
			t.Errorf("%v in v%d: got %v, want %v", c.err, c.version, got, c.want)
		}
	}
}
