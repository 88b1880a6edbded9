package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/protocol/record"
	"jackdaw/replication"
	"jackdaw/security/acl"
)

// WriteTxnMarkers (27), v0-1. Kafka: KafkaApis.handleWriteTxnMarkersRequest; KIP-98.
// Pipelined: no.   Cost: a control batch a partition, replicated; in __consumer_offsets the group's shard, too.
func (b *Broker) handleWriteTxnMarkers(r *network.Request) {
	if !b.may(r, acl.Alter, acl.Cluster, acl.ClusterName) && b.refused(r, b.deniedCluster(r, acl.ClusterAction)) {
		return
	}
	r.Respond(b.writeTxnMarkers(r.Context(), r.Body.(*kmsg.WriteTxnMarkersRequest)))
}

// markerAppend is a marker on its way into the logs of its partitions. Slots point at the codes of the entries.
type markerAppend struct {
	m       *kmsg.WriteTxnMarkersRequestMarker
	entries []replication.AppendEntry
	slots   []*int16
	done    chan []replication.AppendResult
}

// writeTxnMarkers appends the markers for partitions that this broker leads and answers when each is committed and has
// taken effect, or has failed.
func (b *Broker) writeTxnMarkers(ctx context.Context, req *kmsg.WriteTxnMarkersRequest) *kmsg.WriteTxnMarkersResponse {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Network.RequestTimeout)
	defer cancel()
	resp := req.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
	resp.Markers = make([]kmsg.WriteTxnMarkersResponseMarker, len(req.Markers))
	appends := make([]markerAppend, len(req.Markers))
	now := time.Now().UnixMilli()
	for i := range req.Markers {
		a := &appends[i]
		*a = layOutMarker(&req.Markers[i], &resp.Markers[i], now)
		b.replicas.Append(replication.AppendRequest{
			Acks: -1, Timeout: b.cfg.Network.RequestTimeout, Origin: log.Coordinator, Epoch: metadata.NoEpoch, Entries: a.entries,
		}, func(results []replication.AppendResult) { a.done <- results })
	}
	for i := range appends {
		b.settleMarker(ctx, &appends[i])
	}
	return resp
}

// layOutMarker builds the control batch for each partition, since each is patched, and the place of its answer.
func layOutMarker(m *kmsg.WriteTxnMarkersRequestMarker, resp *kmsg.WriteTxnMarkersResponseMarker, now int64) markerAppend {
	a := markerAppend{m: m, done: make(chan []replication.AppendResult, 1)}
	kind := record.Abort
	if m.Committed {
		kind = record.Commit
	}
	resp.ProducerID = m.ProducerID
	resp.Topics = make([]kmsg.WriteTxnMarkersResponseMarkerTopic, len(m.Topics))
	for i, t := range m.Topics {
		out := make([]kmsg.WriteTxnMarkersResponseMarkerTopicPartition, len(t.Partitions))
		resp.Topics[i] = kmsg.WriteTxnMarkersResponseMarkerTopic{Topic: t.Topic, Partitions: out}
		for j, p := range t.Partitions {
			out[j].Partition = p
			a.entries = append(a.entries, replication.AppendEntry{
				TP:      metadata.TopicPartition{Topic: t.Topic, Partition: p},
				Records: record.EndTxnMarker(kind, m.ProducerID, m.ProducerEpoch, m.CoordinatorEpoch, now),
			})
			a.slots = append(a.slots, &out[j].ErrorCode)
		}
	}
	return a
}

// settleMarker waits for the partitions of a marker. Offsets that were committed with the transaction are visible before
// the answer goes out: the producer's next transaction begins after that.
func (b *Broker) settleMarker(ctx context.Context, a *markerAppend) {
	var results []replication.AppendResult
	select {
	case results = <-a.done:
	case <-ctx.Done():
		for _, code := range a.slots {
			*code = kerr.RequestTimedOut.Code
		}
		return
	}
	for i := range results {
		r := &results[i]
		err := r.Err
		if err == nil && r.TP.Topic == groupTopic {
			err = b.groups.TxnCompleted(ctx, r.TP.Partition, a.m.ProducerID, r.Info.FirstOffset, a.m.Committed)
			if err != nil {
				err = fmt.Errorf("offsets of a transaction: %w (%w)", kerr.CoordinatorLoadInProgress, err)
			}
		}
		*a.slots[i] = protocol.ErrorCode(err)
	}
}
