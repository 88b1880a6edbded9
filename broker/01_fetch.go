package broker

import (
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/quota"
	"jackdaw/replication"
)

// Fetch (1), v0-17. Kafka: KafkaApis.handleFetchRequest. Sessions KIP-227, nearest replica KIP-392, diverging epoch KIP-595,
// topic ids KIP-516, replica state KIP-903, leaders in errors KIP-951, down-conversion KIP-283.
// Differs from Kafka: of converted records (v0-3) one answer holds what 8 MiB of the log become; a limit below the first batch
// gives a cut message (v0-2), not nothing; zstd behind other batches does not hide them (v0-9).
// Pipelined: no.   Cost: the frame and what small ranges are copied; record bytes go from the page cache to the socket.
func (b *Broker) handleFetch(r *network.Request) {
	req := r.Body.(*kmsg.FetchRequest)
	c := fetchCalls.Get().(*fetchCall)
	c.b, c.r, c.version = b, r, req.Version
	replica, epoch := req.ReplicaID, int64(-1)
	if req.Version >= 15 {
		replica, epoch = req.ReplicaState.ID, req.ReplicaState.Epoch
	}
	session, err := b.replicas.Sessions().Begin(c.session(req, replica >= 0))
	if err != nil {
		c.resp.ErrorCode = protocol.ErrorCode(err)
		c.send()
		return
	}
	c.context = session
	maxBytes := min(req.MaxBytes, b.cfg.FetchMaxBytes)
	if c.follower = replica >= 0; !c.follower {
		maxBytes = b.quotas.MostFetched(r, maxBytes)
	}
	b.replicas.Fetch(replication.FetchRequest{
		Replica:       metadata.BrokerID(replica),
		ReplicaEpoch:  epoch,
		MaxWait:       time.Duration(req.MaxWaitMillis) * time.Millisecond,
		MinBytes:      min(req.MinBytes, maxBytes),
		MaxBytes:      maxBytes,
		ReadCommitted: req.IsolationLevel == 1,
		HardMaxBytes:  req.Version <= 2,
		AnyReplica:    req.Version >= 11,
		Rack:          req.Rack,
		Partitions:    b.readable(r, c.follower, session.Partitions()),
	}, c.fetched)
}

// fetchCall is one Fetch on its way. It is pooled: its slices and the writer's memory serve the next request once the
// answer has been sent.
type fetchCall struct {
	b       *Broker
	r       *network.Request
	version int16
	// follower: the request is a broker's, which quotas do not concern.
	follower bool
	context  *replication.FetchContext
	// results hold the pins on segment files until the answer is sent.
	results    []replication.FetchResult
	resp       protocol.FetchResponse
	partitions []protocol.FetchPartition
	asked      []replication.FetchPartition
	writer     protocol.FetchWriter
	// converted counts the bytes of the log that this answer has in an older message format.
	converted int
}

var fetchCalls = sync.Pool{New: func() any { return &fetchCall{} }}

// session reads the part of the request that sessions are about.
func (c *fetchCall) session(req *kmsg.FetchRequest, follower bool) replication.SessionRequest {
	image := c.b.cache.Image()
	name := func(id metadata.TopicID) (string, bool) {
		t, ok := image.TopicByID(id)
		if !ok {
			return "", false
		}
		return t.Name, true
	}
	c.asked = c.asked[:0]
	for i := range req.Topics {
		t := &req.Topics[i]
		topic, id := topicOf(req.Version, t.Topic, t.TopicID, image)
		for j := range t.Partitions {
			c.asked = append(c.asked, fetchPartition(req.Version, topic, id, &t.Partitions[j]))
		}
	}
	s := replication.SessionRequest{
		Version: req.Version, ID: req.SessionID, Epoch: req.SessionEpoch, Follower: follower, Partitions: c.asked, Name: name,
	}
	for _, t := range req.ForgottenTopics {
		topic, id := topicOf(req.Version, t.Topic, t.TopicID, image)
		for _, p := range t.Partitions {
			s.Forgotten = append(s.Forgotten, replication.FetchPartition{TP: metadata.TopicPartition{Topic: topic, Partition: p}, TopicID: id})
		}
	}
	return s
}

// topicOf gives name and id of a topic as a request names it: by id from v13 on, with an empty name where it is unknown.
func topicOf(version int16, name string, id metadata.TopicID, image *metadata.Image) (string, metadata.TopicID) {
	if version < 13 {
		return name, metadata.TopicID{}
	}
	if t, ok := image.TopicByID(id); ok {
		return t.Name, id
	}
	return "", id
}

func fetchPartition(version int16, topic string, id metadata.TopicID, p *kmsg.FetchRequestTopicPartition) replication.FetchPartition {
	out := replication.FetchPartition{
		TP:                 metadata.TopicPartition{Topic: topic, Partition: p.Partition},
		TopicID:            id,
		Offset:             p.FetchOffset,
		CurrentLeaderEpoch: metadata.NoEpoch,
		LastFetchedEpoch:   metadata.NoEpoch,
		LogStartOffset:     -1,
		MaxBytes:           p.PartitionMaxBytes,
	}
	if version >= 5 {
		out.LogStartOffset = p.LogStartOffset
	}
	if version >= 9 {
		out.CurrentLeaderEpoch = metadata.LeaderEpoch(p.CurrentLeaderEpoch)
	}
	if version >= 12 {
		out.LastFetchedEpoch = metadata.LeaderEpoch(p.LastFetchedEpoch)
	}
	return out
}

// fetched takes the results in the order of the session's partitions.
func (c *fetchCall) fetched(results []replication.FetchResult) {
	if delay := c.throttle(results); delay > 0 {
		c.results = results // to be released
		c.r.Throttle(delay)
		c.resp.SessionID, c.resp.ThrottleMs = c.context.Throttled(), int32(delay.Milliseconds())
		c.resp.Topics = c.resp.Topics[:0]
		c.send()
		return
	}
	c.resp.SessionID, c.results = c.context.Finish(results)
	c.partitions = c.partitions[:0]
	for i := range c.results {
		c.partitions = append(c.partitions, c.partition(&c.results[i]))
	}
	c.groupByTopic()
	c.send()
}

// throttle tells for how long a consumer is to be held up. It then gets nothing, and what it would have got is not charged.
func (c *fetchCall) throttle(results []replication.FetchResult) time.Duration {
	q := c.b.quotas
	if c.follower || !q.Active() {
		return 0
	}
	size := fetchHeader
	for i := range results {
		size += fetchHeader + results[i].Records.Size()
	}
	delay := max(q.Use(quota.Fetch, c.r, size), q.RequestDelay(c.r))
	if delay > 0 {
		q.Undo(quota.Fetch, c.r, size)
	}
	return delay
}

// fetchHeader is about what a partition, or the answer as a whole, takes beside records, in bytes.
const fetchHeader = 64

// groupByTopic lays out c.partitions under their topics; neighbors of one topic share an entry.
func (c *fetchCall) groupByTopic() {
	c.resp.Topics = c.resp.Topics[:0]
	for start := 0; start < len(c.results); {
		first := &c.results[start]
		end := start + 1
		for end < len(c.results) && c.results[end].TP.Topic == first.TP.Topic && c.results[end].TopicID == first.TopicID {
			end++
		}
		c.resp.Topics = append(c.resp.Topics, protocol.FetchTopic{
			Topic: first.TP.Topic, TopicID: first.TopicID, Partitions: c.partitions[start:end:end],
		})
		start = end
	}
}

func (c *fetchCall) partition(res *replication.FetchResult) protocol.FetchPartition {
	out := protocol.NoFetchPartition(res.TP.Partition, protocol.ErrorCode(res.Err))
	out.HighWatermark, out.LastStableOffset, out.LogStartOffset = res.HighWatermark, res.LastStableOffset, res.LogStartOffset
	out.PreferredReadReplica = int32(res.PreferredReadReplica)
	if res.Aborted != nil {
		out.Aborted = make([]protocol.AbortedTransaction, len(res.Aborted))
		for i, a := range res.Aborted {
			out.Aborted[i] = protocol.AbortedTransaction(a)
		}
	}
	if res.Diverging != nil {
		out.DivergingEpoch = protocol.DivergingEpoch{Epoch: int32(res.Diverging.Epoch), EndOffset: res.Diverging.EndOffset}
	}
	if res.Err != nil {
		c.leaderHint(&out, res.CurrentLeader)
		return out
	}
	if c.version < 10 {
		return c.oldPartition(out, res)
	}
	out.Records = protocol.FileRange{File: res.Records.File(), Pos: res.Records.Pos(), Len: res.Records.Size()}
	return out
}

// leaderHint tells who leads instead, and from v16 on where.
func (c *fetchCall) leaderHint(out *protocol.FetchPartition, leader replication.LeaderHint) {
	if c.version < 16 || out.ErrorCode != kerr.NotLeaderForPartition.Code && out.ErrorCode != kerr.FencedLeaderEpoch.Code {
		return
	}
	out.CurrentLeader = protocol.LeaderID{LeaderID: int32(leader.ID), LeaderEpoch: int32(leader.Epoch)}
	if e, rack, ok := c.b.endpointFor(leader.ID, c.r.Conn.Listener()); ok {
		c.resp.Nodes = withFetchNode(c.resp.Nodes, protocol.FetchNode{NodeID: int32(leader.ID), Host: e.Host, Port: e.Port, Rack: rack})
	}
}

// withFetchNode adds a broker once, however many partitions it leads: a Java consumer fails for good on a double.
func withFetchNode(nodes []protocol.FetchNode, n protocol.FetchNode) []protocol.FetchNode {
	if slices.ContainsFunc(nodes, func(m protocol.FetchNode) bool { return m.NodeID == n.NodeID }) {
		return nodes
	}
	return append(nodes, n)
}

func (c *fetchCall) send() {
	c.r.RespondParts(c.writer.Build(c.r.Header, &c.resp), c.sent)
}

// sent unpins the segment files and gives the call back.
func (c *fetchCall) sent() {
	for i := range c.results {
		c.results[i].Records.Release()
	}
	clear(c.results)
	clear(c.partitions)
	clear(c.resp.Topics)
	c.b, c.r, c.context, c.results, c.converted = nil, nil, nil, nil, 0
	c.resp = protocol.FetchResponse{Topics: c.resp.Topics[:0]}
	fetchCalls.Put(c)
}
