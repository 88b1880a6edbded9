package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topic is a topic to create.
type Topic struct {
	Name        string
	Partitions  int
	Replication int
	// Configs are the topic's own settings.
	Configs map[string]string
}

// pollEvery is how long Create waits before it looks again whether all leaders are there.
const pollEvery = 100 * time.Millisecond

// createLimit bounds Create: thousands of partitions are thousands of files, and some brokers sync each.
const createLimit = 5 * time.Minute

// Create creates a topic, unless it is there, and waits until every broker knows that every partition has a leader and a
// full ISR.
func Create(ctx context.Context, bootstrap string, t Topic) error {
	ctx, cancel := context.WithTimeout(ctx, createLimit)
	defer cancel()
	asked := false
	for {
		m, err := metadata(ctx, bootstrap, t.Name)
		switch {
		case err == nil && m.ready() && known(ctx, m, t.Name):
			return nil
		case err == nil && m.topic.ErrorCode == kerr.UnknownTopicOrPartition.Code && !asked:
			err = toController(ctx, m, createRequest(t), 4)
			asked = err == nil
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return fmt.Errorf("topic %s has no leaders: %w", t.Name, errors.Join(ctx.Err(), err))
		}
	}
}

// Delete deletes a topic; it is no error if it is not there.
func Delete(ctx context.Context, bootstrap, topic string) error {
	m, err := metadata(ctx, bootstrap, topic)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames, req.TimeoutMillis = []string{topic}, int32(callTimeout/time.Millisecond)
	return toController(ctx, m, req, 3)
}

// known tells whether all brokers have heard of the topic.
func known(ctx context.Context, m meta, topic string) bool {
	for _, addr := range m.brokers {
		if o, err := metadata(ctx, addr, topic); err != nil || !o.ready() {
			return false
		}
	}
	return true
}

func createRequest(t Topic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.Name, int32(t.Partitions), int16(t.Replication)
	for name, value := range t.Configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, kmsg.StringPtr(value)
		rt.Configs = append(rt.Configs, c)
	}
	req.Topics, req.TimeoutMillis = append(req.Topics, rt), int32(callTimeout/time.Millisecond)
	return req
}

// toController sends a request for one topic to the controller.
func toController(ctx context.Context, m meta, req kmsg.Request, version int16) error {
	c, err := dial(ctx, m.brokers[m.controller])
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	resp, err := c.call(req, version)
	if err != nil {
		return err
	}
	var code int16
	switch r := resp.(type) {
	case *kmsg.CreateTopicsResponse:
		code = r.Topics[0].ErrorCode
	case *kmsg.DeleteTopicsResponse:
		code = r.Topics[0].ErrorCode
	}
	if err := kerr.ErrorForCode(code); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		return err
	}
	return nil
}

// meta is what one broker knows about a topic.
type meta struct {
	brokers    map[int32]string
	controller int32
	topic      kmsg.MetadataResponseTopic
}

func metadata(ctx context.Context, bootstrap, topic string) (meta, error) {
	c, err := dial(ctx, bootstrap)
	if err != nil {
		return meta{}, err
	}
	defer func() { _ = c.Close() }()
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, t)
	resp, err := c.call(req, 7)
	if err != nil {
		return meta{}, err
	}
	r := resp.(*kmsg.MetadataResponse)
	m := meta{brokers: make(map[int32]string), controller: r.ControllerID, topic: r.Topics[0]}
	for _, b := range r.Brokers {
		m.brokers[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	return m, nil
}

func (m meta) ready() bool {
	for _, p := range m.topic.Partitions {
		if p.ErrorCode != 0 || m.brokers[p.Leader] == "" || len(p.ISR) < len(p.Replicas) {
			return false
		}
	}
	return m.topic.ErrorCode == 0 && len(m.topic.Partitions) > 0
}

// leaders gives the address of each partition's leader, by partition.
func leaders(ctx context.Context, bootstrap, topic string) ([]string, error) {
	m, err := metadata(ctx, bootstrap, topic)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(m.topic.Partitions))
	for _, p := range m.topic.Partitions {
		if addr := m.brokers[p.Leader]; addr != "" && int(p.Partition) < len(out) {
			out[p.Partition] = addr
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("topic %s: %w", topic, kerr.UnknownTopicOrPartition)
	}
	return out, nil
}
