package replication

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
)

// link is a follower's connection to a leader.
type link struct {
	c        *cluster
	from, to metadata.BrokerID
	buf      []byte // as a real connection: overwritten by each response
}

func (nd *node) dial(_ context.Context, leader metadata.BrokerID, _ string) (Leader, error) {
	if _, err := nd.c.target(nd.id, leader); err != nil {
		return nil, err
	}
	return &link{c: nd.c, from: nd.id, to: leader}, nil
}

func (l *link) Close() error { return nil }

// travel lets the time of a message on its way pass.
func (l *link) travel() {
	if l.c.delay != nil {
		pass(l.c.delay())
	}
}

// Request implements Leader. Both ways go through the wire's bytes.
func (l *link) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	l.travel()
	defer l.travel()
	m, err := l.c.target(l.from, l.to)
	if err != nil {
		return nil, err
	}
	got := kmsg.RequestForKey(req.Key())
	got.SetVersion(req.GetVersion())
	if err := got.ReadFrom(req.AppendTo(nil)); err != nil {
		return nil, err
	}
	var resp kmsg.Response
	switch r := got.(type) {
	case *kmsg.FetchRequest:
		resp, err = serveFetch(ctx, m, r)
	case *kmsg.ListOffsetsRequest:
		resp = serveListOffsets(m, r)
	case *kmsg.OffsetForLeaderEpochRequest:
		resp = serveEpochs(m, r)
	default:
		err = fmt.Errorf("no handler for %T", req)
	}
	if err != nil {
		return nil, err
	}
	if _, err := l.c.target(l.from, l.to); err != nil {
		return nil, err // cut while the answer was on its way
	}
	for i := range l.buf {
		l.buf[i] = 0xff
	}
	l.buf = resp.AppendTo(l.buf[:0])
	out := req.ResponseKind()
	return out, out.ReadFrom(l.buf)
}

// serveFetch is what the Fetch handler does.
func serveFetch(ctx context.Context, m *ReplicaManager, r *kmsg.FetchRequest) (kmsg.Response, error) {
	img := m.cfg.Image()
	resolve := func(id metadata.TopicID) (string, bool) {
		t, ok := img.TopicByID(id)
		if !ok {
			return "", false
		}
		return t.Name, true
	}
	sr := SessionRequest{Version: r.Version, ID: r.SessionID, Epoch: r.SessionEpoch, Follower: true, Name: resolve}
	for _, t := range r.Topics {
		name, _ := resolve(t.TopicID)
		if r.Version < 13 {
			name = t.Topic
		}
		for _, p := range t.Partitions {
			sr.Partitions = append(sr.Partitions, FetchPartition{
				TP: metadata.TopicPartition{Topic: name, Partition: p.Partition}, TopicID: t.TopicID, Offset: p.FetchOffset,
				CurrentLeaderEpoch: metadata.LeaderEpoch(p.CurrentLeaderEpoch), LastFetchedEpoch: metadata.LeaderEpoch(p.LastFetchedEpoch),
				LogStartOffset: p.LogStartOffset, MaxBytes: p.PartitionMaxBytes,
			})
		}
	}
	for _, t := range r.ForgottenTopics {
		name, _ := resolve(t.TopicID)
		if r.Version < 13 {
			name = t.Topic
		}
		for _, p := range t.Partitions {
			sr.Forgotten = append(sr.Forgotten, FetchPartition{TP: metadata.TopicPartition{Topic: name, Partition: p}, TopicID: t.TopicID})
		}
	}
	resp := r.ResponseKind().(*kmsg.FetchResponse)
	fc, err := m.Sessions().Begin(sr)
	if err != nil {
		var ke *kerr.Error
		errors.As(err, &ke)
		resp.ErrorCode = ke.Code
		return resp, nil
	}
	results := make(chan []FetchResult, 1)
	replica, epoch := r.ReplicaState.ID, r.ReplicaState.Epoch
	if r.Version < 15 {
		replica, epoch = r.ReplicaID, -1
	}
	m.Fetch(FetchRequest{
		Replica: metadata.BrokerID(replica), ReplicaEpoch: epoch,
		MaxWait: time.Duration(r.MaxWaitMillis) * time.Millisecond, MinBytes: r.MinBytes, MaxBytes: r.MaxBytes,
		Partitions: fc.Partitions(),
	}, func(res []FetchResult) { results <- res })
	select {
	case res := <-results:
		id, answer := fc.Finish(res)
		resp.SessionID = id
		return resp, encodeFetch(resp, answer)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func encodeFetch(resp *kmsg.FetchResponse, results []FetchResult) error {
	for i := range results {
		r := &results[i]
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.ErrorCode = r.TP.Partition, codeOf(r.Err)
		p.HighWatermark, p.LastStableOffset, p.LogStartOffset = r.HighWatermark, r.LastStableOffset, r.LogStartOffset
		if r.Diverging != nil {
			p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = int32(r.Diverging.Epoch), r.Diverging.EndOffset
		}
		var err error
		p.RecordBatches, err = r.Records.ReadAll(nil)
		r.Records.Release()
		if err != nil {
			return err
		}
		t := kmsg.NewFetchResponseTopic()
		t.Topic, t.TopicID, t.Partitions = r.TP.Topic, r.TopicID, []kmsg.FetchResponseTopicPartition{p}
		resp.Topics = append(resp.Topics, t)
	}
	return nil
}

func codeOf(err error) int16 {
	var ke *kerr.Error
	if errors.As(err, &ke) {
		return ke.Code
	}
	if err != nil {
		return -1
	}
	return 0
}

func serveListOffsets(m *ReplicaManager, r *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.ListOffsetsResponse)
	for _, t := range r.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			at, err := m.ListOffset(ListOffsetQuery{
				TP: metadata.TopicPartition{Topic: t.Topic, Partition: p.Partition}, Replica: metadata.BrokerID(r.ReplicaID),
				CurrentLeaderEpoch: metadata.LeaderEpoch(p.CurrentLeaderEpoch), Timestamp: p.Timestamp,
			})
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition, rp.ErrorCode, rp.Offset, rp.LeaderEpoch = p.Partition, codeOf(err), at.Offset, int32(at.Epoch)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func serveEpochs(m *ReplicaManager, r *kmsg.OffsetForLeaderEpochRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for _, t := range r.Topics {
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			end, err := m.OffsetForLeaderEpoch(EpochQuery{
				TP:                 metadata.TopicPartition{Topic: t.Topic, Partition: p.Partition},
				CurrentLeaderEpoch: metadata.LeaderEpoch(p.CurrentLeaderEpoch), LeaderEpoch: metadata.LeaderEpoch(p.LeaderEpoch),
			})
			rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			rp.Partition, rp.ErrorCode, rp.LeaderEpoch, rp.EndOffset = p.Partition, codeOf(err), int32(end.Epoch), end.EndOffset
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}
