package broker

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/controller"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/security/acl"
)

// CreatePartitions (37), v0-3. Kafka: KafkaApis.handleCreatePartitionsRequest, ZkAdminManager.createPartitions; KIP-195.
// Differs from Kafka: replicas are placed by least used.   Pipelined: no.   Cost: one ZooKeeper write a topic; waits for leaders.
func (b *Broker) handleCreatePartitions(r *network.Request) {
	req := r.Body.(*kmsg.CreatePartitionsRequest)
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	resp.Topics = make([]kmsg.CreatePartitionsResponseTopic, len(req.Topics))
	seen := countNames(req.Topics, func(t *kmsg.CreatePartitionsRequestTopic) string { return t.Topic })
	slots := map[string]*kmsg.CreatePartitionsResponseTopic{}
	var wanted []controller.NewPartitions
	for i := range req.Topics {
		t, out := &req.Topics[i], &resp.Topics[i]
		out.Topic = t.Topic
		var err error
		switch {
		case !b.controller.Active():
			err = kerr.NotController
		case seen[t.Topic] > 1:
			err = protocol.WithMessage(kerr.InvalidRequest, "Duplicate topic in request.")
		case b.denied(r, acl.Alter, acl.Topic, t.Topic) != nil:
			err = protocol.WithMessage(kerr.TopicAuthorizationFailed, "The topic authorization is failed.")
		}
		if err != nil {
			out.ErrorCode, out.ErrorMessage = protocol.ErrorCode(err), protocol.ErrorMessage(err)
			continue
		}
		slots[t.Topic] = out
		wanted = append(wanted, newPartitions(t))
	}
	charge := b.quotas.newMutation(r, 3)
	if !req.ValidateOnly {
		wanted = slices.DeleteFunc(wanted, func(p controller.NewPartitions) bool {
			topic, _ := b.cache.Image().Topic(p.Topic)
			err := charge.Charge(max(int(p.Count)-partitionCount(topic), 0))
			slots[p.Topic].ErrorCode, slots[p.Topic].ErrorMessage = protocol.ErrorCode(err), protocol.ErrorMessage(err)
			return err != nil
		})
	}
	charge.Throttle()
	timeout := time.Duration(req.TimeoutMillis) * time.Millisecond
	for _, res := range b.createPartitions(r.Context(), wanted, req.ValidateOnly, timeout) {
		out := slots[res.Topic]
		out.ErrorCode, out.ErrorMessage = protocol.ErrorCode(res.Err), protocol.ErrorMessage(res.Err)
	}
	// A topic that is named twice is refused once.
	told := map[string]bool{}
	resp.Topics = slices.DeleteFunc(resp.Topics, func(t kmsg.CreatePartitionsResponseTopic) bool {
		again := told[t.Topic]
		told[t.Topic] = true
		return again
	})
	r.Respond(resp)
}

func newPartitions(t *kmsg.CreatePartitionsRequestTopic) controller.NewPartitions {
	out := controller.NewPartitions{Topic: t.Topic, Count: t.Count}
	if t.Assignment != nil {
		out.Assignment = make([][]metadata.BrokerID, 0, len(t.Assignment))
	}
	for _, a := range t.Assignment {
		out.Assignment = append(out.Assignment, brokerIDs(a.Replicas))
	}
	return out
}

// createPartitions has the controller add the partitions, then waits until the own metadata shows their leaders.
func (b *Broker) createPartitions(ctx context.Context, wanted []controller.NewPartitions, validateOnly bool, timeout time.Duration) []controller.PartitionsResult {
	if len(wanted) == 0 {
		return nil
	}
	results := b.controller.CreatePartitions(ctx, wanted, validateOnly)
	if validateOnly {
		return results
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for i := range results {
		if results[i].Err != nil {
			continue
		}
		ready := func(m *metadata.Image) bool { return hasLeaders(m, wanted[i].Topic, wanted[i].Count) }
		if timeout <= 0 || b.cache.Wait(ctx, ready) != nil {
			results[i].Err = kerr.RequestTimedOut
		}
	}
	return results
}
