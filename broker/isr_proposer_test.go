package broker

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/controller/state"
	"jackdaw/metadata"
	"jackdaw/replication"
)

var topicA = metadata.TopicID{1}

func proposal(partition int32, isr ...metadata.BrokerID) replication.Proposal {
	return replication.Proposal{
		TP: metadata.TopicPartition{Topic: "a", Partition: partition}, TopicID: topicA,
		State:        metadata.LeaderAndISR{Leader: 1, LeaderEpoch: 3, ISR: isr, PartitionEpoch: 7},
		BrokerEpochs: make([]int64, len(isr)),
	}
}

// accept answers as a controller that takes every proposal.
func accept(req *kmsg.AlterPartitionRequest) *kmsg.AlterPartitionResponse {
	resp := req.ResponseKind().(*kmsg.AlterPartitionResponse)
	for _, t := range req.Topics {
		out := kmsg.NewAlterPartitionResponseTopic()
		out.Topic, out.TopidID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			op := kmsg.NewAlterPartitionResponseTopicPartition()
			op.Partition, op.LeaderID, op.LeaderEpoch, op.PartitionEpoch = p.Partition, 1, p.LeaderEpoch, p.PartitionEpoch+1
			for _, m := range p.NewEpochISR {
				op.ISR = append(op.ISR, m.BrokerID)
			}
			out.Partitions = append(out.Partitions, op)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

type outcome struct {
	state metadata.LeaderAndISR
	err   error
}

func TestISRProposer_Accepted_StateComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newISRProposer(1, func() int64 { return 42 }, newestIBP(t), func(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
			alter := req.(*kmsg.AlterPartitionRequest)
			if alter.Version != 3 || alter.BrokerEpoch != 42 {
				t.Errorf("got version %d epoch %d, want 3 and 42", alter.Version, alter.BrokerEpoch)
			}
			return accept(alter), nil
		}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = p.Run(ctx) }()
		got := make(chan outcome, 2)
		done := func(s metadata.LeaderAndISR, err error) { got <- outcome{s, err} }
		p.Propose(proposal(0, 1, 2), done)
		p.Propose(proposal(1, 1), done)
		for range 2 {
			if o := <-got; o.err != nil || o.state.PartitionEpoch != 8 || o.state.Leader != 1 {
				t.Errorf("got %+v", o)
			}
		}
	})
}

func TestISRProposer_RefusedAsAWhole_TriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		p := newISRProposer(1, func() int64 { return 1 }, newestIBP(t), func(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
			attempts++
			alter := req.(*kmsg.AlterPartitionRequest)
			switch attempts {
			case 1:
				return nil, errors.New("connection reset")
			case 2:
				resp := req.ResponseKind().(*kmsg.AlterPartitionResponse)
				resp.ErrorCode = kerr.StaleBrokerEpoch.Code
				return resp, nil
			}
			return accept(alter), nil
		}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = p.Run(ctx) }()
		got := make(chan outcome, 1)
		p.Propose(proposal(0, 1, 2), func(s metadata.LeaderAndISR, err error) { got <- outcome{s, err} })
		if o := <-got; o.err != nil || attempts != 3 {
			t.Errorf("got %+v after %d attempts, want success after 3", o, attempts)
		}
	})
}

func TestISRProposer_PartitionMissingInAnswer_NothingIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newISRProposer(1, func() int64 { return 1 }, newestIBP(t), func(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
			return req.ResponseKind(), nil
		}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = p.Run(ctx) }()
		got := make(chan outcome, 1)
		p.Propose(proposal(0, 1), func(s metadata.LeaderAndISR, err error) { got <- outcome{s, err} })
		o := <-got
		if ke := (*kerr.Error)(nil); o.err == nil || errors.As(o.err, &ke) {
			t.Errorf("got %v, want an error that is no wire error", o.err)
		}
	})
}

func newestIBP(t *testing.T) state.IBP {
	t.Helper()
	ibp, err := state.ParseIBP("3.9-IV0")
	if err != nil {
		t.Fatal(err)
	}
	return ibp
}
