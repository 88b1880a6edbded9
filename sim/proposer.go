package sim

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
	"jackdaw/replication/isr"
)

// alterTimeout is how long a broker waits for the controller's answer before it asks again.
const alterTimeout = 800 * time.Millisecond

// proposer brings ISR changes to the controller, one request in flight: the broker's isrProposer.
type proposer struct {
	p       *process
	pending map[metadata.TopicPartition]*proposal
	busy    bool
}

type proposal struct {
	part *partition
	id   metadata.TopicID
	pr   *isr.Proposal
	done func(metadata.LeaderAndISR, error)
}

var errSuperseded = errors.New("superseded by a newer proposal")

func (x *proposer) propose(pr *proposal) {
	if old := x.pending[pr.part.tp]; old != nil {
		x.p.w.after(x.p, 0, func() { old.done(metadata.LeaderAndISR{}, errSuperseded) })
	}
	x.pending[pr.part.tp] = pr
	if !x.busy {
		x.busy = true
		x.p.w.after(x.p, 0, x.take)
	}
}

// take sends all that came up.
func (x *proposer) take() {
	if len(x.pending) == 0 {
		x.busy = false
		return
	}
	batch := x.pending
	x.pending = map[metadata.TopicPartition]*proposal{}
	x.send(batch)
}

// send repeats the request until the controller has answered.
func (x *proposer) send(batch map[metadata.TopicPartition]*proposal) {
	again := func() { x.p.w.after(x.p, 50*time.Millisecond, func() { x.send(batch) }) }
	to := x.p.image.Controller
	if to == metadata.NoBroker {
		again()
		return
	}
	req := x.encode(batch)
	x.p.w.call(x.p, to, alterTimeout, func(q *process, answer func(any)) {
		q.ctl.alterPartition(req, func(r *kmsg.AlterPartitionResponse) { answer(r) })
	}, func(v any, err error) {
		if err != nil || v.(*kmsg.AlterPartitionResponse).ErrorCode != 0 {
			again()
			return
		}
		x.deliver(batch, v.(*kmsg.AlterPartitionResponse))
		x.take()
	})
}

func (x *proposer) encode(batch map[metadata.TopicPartition]*proposal) *kmsg.AlterPartitionRequest {
	req := kmsg.NewPtrAlterPartitionRequest()
	req.SetVersion(3)
	req.BrokerID, req.BrokerEpoch = int32(x.p.id), x.p.brokerEpoch
	for _, tp := range slices.SortedFunc(maps.Keys(batch), metadata.TopicPartition.Compare) {
		b := batch[tp]
		ap := kmsg.NewAlterPartitionRequestTopicPartition()
		ap.Partition, ap.LeaderEpoch, ap.PartitionEpoch = tp.Partition, int32(b.pr.LeaderEpoch), b.pr.PartitionEpoch
		for i, id := range b.pr.ISR {
			ap.NewEpochISR = append(ap.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{
				BrokerID: int32(id), BrokerEpoch: b.pr.BrokerEpochs[i],
			})
		}
		req.Topics = append(req.Topics, kmsg.AlterPartitionRequestTopic{
			Topic: tp.Topic, TopicID: b.id, Partitions: []kmsg.AlterPartitionRequestTopicPartition{ap},
		})
	}
	return req
}

func (x *proposer) deliver(batch map[metadata.TopicPartition]*proposal, resp *kmsg.AlterPartitionResponse) {
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			out := &t.Partitions[j]
			for _, tp := range slices.SortedFunc(maps.Keys(batch), metadata.TopicPartition.Compare) {
				b := batch[tp]
				if b.id != t.TopidID || tp.Partition != out.Partition {
					continue
				}
				delete(batch, tp)
				b.done(metadata.LeaderAndISR{
					Leader: metadata.BrokerID(out.LeaderID), LeaderEpoch: metadata.LeaderEpoch(out.LeaderEpoch), ISR: ids(out.ISR),
					Recovery: metadata.RecoveryState(out.LeaderRecoveryState), PartitionEpoch: out.PartitionEpoch,
				}, kerr.ErrorForCode(out.ErrorCode))
			}
		}
	}
}
