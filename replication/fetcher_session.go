package replication

import (
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
)

// leaderSession is the follower's side of a fetch session (KIP-227): it remembers what the leader has been told and
// builds requests that hold only what changed. It belongs to one fetcher. Kafka: FetchSessionHandler.
type leaderSession struct {
	id, epoch int32
	// told is what the leader knows of each partition in the session.
	told map[sessionKey]*toldState
	// asked are the partitions of the request under way, whether they are in it or only in the session.
	asked map[sessionKey]*fetchState
	round uint64
	req   *kmsg.FetchRequest
}

// sessionKey names a partition as the wire does: by id, or by name below v13.
type sessionKey struct {
	id        metadata.TopicID
	topic     string
	partition int32
}

// toldState is one partition of the session.
type toldState struct {
	fetchPosition
	round uint64 // of the last request that wanted it
}

// fetchPosition is what a Fetch says about a partition.
type fetchPosition struct {
	offset, logStart int64
	epoch, last      metadata.LeaderEpoch
}

// reset forgets the session, as after a connection was lost.
func (s *leaderSession) reset() {
	s.id, s.epoch = 0, 0
	s.told = map[sessionKey]*toldState{}
}

// position is where the follower stands: it fetches what follows its log end.
func (st *fetchState) position() (pos fetchPosition, ok bool) {
	l := st.p.Log()
	if l == nil {
		return pos, false
	}
	pos = fetchPosition{offset: l.EndOffset(), logStart: l.StartOffset(), epoch: st.epoch, last: metadata.NoEpoch}
	if e, known := l.LatestEpoch(); known {
		pos.last = e
	}
	return pos, true
}

// lastEpochVersion is the first version of Fetch in which a follower tells the epoch of its last record.
const lastEpochVersion = 12

// build makes the next request for the partitions. It is valid until the next build.
func (s *leaderSession) build(cfg *Config, parts []*fetchState) *kmsg.FetchRequest {
	s.round++
	version := cfg.FetchVersion
	for _, st := range parts {
		if st.topicID.IsZero() {
			version = min(version, lastEpochVersion) // newer ones name topics by id only
		}
	}
	s.newRequest(cfg, version)
	if s.asked == nil {
		s.asked = map[sessionKey]*fetchState{}
	}
	clear(s.asked)
	for _, st := range parts {
		pos, ok := st.position()
		if !ok {
			continue
		}
		key := sessionKey{partition: st.p.tp.Partition, topic: st.p.tp.Topic}
		if version >= 13 {
			key.topic, key.id = "", st.topicID
		}
		s.asked[key] = st
		s.want(key, pos, cfg.FetchMaxBytes)
	}
	s.forget()
	return s.req
}

func (s *leaderSession) newRequest(cfg *Config, version int16) {
	if s.req == nil {
		s.req = kmsg.NewPtrFetchRequest()
	}
	if s.req.Version != version && s.id != 0 {
		s.reset() // ids and names do not mix in a session
	}
	r := s.req
	r.Version = version
	r.ReplicaID = int32(cfg.BrokerID)
	if version >= 15 {
		r.ReplicaID = -1
		r.ReplicaState.ID, r.ReplicaState.Epoch = int32(cfg.BrokerID), cfg.BrokerEpoch()
	}
	r.MaxWaitMillis = int32(cfg.FetchWaitMax.Milliseconds())
	r.MinBytes, r.MaxBytes = cfg.FetchMinBytes, cfg.FetchResponseMaxBytes
	r.SessionID, r.SessionEpoch = s.id, s.epoch
	r.Topics, r.ForgottenTopics = r.Topics[:0], r.ForgottenTopics[:0]
	if s.epoch == 0 {
		s.told = map[sessionKey]*toldState{}
	}
}

// want puts a partition into the request if the leader does not know its position yet.
func (s *leaderSession) want(key sessionKey, pos fetchPosition, maxBytes int32) {
	told := s.told[key]
	if told != nil {
		told.round = s.round
		if told.fetchPosition == pos {
			return
		}
		told.fetchPosition = pos
	} else {
		s.told[key] = &toldState{fetchPosition: pos, round: s.round}
	}
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition = key.partition
	p.FetchOffset, p.LogStartOffset = pos.offset, pos.logStart
	p.CurrentLeaderEpoch, p.LastFetchedEpoch = int32(pos.epoch), int32(pos.last)
	p.PartitionMaxBytes = maxBytes
	if n := len(s.req.Topics); n > 0 {
		if last := &s.req.Topics[n-1]; last.Topic == key.topic && last.TopicID == key.id {
			last.Partitions = append(last.Partitions, p)
			return
		}
	}
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = key.topic, key.id
	t.Partitions = append(t.Partitions, p)
	s.req.Topics = append(s.req.Topics, t)
}

// forget drops from the session what this request does not want.
func (s *leaderSession) forget() {
	for key, told := range s.told {
		if told.round == s.round {
			continue
		}
		delete(s.told, key)
		t := kmsg.NewFetchRequestForgottenTopic()
		t.Topic, t.TopicID = key.topic, key.id
		t.Partitions = []int32{key.partition}
		s.req.ForgottenTopics = append(s.req.ForgottenTopics, t)
	}
}

// accept takes the session part of an answer. The error is the one of the request as a whole; after it the session
// starts anew.
func (s *leaderSession) accept(resp *kmsg.FetchResponse) error {
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		s.reset()
		return err
	}
	switch {
	case resp.SessionID == 0: // the leader's cache is full: every request is a full one
		s.reset()
	case s.epoch == math.MaxInt32:
		s.id, s.epoch = resp.SessionID, 1
	default:
		s.id, s.epoch = resp.SessionID, s.epoch+1
	}
	return nil
}
