package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/controller/state"
	"jackdaw/metadata"
	"jackdaw/replication"
)

// alterPartitionBackoff is the pause after an AlterPartition that was refused as a whole. Kafka: AlterPartitionManager, 50 ms.
const alterPartitionBackoff = 50 * time.Millisecond

// isrStore is where the ISR changes of this broker's partitions go.
type isrStore interface {
	replication.ISRStore
	Run(ctx context.Context) error
}

// newISRStore chooses by inter.broker.protocol.version.
func (b *Broker) newISRStore() isrStore {
	if !b.ibp.AlterPartition() {
		return newISRWriter(b.zk.Session, time.Now, b.log)
	}
	return newISRProposer(b.id, b.brokerEpoch.Load, b.ibp, b.toController.Request, b.log)
}

// isrProposer carries ISR changes to the controller: one AlterPartition in flight, and all that came up meanwhile in
// the next. Kafka: DefaultAlterPartitionManager; KIP-497.
type isrProposer struct {
	id          metadata.BrokerID
	brokerEpoch func() int64
	// version is the version to use where all topics have ids.
	version int16
	// request asks the active controller and does not return before somebody answered or ctx ended.
	request func(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
	log     *slog.Logger
	wake    chan struct{} // capacity 1
	mu      struct {
		sync.Mutex
		pending map[metadata.TopicPartition]isrProposal
		// superseded are answered by Run, never from within Propose.
		superseded []isrProposal
	}
}

type isrProposal struct {
	replication.Proposal
	done func(metadata.LeaderAndISR, error)
}

func newISRProposer(id metadata.BrokerID, brokerEpoch func() int64, ibp state.IBP,
	request func(context.Context, kmsg.Request) (kmsg.Response, error), lg *slog.Logger,
) *isrProposer {
	p := &isrProposer{id: id, brokerEpoch: brokerEpoch, version: alterPartitionVersion(ibp), request: request, log: lg, wake: make(chan struct{}, 1)}
	p.mu.pending = map[metadata.TopicPartition]isrProposal{}
	return p
}

// errSuperseded answers a proposal that a newer one of the same partition replaced before it was sent.
var errSuperseded = errors.New("superseded by a newer proposal")

// Propose implements replication.ISRStore.
func (p *isrProposer) Propose(prop replication.Proposal, done func(metadata.LeaderAndISR, error)) {
	p.mu.Lock()
	old, had := p.mu.pending[prop.TP]
	p.mu.pending[prop.TP] = isrProposal{Proposal: prop, done: done}
	if had {
		p.mu.superseded = append(p.mu.superseded, old)
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run sends proposals until ctx ends.
func (p *isrProposer) Run(ctx context.Context) error {
	for {
		select {
		case <-p.wake:
		case <-ctx.Done():
			return nil
		}
		if batch := p.take(); len(batch) > 0 {
			p.send(ctx, batch)
		}
	}
}

func (p *isrProposer) take() map[metadata.TopicPartition]isrProposal {
	p.mu.Lock()
	batch, superseded := p.mu.pending, p.mu.superseded
	p.mu.pending, p.mu.superseded = map[metadata.TopicPartition]isrProposal{}, nil
	p.mu.Unlock()
	for _, old := range superseded {
		old.done(metadata.LeaderAndISR{}, errSuperseded)
	}
	return batch
}

// send repeats the request until the controller has answered for each partition, or ctx ended.
func (p *isrProposer) send(ctx context.Context, batch map[metadata.TopicPartition]isrProposal) {
	for {
		resp, err := p.request(ctx, p.encode(batch))
		if err == nil {
			alter := resp.(*kmsg.AlterPartitionResponse)
			if err = kerr.ErrorForCode(alter.ErrorCode); err == nil {
				p.deliver(batch, alter)
				return
			}
		}
		p.log.Warn("AlterPartition refused, trying again", "partitions", len(batch), "err", err)
		select {
		case <-time.After(alterPartitionBackoff):
		case <-ctx.Done():
			for _, prop := range batch {
				prop.done(metadata.LeaderAndISR{}, fmt.Errorf("alter partition: %w", ctx.Err()))
			}
			return
		}
	}
}

// alterPartitionVersion is 3, or the last that names topics by name where they may have no ids.
func alterPartitionVersion(ibp state.IBP) int16 {
	if ibp.TopicIDs() {
		return 3
	}
	return 1
}

// encode names topics by id (v3), or by name (v1) as soon as one of them has none.
func (p *isrProposer) encode(batch map[metadata.TopicPartition]isrProposal) *kmsg.AlterPartitionRequest {
	req := kmsg.NewPtrAlterPartitionRequest()
	req.SetVersion(p.version)
	req.BrokerID, req.BrokerEpoch = int32(p.id), p.brokerEpoch()
	topics := map[string]*kmsg.AlterPartitionRequestTopic{}
	for tp, prop := range batch {
		if prop.TopicID.IsZero() {
			req.SetVersion(1)
		}
		t := topics[tp.Topic]
		if t == nil {
			t = &kmsg.AlterPartitionRequestTopic{Topic: tp.Topic, TopicID: prop.TopicID}
			topics[tp.Topic] = t
		}
		t.Partitions = append(t.Partitions, alterPartition(tp.Partition, prop.Proposal))
	}
	for _, t := range topics {
		req.Topics = append(req.Topics, *t)
	}
	return req
}

func alterPartition(n int32, prop replication.Proposal) kmsg.AlterPartitionRequestTopicPartition {
	out := kmsg.NewAlterPartitionRequestTopicPartition()
	out.Partition = n
	out.LeaderEpoch = int32(prop.State.LeaderEpoch)
	out.PartitionEpoch = prop.State.PartitionEpoch
	out.LeaderRecoveryState = int8(prop.State.Recovery)
	out.NewISR = wireIDs(prop.State.ISR)
	for i, id := range prop.State.ISR {
		out.NewEpochISR = append(out.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{
			BrokerID: int32(id), BrokerEpoch: prop.BrokerEpochs[i],
		})
	}
	return out
}

// deliver hands each partition its answer. A partition that the answer leaves out is told that nothing is known.
func (p *isrProposer) deliver(batch map[metadata.TopicPartition]isrProposal, resp *kmsg.AlterPartitionResponse) {
	names := map[metadata.TopicID]string{}
	for tp, prop := range batch {
		names[prop.TopicID] = tp.Topic
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		topic := t.Topic
		if resp.Version >= 2 {
			topic = names[t.TopidID]
		}
		for j := range t.Partitions {
			out := &t.Partitions[j]
			tp := metadata.TopicPartition{Topic: topic, Partition: out.Partition}
			prop, ok := batch[tp]
			if !ok {
				continue
			}
			delete(batch, tp)
			prop.done(alteredState(out), kerr.ErrorForCode(out.ErrorCode))
		}
	}
	for tp, prop := range batch {
		prop.done(metadata.LeaderAndISR{}, fmt.Errorf("no answer for %s in AlterPartition", tp))
	}
}

func alteredState(out *kmsg.AlterPartitionResponseTopicPartition) metadata.LeaderAndISR {
	isr := make([]metadata.BrokerID, len(out.ISR))
	copy(isr, brokerIDs(out.ISR))
	return metadata.LeaderAndISR{
		Leader:         metadata.BrokerID(out.LeaderID),
		LeaderEpoch:    metadata.LeaderEpoch(out.LeaderEpoch),
		ISR:            isr,
		Recovery:       metadata.RecoveryState(out.LeaderRecoveryState),
		PartitionEpoch: out.PartitionEpoch,
	}
}
