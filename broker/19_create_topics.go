package broker

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/config"
	"jackdaw/controller"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/security/acl"
)

// CreateTopics (19), v0-7. Kafka: KafkaApis.handleCreateTopicsRequest, ZkAdminManager.createTopics.
// Differs from Kafka: replicas are placed by least used.   Pipelined: no.   Cost: a few ZooKeeper writes a topic; waits for leaders.
func (b *Broker) handleCreateTopics(r *network.Request) {
	req := r.Body.(*kmsg.CreateTopicsRequest)
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	resp.Topics = make([]kmsg.CreateTopicsResponseTopic, len(req.Topics))
	var wanted []controller.NewTopic
	slots := map[string]*kmsg.CreateTopicsResponseTopic{}
	seen := countNames(req.Topics, func(t *kmsg.CreateTopicsRequestTopic) string { return t.Topic })
	for i := range req.Topics {
		t, out := &req.Topics[i], &resp.Topics[i]
		out.Default()
		out.Topic = t.Topic
		out.NumPartitions, out.ReplicationFactor = -1, -1
		if err := b.refusedCreation(r, t.Topic, seen[t.Topic]); err != nil {
			createTopicFailed(out, err)
			out.ConfigErrorCode = b.hiddenConfig(r, t.Topic)
			continue
		}
		topic, err := b.newTopic(t)
		if err != nil {
			createTopicFailed(out, err)
			continue
		}
		slots[t.Topic] = out
		wanted = append(wanted, topic)
	}
	timeout := time.Duration(req.TimeoutMillis) * time.Millisecond
	charge := b.quotas.newMutation(r, 6)
	if !req.ValidateOnly {
		wanted = slices.DeleteFunc(wanted, func(t controller.NewTopic) bool {
			err := charge.Charge(max(int(t.NumPartitions), len(t.Assignment)))
			if err != nil {
				createTopicFailed(slots[t.Name], err)
			}
			return err != nil
		})
	}
	charge.Throttle()
	for i, res := range b.createTopics(r.Context(), wanted, req.ValidateOnly, timeout) {
		b.fillCreatedTopic(r, slots[res.Name], res, wanted[i].Configs)
	}
	r.Respond(resp)
}

// refusedCreation says why a topic is refused before its settings are looked at.
func (b *Broker) refusedCreation(r *network.Request, name string, times int) error {
	switch {
	case !b.controller.Active():
		return nil // which comes first
	case times > 1:
		return protocol.WithMessage(kerr.InvalidRequest, "Found multiple entries for this topic.")
	case !b.may(r, acl.Create, acl.Cluster, acl.ClusterName) && b.denied(r, acl.Create, acl.Topic, name) != nil:
		return protocol.WithMessage(kerr.TopicAuthorizationFailed, "Authorization failed.")
	}
	return nil
}

// hiddenConfig is the code that stands for the settings of a created topic where the client may not see them.
func (b *Broker) hiddenConfig(r *network.Request, name string) int16 {
	if b.may(r, acl.DescribeConfigs, acl.Topic, name) {
		return 0
	}
	return kerr.TopicAuthorizationFailed.Code
}

// newTopic checks what can be checked without the controller's state.
func (b *Broker) newTopic(t *kmsg.CreateTopicsRequestTopic) (controller.NewTopic, error) {
	out := controller.NewTopic{
		Name: t.Topic, NumPartitions: t.NumPartitions, RF: int32(t.ReplicationFactor),
		Configs: map[string]string{},
	}
	if !b.controller.Active() {
		return out, kerr.NotController
	}
	var nulls []string
	for _, c := range t.Configs {
		if c.Value == nil {
			nulls = append(nulls, c.Name)
			continue
		}
		out.Configs[c.Name] = *c.Value
	}
	if err := config.NullTopicConfigs(nulls); err != nil {
		return out, err
	}
	if len(t.ReplicaAssignment) > 0 {
		if t.NumPartitions != -1 || t.ReplicationFactor != -1 {
			return out, protocol.WithMessage(kerr.InvalidRequest,
				"Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the same time.")
		}
		out.Assignment = map[int32][]metadata.BrokerID{}
		for _, a := range t.ReplicaAssignment {
			out.Assignment[a.Partition] = brokerIDs(a.Replicas)
		}
	} else {
		if t.NumPartitions == -1 {
			out.NumPartitions = b.cfg.NumPartitions
		}
		if t.ReplicationFactor == -1 {
			out.RF = b.cfg.ReplicationFactor
		}
	}
	return out, b.topics.broker.Load().ValidateTopic(out.Configs)
}

// createTopics has the controller write the topics, then waits until the own metadata shows a leader for each partition.
// A topic that takes longer than the timeout answers REQUEST_TIMED_OUT while its creation goes on.
func (b *Broker) createTopics(ctx context.Context, topics []controller.NewTopic, validateOnly bool, timeout time.Duration) []controller.CreateResult {
	if len(topics) == 0 {
		return nil
	}
	results := b.controller.CreateTopics(ctx, topics, validateOnly)
	if validateOnly {
		return results
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for i := range results {
		res := &results[i]
		if res.Err != nil {
			continue
		}
		if timeout <= 0 || b.cache.Wait(ctx, func(m *metadata.Image) bool { return hasLeaders(m, res.Name, res.NumPartitions) }) != nil {
			res.Err = kerr.RequestTimedOut
		}
	}
	return results
}

func hasLeaders(m *metadata.Image, topic string, partitions int32) bool {
	t, ok := m.Topic(topic)
	if !ok || int32(len(t.Partitions)) < partitions {
		return false
	}
	for _, p := range t.Partitions {
		if p.Leader < 0 {
			return false
		}
	}
	return true
}

func createTopicFailed(out *kmsg.CreateTopicsResponseTopic, err error) {
	out.ErrorCode = protocol.ErrorCode(err)
	out.ErrorMessage = protocol.ClientMessage(err)
	if out.ErrorCode == kerr.NotController.Code {
		out.ErrorMessage = new(string)
	}
	out.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
}

func (b *Broker) fillCreatedTopic(r *network.Request, out *kmsg.CreateTopicsResponseTopic, res controller.CreateResult, configs map[string]string) {
	if res.Err != nil {
		createTopicFailed(out, res.Err)
		return
	}
	out.TopicID = res.ID
	if out.ConfigErrorCode = b.hiddenConfig(r, res.Name); out.ConfigErrorCode != 0 {
		return
	}
	out.NumPartitions, out.ReplicationFactor = res.NumPartitions, int16(res.RF)
	for _, c := range b.loaded.DescribeTopic(configs, config.Dynamic{}, nil) {
		out.Configs = append(out.Configs, kmsg.CreateTopicsResponseTopicConfig{
			Name: c.Name, Value: c.Value, ReadOnly: c.ReadOnly, Source: int8(c.Source), IsSensitive: c.Sensitive,
		})
	}
}

// countNames tells how often each name comes in a request: twins are refused, all of them.
func countNames[T any](items []T, name func(*T) string) map[string]int {
	n := make(map[string]int, len(items))
	for i := range items {
		n[name(&items[i])]++
	}
	return n
}
