package state

import (
	"cmp"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
)

// Request is a control request for one broker. Requests to one broker must be sent in the order they come.
type Request struct {
	// Broker is the receiver. Its Epoch tells its lives apart: the request is void once it has registered anew.
	Broker metadata.Broker
	// Body is a LeaderAndIsr, UpdateMetadata or StopReplica request. Several requests may share parts of it: read only.
	Body kmsg.Request
}

// batch collects what the brokers must be told after a step. Kafka: ControllerBrokerRequestBatch.
type batch struct {
	// leads has, by broker, the partitions for LeaderAndIsr, and whether they are new there.
	leads map[metadata.BrokerID]map[*partition]bool
	// tells are the partitions for UpdateMetadata, which goes to all brokers of audience.
	tells map[*partition]struct{}
	// audience is nil for "no UpdateMetadata"; everybody overrules it.
	audience  map[metadata.BrokerID]struct{}
	everybody bool
	// stops has, by broker, the partitions for StopReplica, and whether they are to be deleted.
	stops map[metadata.BrokerID]map[*partition]bool
}

// lead sends the state of p to the replicas; to those in fresh as a new one. All brokers get it as metadata.
func (b *batch) lead(p *partition, replicas, fresh []metadata.BrokerID) {
	if !p.known {
		return
	}
	for _, id := range replicas {
		m := sub(&b.leads, id)
		m[p] = m[p] || slices.Contains(fresh, id)
	}
	b.tell(p)
}

// tell sends the metadata of p to all brokers. Nothing is told of a partition that never had a leader.
func (b *batch) tell(p *partition) {
	b.everybody = true
	if !p.known {
		return
	}
	if b.tells == nil {
		b.tells = map[*partition]struct{}{}
	}
	b.tells[p] = struct{}{}
}

// tellBrokers sends the list of live brokers to some.
func (b *batch) tellBrokers(ids []metadata.BrokerID) {
	if b.audience == nil {
		b.audience = map[metadata.BrokerID]struct{}{}
	}
	for _, id := range ids {
		b.audience[id] = struct{}{}
	}
}

// stop tells one broker to stop its replica of p, and to delete it.
func (b *batch) stop(p *partition, id metadata.BrokerID, remove bool) {
	m := sub(&b.stops, id)
	m[p] = m[p] || remove
}

func sub(m *map[metadata.BrokerID]map[*partition]bool, id metadata.BrokerID) map[*partition]bool {
	if *m == nil {
		*m = map[metadata.BrokerID]map[*partition]bool{}
	}
	inner := (*m)[id]
	if inner == nil {
		inner = map[*partition]bool{}
		(*m)[id] = inner
	}
	return inner
}

// flush turns the batch into requests: to each broker LeaderAndIsr, then UpdateMetadata, then StopReplica. Brokers that are
// not alive get none.
func (s *State) flush() {
	b := s.batch
	s.batch = batch{}
	for _, id := range slices.Sorted(maps.Keys(b.leads)) {
		if br := s.brokers[id]; br != nil {
			s.send(br, s.leaderAndISR(br, b.leads[id]))
		}
	}
	s.flushMetadata(b)
	for _, id := range slices.Sorted(maps.Keys(b.stops)) {
		if br := s.brokers[id]; br != nil {
			s.stopReplicas(br, b.stops[id])
		}
	}
}

func (s *State) flushMetadata(b batch) {
	to := s.brokerIDs()
	if !b.everybody {
		to = slices.Sorted(maps.Keys(b.audience))
	}
	if len(to) == 0 {
		return
	}
	req := s.updateMetadata(sortedKeys(b.tells))
	for _, id := range to {
		if br := s.brokers[id]; br != nil {
			r := *req // the lists are shared
			r.BrokerEpoch = br.Epoch
			s.send(br, &r)
		}
	}
}

func (s *State) send(b *broker, body kmsg.Request) {
	s.out = append(s.out, Request{Broker: b.Broker, Body: body})
}

func sortedKeys[V any](m map[*partition]V) []*partition {
	out := slices.Collect(maps.Keys(m))
	sortPartitions(out)
	return out
}

// leaderAndISR builds the request for one broker. Kafka: LeaderAndIsrRequest.
func (s *State) leaderAndISR(b *broker, ps map[*partition]bool) *kmsg.LeaderAndISRRequest {
	req := kmsg.NewPtrLeaderAndISRRequest()
	req.Version = s.cfg.IBP.leaderAndISRVersion()
	req.ControllerID = int32(s.cfg.ID)
	req.ControllerEpoch = s.cfg.Epoch
	req.BrokerEpoch = b.Epoch
	leaders := map[metadata.BrokerID]struct{}{}
	for _, p := range sortedKeys(ps) {
		leaders[p.li.Leader] = struct{}{}
		s.addLeaderAndISR(req, p, ps[p])
	}
	for _, id := range slices.Sorted(maps.Keys(leaders)) {
		leader := s.brokers[id]
		if leader == nil {
			continue
		}
		ll := kmsg.NewLeaderAndISRRequestLiveLeader()
		ll.BrokerID = int32(id)
		if e, ok := leader.Endpoint(s.cfg.Listener); ok {
			ll.Host, ll.Port = e.Host, e.Port
		}
		req.LiveLeaders = append(req.LiveLeaders, ll)
	}
	return req
}

func (s *State) addLeaderAndISR(req *kmsg.LeaderAndISRRequest, p *partition, fresh bool) {
	st := kmsg.NewLeaderAndISRRequestTopicPartition()
	st.Topic = p.Topic
	st.Partition = p.Partition
	st.ControllerEpoch = p.li.ControllerEpoch
	st.Leader = int32(p.li.Leader)
	st.LeaderEpoch = int32(p.li.LeaderEpoch)
	st.ISR = ints(p.li.ISR)
	st.ZKVersion = p.li.PartitionEpoch
	st.Replicas = ints(p.Replicas)
	st.AddingReplicas = ints(p.Adding)
	st.RemovingReplicas = ints(p.Removing)
	st.IsNew = fresh
	st.LeaderRecoveryState = int8(p.li.Recovery)
	if req.Version < 2 {
		req.PartitionStates = append(req.PartitionStates, st)
		return
	}
	if n := len(req.TopicStates); n == 0 || req.TopicStates[n-1].Topic != p.Topic {
		t := kmsg.NewLeaderAndISRRequestTopicState()
		t.Topic = p.Topic
		t.TopicID = s.topics[p.Topic].id
		req.TopicStates = append(req.TopicStates, t)
	}
	t := &req.TopicStates[len(req.TopicStates)-1]
	t.PartitionStates = append(t.PartitionStates, st)
}

// updateMetadata builds the request for all brokers, without a broker epoch. Kafka: UpdateMetadataRequest.
func (s *State) updateMetadata(ps []*partition) *kmsg.UpdateMetadataRequest {
	req := kmsg.NewPtrUpdateMetadataRequest()
	req.Version = s.cfg.IBP.updateMetadataVersion()
	req.ControllerID = int32(s.cfg.ID)
	req.ControllerEpoch = s.cfg.Epoch
	for _, p := range ps {
		s.addMetadata(req, p)
	}
	for _, id := range s.brokerIDs() {
		req.LiveBrokers = append(req.LiveBrokers, s.liveBroker(req.Version, s.brokers[id]))
	}
	return req
}

func (s *State) addMetadata(req *kmsg.UpdateMetadataRequest, p *partition) {
	st := kmsg.NewUpdateMetadataRequestTopicPartition()
	st.Topic = p.Topic
	st.Partition = p.Partition
	st.ControllerEpoch = p.li.ControllerEpoch
	st.Leader = int32(p.li.Leader)
	if s.dying(p.Topic) {
		st.Leader = int32(metadata.LeaderDuringDelete)
	}
	st.LeaderEpoch = int32(p.li.LeaderEpoch)
	st.ISR = ints(p.li.ISR)
	st.ZKVersion = p.li.PartitionEpoch
	st.Replicas = ints(p.Replicas)
	st.OfflineReplicas = ints(only(p.Replicas, func(id metadata.BrokerID) bool { return !s.online(id, p.TopicPartition) }))
	if req.Version < 5 {
		req.PartitionStates = append(req.PartitionStates, st)
		return
	}
	if n := len(req.TopicStates); n == 0 || req.TopicStates[n-1].Topic != p.Topic {
		t := kmsg.NewUpdateMetadataRequestTopicState()
		t.Topic = p.Topic
		t.TopicID = s.topics[p.Topic].id
		req.TopicStates = append(req.TopicStates, t)
	}
	t := &req.TopicStates[len(req.TopicStates)-1]
	t.PartitionStates = append(t.PartitionStates, st)
}

// securityProtocols are the numbers of the wire. Kafka: SecurityProtocol.
var securityProtocols = map[string]int16{"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}

func (s *State) liveBroker(version int16, b *broker) kmsg.UpdateMetadataRequestLiveBroker {
	lb := kmsg.NewUpdateMetadataRequestLiveBroker()
	lb.ID = int32(b.ID)
	if b.Rack != "" {
		rack := b.Rack
		lb.Rack = &rack
	}
	if e, ok := b.Endpoint(s.cfg.Listener); ok {
		lb.Host, lb.Port = e.Host, e.Port
	}
	for _, e := range b.Endpoints {
		// Before version 3 an endpoint is known by its protocol, so there can be one of each.
		if version < 3 && e.Listener != e.Protocol {
			continue
		}
		ep := kmsg.NewUpdateMetadataRequestLiveBrokerEndpoint()
		ep.Host, ep.Port = e.Host, e.Port
		ep.ListenerName = e.Listener
		ep.SecurityProtocol = securityProtocols[e.Protocol]
		lb.Endpoints = append(lb.Endpoints, ep)
	}
	return lb
}

// stopReplicas sends the replicas of one broker that are to stop. Below version 3 a request either deletes all its
// partitions or none, so that two may be needed. Kafka: StopReplicaRequest.
func (s *State) stopReplicas(b *broker, ps map[*partition]bool) {
	version := s.cfg.IBP.stopReplicaVersion()
	if version >= 3 {
		s.send(b, s.stopReplica(b, version, ps, false))
		return
	}
	for _, remove := range []bool{false, true} {
		some := map[*partition]bool{}
		for p, r := range ps {
			if r == remove {
				some[p] = r
			}
		}
		if len(some) > 0 {
			s.send(b, s.stopReplica(b, version, some, remove))
		}
	}
}

func (s *State) stopReplica(b *broker, version int16, ps map[*partition]bool, remove bool) *kmsg.StopReplicaRequest {
	req := kmsg.NewPtrStopReplicaRequest()
	req.Version = version
	req.ControllerID = int32(s.cfg.ID)
	req.ControllerEpoch = s.cfg.Epoch
	req.BrokerEpoch = b.Epoch
	req.DeletePartitions = remove
	for _, p := range sortedKeys(ps) {
		if n := len(req.Topics); version == 0 || n == 0 || req.Topics[n-1].Topic != p.Topic {
			t := kmsg.NewStopReplicaRequestTopic()
			t.Topic = p.Topic
			t.Partition = p.Partition
			req.Topics = append(req.Topics, t)
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p.Partition)
		st := kmsg.NewStopReplicaRequestTopicPartitionState()
		st.Partition = p.Partition
		st.LeaderEpoch = int32(s.stopEpoch(p))
		st.Delete = ps[p]
		t.PartitionStates = append(t.PartitionStates, st)
	}
	return req
}

// stopEpoch is the leader epoch that StopReplica carries: for a topic being deleted there is no check.
func (s *State) stopEpoch(p *partition) metadata.LeaderEpoch {
	switch {
	case s.dying(p.Topic):
		return metadata.EpochDuringDelete
	case !p.known:
		return metadata.NoEpoch
	default:
		return p.li.LeaderEpoch
	}
}

// ints converts ids for the wire; the result is never nil, which some fields may not be.
func ints(ids []metadata.BrokerID) []int32 {
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = int32(id)
	}
	return out
}

// compareBrokers orders by id.
func compareBrokers(a, b metadata.Broker) int { return cmp.Compare(a.ID, b.ID) }
