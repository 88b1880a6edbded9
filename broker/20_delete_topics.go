package broker

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/security/acl"
	"jackdaw/zkstore/znode"
)

// DeleteTopics (20), v0-6. Kafka: KafkaApis.handleDeleteTopicsRequest. By id since v6 (KIP-516).
// Pipelined: no.   Cost: one znode a topic, then waits for the controller to finish.
func (b *Broker) handleDeleteTopics(r *network.Request) {
	req := r.Body.(*kmsg.DeleteTopicsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	topics := req.Topics
	if req.Version < 6 {
		for i := range req.TopicNames {
			topics = append(topics, kmsg.DeleteTopicsRequestTopic{Topic: &req.TopicNames[i]})
		}
	}
	resp.Topics = make([]kmsg.DeleteTopicsResponseTopic, len(topics))
	seen := countNames(topics, func(t *kmsg.DeleteTopicsRequestTopic) string {
		return value(t.Topic) + metadata.TopicID(t.TopicID).String()
	})
	slots := map[string]*kmsg.DeleteTopicsResponseTopic{}
	charge := b.quotas.newMutation(r, 5)
	for i := range topics {
		t, out := &topics[i], &resp.Topics[i]
		out.Topic, out.TopicID = t.Topic, t.TopicID
		name, err := b.topicToDelete(r, t, req.Version)
		if err == nil && seen[value(t.Topic)+metadata.TopicID(t.TopicID).String()] > 1 {
			err = protocol.WithMessage(kerr.InvalidRequest, "Duplicate topic names are not allowed.")
		}
		if err == nil {
			topic, _ := b.cache.Image().Topic(name)
			err = charge.Charge(partitionCount(topic))
		}
		if err != nil {
			out.ErrorCode, out.ErrorMessage = protocol.ErrorCode(err), nil
			if name != "" {
				out.Topic = &name // of a topic that was named by its id
			}
			continue
		}
		out.Topic = &name
		slots[name] = out
	}
	charge.Throttle()
	for name, err := range b.deleteTopics(r.Context(), slots, time.Duration(req.TimeoutMillis)*time.Millisecond) {
		slots[name].ErrorCode = protocol.ErrorCode(err)
	}
	r.Respond(resp)
}

// topicToDelete resolves the name that is meant. With an error it is the name that the client may be told.
func (b *Broker) topicToDelete(r *network.Request, t *kmsg.DeleteTopicsRequestTopic, version int16) (string, error) {
	id := metadata.TopicID(t.TopicID)
	switch {
	case !b.controller.Active():
		return "", kerr.NotController
	case !b.cfg.DeleteTopics && version < 3:
		return "", kerr.InvalidRequest
	case !b.cfg.DeleteTopics:
		return "", kerr.TopicDeletionDisabled
	case t.Topic != nil && !id.IsZero():
		return "", kerr.InvalidRequest
	case t.Topic == nil:
		topic, ok := b.cache.Image().TopicByID(id)
		if !ok {
			return "", kerr.UnknownTopicID
		}
		if err := b.denied(r, acl.Describe, acl.Topic, topic.Name); err != nil {
			return "", err
		}
		return topic.Name, b.denied(r, acl.Delete, acl.Topic, topic.Name)
	}
	if err := b.denied(r, acl.Delete, acl.Topic, *t.Topic); err != nil {
		return "", err
	}
	if _, ok := b.cache.Image().Topic(*t.Topic); !ok {
		return "", kerr.UnknownTopicOrPartition
	}
	return *t.Topic, nil
}

// deleteTopics marks the topics and waits until they are gone from the metadata.
func (b *Broker) deleteTopics(ctx context.Context, topics map[string]*kmsg.DeleteTopicsResponseTopic, timeout time.Duration) map[string]error {
	names := make([]string, 0, len(topics))
	for name := range topics {
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	errs := b.controller.DeleteTopics(ctx, names)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, name := range names {
		if errs[name] != nil {
			continue
		}
		gone := func(m *metadata.Image) bool { return !knownTopic(m, name) }
		if timeout <= 0 || b.cache.Wait(ctx, gone) != nil {
			errs[name] = kerr.RequestTimedOut
			continue
		}
		b.awaitNameFree(ctx, name)
	}
	return errs
}

// nameFreeTimeout bounds the wait for the end of a deletion that all brokers know of: a dead broker with a replica of the
// topic holds it up for as long as it is dead.
const nameFreeTimeout = time.Second

// awaitNameFree returns when the topic's znode is gone, so that who deleted a topic can create it again at once.
func (b *Broker) awaitNameFree(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, nameFreeTimeout)
	defer cancel()
	for {
		session := b.zk.Session()
		if session == nil {
			return
		}
		exists, _, changed, err := session.ExistsW(ctx, znode.TopicPath(name))
		if err != nil || !exists {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
