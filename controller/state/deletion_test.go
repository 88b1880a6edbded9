package state

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
)

// settle makes all writes succeed and returns what is sent to the brokers.
func settle(s *State) []Request {
	for {
		plan, ok := s.Next()
		if !ok {
			return s.Requests()
		}
		s.Apply(make([]Result, len(plan.Writes)))
	}
}

// A broker comes back while its answer to StopReplica is on the way. That answer, a refusal, is not taken for one to what the
// new life was asked: nothing would ever ask again.
func TestStopReplicaAnswered_FormerLife_DoesNotBlockTheDeletion(t *testing.T) {
	s := New(Config{ID: 1, Epoch: 1, IBP: IBP{Major: 3, Minor: 9}})
	s.Load(Snapshot{
		Brokers: []metadata.Broker{{ID: 1, Epoch: 10}},
		Topics:  map[string]TopicSnapshot{"b": {ID: metadata.TopicID{1}, Partitions: map[int32]Assignment{0: {Replicas: []metadata.BrokerID{1}}}}},
	})
	settle(s)
	s.DeleteTopics([]string{"b"})
	sent := settle(s)
	i := slices.IndexFunc(sent, func(r Request) bool {
		req, ok := r.Body.(*kmsg.StopReplicaRequest)
		return ok && len(deletedBy(req)) > 0
	})
	if i < 0 {
		t.Fatal("the replica is not asked for")
	}
	former := sent[i].Body.(*kmsg.StopReplicaRequest)
	s.SetBrokers([]metadata.Broker{{ID: 1, Epoch: 11}})
	settle(s)
	refusal := kmsg.NewPtrStopReplicaResponse()
	refusal.ErrorCode = 77
	s.StopReplicaAnswered(1, former, refusal)
	settle(s)
	if _, waiting := s.Deleting(); len(waiting) > 0 {
		t.Errorf("topics %v wait for a broker that is there", waiting)
	}
}
