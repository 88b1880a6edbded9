package broker

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/protocol/record"
	"jackdaw/quota"
	"jackdaw/replication"
	"jackdaw/security/acl"
)

// Produce (0), v0-11. Kafka: KafkaApis.handleProduceRequest. Current leader in errors since v10 (KIP-951). Message formats
// 0 and 1 (v0-2) are stored as format 2.
// Differs from Kafka: null records are answered, an unknown codec is INVALID_RECORD.   Pipelined: yes.   Cost: the record bytes, once.
func (b *Broker) handleProduce(r *network.Request) {
	one := [1]*network.Request{r}
	b.produceJoined(one[:])
}

// produceJoined handles Produce requests that have come together: what they have for one partition is written at once.
func (b *Broker) produceJoined(run []*network.Request) {
	j := joinedProduces.Get().(*joinedProduce)
	j.b = b
	for _, r := range run {
		j.add(r, r.Body.(*kmsg.ProduceRequest))
	}
	j.append()
	joinedProduces.Put(j)
}

// joinedProduce collects requests that are appended together, since they ask for the same.
type joinedProduce struct {
	b       *Broker
	options replication.AppendRequest
	calls   []replication.AppendCall
}

var joinedProduces = sync.Pool{New: func() any { return new(joinedProduce) }}

// add takes a request, and appends what was there if both cannot be appended together.
func (j *joinedProduce) add(r *network.Request, req *kmsg.ProduceRequest) {
	c := j.b.newProduceCall(r, req)
	if len(c.entries) == 0 {
		c.answer()
		return
	}
	o := replication.AppendRequest{
		Acks:    req.Acks,
		Timeout: time.Duration(req.TimeoutMillis) * time.Millisecond,
		Origin:  log.Client, AllowZstd: req.Version >= 7, OldFormats: req.Version < 3,
		VerifiedOnly: req.TransactionID != nil && j.b.verifiesTransactions(),
	}
	var waiting []unverified
	if o.VerifiedOnly {
		waiting = c.unverified()
	}
	if len(j.calls) > 0 && (len(waiting) > 0 || !j.takes(&o)) {
		j.append()
	}
	j.options, j.calls = o, append(j.calls, replication.AppendCall{Entries: c.entries, Done: c.done})
	if len(waiting) > 0 {
		c.awaitVerified(r.Context(), *req.TransactionID, waiting)
		j.append() // so that the next ones find the transaction open
	}
}

// takes tells whether a call with these options can be appended with those that are there.
func (j *joinedProduce) takes(o *replication.AppendRequest) bool {
	p := &j.options
	return p.Acks == o.Acks && p.Timeout == o.Timeout && p.AllowZstd == o.AllowZstd && p.OldFormats == o.OldFormats &&
		p.VerifiedOnly == o.VerifiedOnly
}

// append appends what was collected.
func (j *joinedProduce) append() {
	if len(j.calls) == 0 {
		return
	}
	j.b.replicas.AppendJoined(j.options, j.calls)
	clear(j.calls)
	j.calls = j.calls[:0]
}

// newProduceCall begins a request. Its connection may go on with the next one.
func (b *Broker) newProduceCall(r *network.Request, req *kmsg.ProduceRequest) *produceCall {
	c := produceCalls.Get().(*produceCall)
	c.b, c.r, c.acks = b, r, req.Acks
	if c.done == nil {
		c.done = c.appended
	}
	c.prepare(req)
	r.Throttle(b.quotas.Use(quota.Produce, r, r.Size))
	r.Unmute()
	return c
}

// produceCall is one Produce request on its way. The response is laid out first; slots point at the partitions that
// wait for the append of the entry of the same index. It is pooled: its slices serve the next request once this one is
// answered.
type produceCall struct {
	b          *Broker
	r          *network.Request
	resp       kmsg.ProduceResponse
	partitions []kmsg.ProduceResponseTopicPartition // of all topics of resp
	acks       int16
	entries    []replication.AppendEntry
	slots      []*kmsg.ProduceResponseTopicPartition
	failed     error
	done       func([]replication.AppendResult) // appended, made once
}

var produceCalls = sync.Pool{New: func() any { return &produceCall{} }}

// prepare lays out the response and sorts out what needs no log to be refused.
func (c *produceCall) prepare(req *kmsg.ProduceRequest) {
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	c.partitions = slices.Grow(c.partitions, n)[:n]
	c.resp.Version, c.resp.Topics = req.Version, slices.Grow(c.resp.Topics, len(req.Topics))[:len(req.Topics)]
	partitions := c.partitions
	refused := c.b.refuseProduce(c.r, req)
	image := c.b.cache.Image()
	for i := range req.Topics {
		t := &req.Topics[i]
		out := &c.resp.Topics[i]
		out.Topic = t.Topic
		out.Partitions, partitions = partitions[:len(t.Partitions):len(t.Partitions)], partitions[len(t.Partitions):]
		err := refused
		if err == nil {
			err = c.b.denied(c.r, acl.Write, acl.Topic, t.Topic)
		}
		for j := range t.Partitions {
			c.partition(image, req.Version, t.Topic, &t.Partitions[j], &out.Partitions[j], err)
		}
	}
}

// refuseProduce finds what is wrong with the request as a whole; the error goes to every partition.
func (b *Broker) refuseProduce(r *network.Request, req *kmsg.ProduceRequest) error {
	if req.Acks < -1 || req.Acks > 1 {
		return fmt.Errorf("acks %d: %w", req.Acks, kerr.InvalidRequiredAcks)
	}
	if transactional(req) {
		if req.TransactionID == nil {
			return fmt.Errorf("transactional batch without transactional id: %w", kerr.TransactionalIDAuthorizationFailed)
		}
		if err := b.denied(r, acl.Write, acl.TransactionalID, *req.TransactionID); err != nil {
			return err
		}
	}
	if req.TransactionID != nil {
		return refuseMixedProducers(req)
	}
	return nil
}

// transactional tells whether any batch is. Kafka: RequestUtils.hasTransactionalRecords.
func transactional(req *kmsg.ProduceRequest) bool {
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			if b, _, err := record.Next(req.Topics[i].Partitions[j].Records); err == nil && b.Magic() == 2 && b.IsTransactional() {
				return true
			}
		}
	}
	return false
}

func (c *produceCall) partition(image *metadata.Image, version int16, topic string, p *kmsg.ProduceRequestTopicPartition,
	out *kmsg.ProduceResponseTopicPartition, err error,
) {
	out.Partition = p.Partition
	out.BaseOffset, out.LogAppendTime, out.LogStartOffset = -1, -1, -1
	out.CurrentLeader.LeaderID, out.CurrentLeader.LeaderEpoch = -1, -1
	tp := metadata.TopicPartition{Topic: topic, Partition: p.Partition}
	if err == nil {
		if _, ok := image.Partition(tp); !ok {
			err = kerr.UnknownTopicOrPartition
		}
	}
	if err == nil {
		err = checkProduceRecords(version, p.Records)
	}
	if err != nil {
		c.fail(out, err)
		return
	}
	c.entries = append(c.entries, replication.AppendEntry{TP: tp, Records: p.Records})
	c.slots = append(c.slots, out)
}

// checkProduceRecords holds what the request's version allows inside. Kafka: ProduceRequest.validateRecords.
func checkProduceRecords(version int16, records []byte) error {
	if len(records) == 0 {
		return fmt.Errorf("a partition of a Produce request must carry one batch, not none: %w", kerr.InvalidRecord)
	}
	b, rest, err := record.Next(records)
	if err != nil {
		return malformedBatch(records)
	}
	if version < 3 && b.Magic() < 2 {
		return nil // a message set, of any number of messages
	}
	switch {
	case b.Magic() != 2:
		return fmt.Errorf("Produce v3 and up carries message format 2, not %d: %w", b.Magic(), kerr.InvalidRecord)
	case len(rest) > 0:
		return fmt.Errorf("a partition of a Produce request must carry exactly one batch: %w", kerr.InvalidRecord)
	case version < 7 && b.Codec() == record.Zstd:
		return fmt.Errorf("zstd needs Produce v7: %w", kerr.UnsupportedCompressionType)
	}
	return nil
}

// magicPosition is where all message formats have their version.
const magicPosition = 16

// malformedBatch says why no batch can be split off. Only the wrong format has a code of its own.
func malformedBatch(records []byte) error {
	if len(records) > magicPosition && records[magicPosition] > 2 {
		return protocol.WithMessage(kerr.CorruptMessage, fmt.Sprintf("Invalid magic found in record: %d", int8(records[magicPosition])))
	}
	return fmt.Errorf("the batch ends past its data, or is shorter than its header: %w", kerr.InvalidRecord)
}

func (c *produceCall) fail(out *kmsg.ProduceResponseTopicPartition, err error) {
	out.ErrorCode = protocol.ErrorCode(err)
	out.ErrorMessage = protocol.ClientMessage(err)
	if c.failed == nil {
		c.failed = err
	}
}

// appended takes the results in the order of the entries.
func (c *produceCall) appended(results []replication.AppendResult) {
	for i := range results {
		res, out := &results[i], c.slots[i]
		out.LogStartOffset = res.Info.LogStartOffset
		if res.Err != nil {
			c.fail(out, res.Err)
			c.rejected(out, res)
			continue
		}
		out.BaseOffset, out.LogAppendTime = res.Info.FirstOffset, res.Info.LogAppendTime
	}
	c.answer()
}

// rejected adds what later versions tell about an error: the faulty records, and who leads now.
func (c *produceCall) rejected(out *kmsg.ProduceResponseTopicPartition, res *replication.AppendResult) {
	if invalid := (*record.ValidationError)(nil); errors.As(res.Err, &invalid) && len(invalid.Records) > 0 {
		out.ErrorMessage = &invalid.Message
	}
	for _, e := range res.Info.RecordErrors {
		out.ErrorRecords = append(out.ErrorRecords, kmsg.ProduceResponseTopicPartitionErrorRecord{
			RelativeOffset: e.Index, ErrorMessage: optional(e.Message),
		})
	}
	if c.resp.Version < 10 || out.ErrorCode != kerr.NotLeaderForPartition.Code {
		return
	}
	leader := res.CurrentLeader
	out.CurrentLeader.LeaderID, out.CurrentLeader.LeaderEpoch = int32(leader.ID), int32(leader.Epoch)
	if e, rack, ok := c.b.endpointFor(leader.ID, c.r.Conn.Listener()); ok {
		c.resp.Brokers = withProduceNode(c.resp.Brokers, kmsg.ProduceResponseBroker{
			NodeID: int32(leader.ID), Host: e.Host, Port: e.Port, Rack: rack,
		})
	}
}

// withProduceNode is withFetchNode for Produce.
func withProduceNode(nodes []kmsg.ProduceResponseBroker, n kmsg.ProduceResponseBroker) []kmsg.ProduceResponseBroker {
	if slices.ContainsFunc(nodes, func(m kmsg.ProduceResponseBroker) bool { return m.NodeID == n.NodeID }) {
		return nodes
	}
	return append(nodes, n)
}

// answer responds, and gives the call back. With acks=0 nothing is sent when all is well; else the connection is closed, the
// one sign there is.
func (c *produceCall) answer() {
	switch {
	case c.acks != 0:
		c.r.Respond(&c.resp)
	case c.failed != nil:
		c.r.Close(fmt.Errorf("produce with acks=0: %w", c.failed))
	default:
		c.r.NoResponse()
	}
	c.recycle()
}

// recycle forgets the request. Everything is zero again but the memory of the slices.
func (c *produceCall) recycle() {
	clear(c.resp.Topics)
	clear(c.partitions)
	clear(c.entries)
	clear(c.slots)
	*c = produceCall{
		resp: kmsg.ProduceResponse{Topics: c.resp.Topics[:0]}, partitions: c.partitions[:0], entries: c.entries[:0],
		slots: c.slots[:0], done: c.done,
	}
	produceCalls.Put(c)
}
