package broker

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/security/acl"
)

// UpdateMetadata (6), v0-8. Kafka: KafkaApis.handleUpdateMetadataRequest.
// Pipelined: no.   Cost: the topics named, and a copy of the topic map.
func (b *Broker) handleUpdateMetadata(r *network.Request) {
	req := r.Body.(*kmsg.UpdateMetadataRequest)
	resp := req.ResponseKind().(*kmsg.UpdateMetadataResponse)
	if b.refused(r, b.deniedCluster(r, acl.ClusterAction)) {
		return
	}
	b.control(r, req.BrokerEpoch, req.ControllerEpoch, func(err error) {
		if err == nil {
			err = b.replicas.CheckControllerEpoch(req.ControllerEpoch)
		}
		if err == nil {
			b.applyMetadata(r.Context(), metadataUpdate(req))
		}
		resp.ErrorCode = protocol.ErrorCode(err)
		r.Respond(resp)
	})
}

// applyMetadata takes the update into the cache, then learns the settings of new topics and forgets those of topics that
// are gone.
func (b *Broker) applyMetadata(ctx context.Context, u metadata.Update) {
	before := b.cache.Image()
	b.cache.Apply(u)
	image := b.cache.Image()
	if !sameBrokers(before, image) {
		b.replicas.BrokersChanged()
	}
	names := make([]string, 0, len(u.Topics))
	for i := range u.Topics {
		if name := u.Topics[i].Name; knownTopic(image, name) {
			names = append(names, name)
		} else {
			b.topics.Forget(name)
		}
	}
	b.topics.Learn(ctx, b.zk.Session(), names)
}

// sameBrokers reports whether the same brokers live in both images.
func sameBrokers(x, y *metadata.Image) bool {
	return slices.EqualFunc(x.Brokers(), y.Brokers(), func(a, b metadata.Broker) bool { return a.ID == b.ID })
}

func metadataUpdate(req *kmsg.UpdateMetadataRequest) metadata.Update {
	u := metadata.Update{
		Controller:      metadata.BrokerID(req.ControllerID),
		ControllerEpoch: req.ControllerEpoch,
		Brokers:         make([]metadata.Broker, 0, len(req.LiveBrokers)),
	}
	for i := range req.LiveBrokers {
		u.Brokers = append(u.Brokers, liveBroker(req.Version, &req.LiveBrokers[i]))
	}
	topics := map[string]*metadata.Topic{}
	topic := func(name string, id metadata.TopicID) *metadata.Topic {
		t := topics[name]
		if t == nil {
			t = &metadata.Topic{Name: name, ID: id, Partitions: map[int32]metadata.Partition{}}
			topics[name] = t
		}
		return t
	}
	for i := range req.PartitionStates {
		p := &req.PartitionStates[i]
		topic(p.Topic, metadata.TopicID{}).Partitions[p.Partition] = partitionMetadata(p)
	}
	for i := range req.TopicStates {
		s := &req.TopicStates[i]
		t := topic(s.Topic, s.TopicID)
		for j := range s.PartitionStates {
			t.Partitions[s.PartitionStates[j].Partition] = partitionMetadata(&s.PartitionStates[j])
		}
	}
	for _, t := range topics {
		u.Topics = append(u.Topics, *t)
	}
	return u
}

func partitionMetadata(p *kmsg.UpdateMetadataRequestTopicPartition) metadata.Partition {
	return metadata.Partition{
		LeaderAndISR: metadata.LeaderAndISR{
			ControllerEpoch: p.ControllerEpoch,
			Leader:          metadata.BrokerID(p.Leader),
			LeaderEpoch:     metadata.LeaderEpoch(p.LeaderEpoch),
			ISR:             brokerIDs(p.ISR),
			PartitionEpoch:  p.ZKVersion,
		},
		Replicas: brokerIDs(p.Replicas),
		Offline:  brokerIDs(p.OfflineReplicas),
	}
}

// liveBroker reads one broker; v0 has one PLAINTEXT address, and listeners have names of their own since v3.
func liveBroker(version int16, l *kmsg.UpdateMetadataRequestLiveBroker) metadata.Broker {
	out := metadata.Broker{ID: metadata.BrokerID(l.ID), Epoch: -1, Rack: value(l.Rack)}
	if version == 0 {
		out.Endpoints = []metadata.Endpoint{{Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Host: l.Host, Port: l.Port}}
		return out
	}
	for _, e := range l.Endpoints {
		protocol := securityProtocols[e.SecurityProtocol]
		listener := e.ListenerName
		if version < 3 {
			listener = protocol
		}
		out.Endpoints = append(out.Endpoints, metadata.Endpoint{Listener: listener, Protocol: protocol, Host: e.Host, Port: e.Port})
	}
	return out
}
