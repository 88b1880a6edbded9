package txn

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/metadata"
)

// Versions of key and value as 3.9 writes them in ZooKeeper mode; values of version 1, of 4.x, are read.
// Kafka: TransactionLog; captures of __transaction_state.
const (
	keyVersion   = 0
	valueVersion = 0
)

func key(id string) []byte {
	k := kmsg.TxnMetadataKey{Version: keyVersion, TransactionalID: id}
	return k.AppendTo(nil)
}

func (v *values) encode() []byte {
	out := kmsg.TxnMetadataValue{
		Version: valueVersion, ProducerID: v.producerID, ProducerEpoch: v.epoch,
		TimeoutMillis: int32(v.timeout.Milliseconds()), State: kmsg.TransactionState(v.state),
		LastUpdateTimestamp: v.updated, StartTimestamp: v.start,
	}
	if v.state != Empty {
		out.Topics = topics(v.sorted())
	}
	return out.AppendTo(nil)
}

// topics groups sorted partitions. It is empty, not null, without any.
func topics(tps []metadata.TopicPartition) []kmsg.TxnMetadataValueTopic {
	out := []kmsg.TxnMetadataValueTopic{}
	for _, tp := range tps {
		if n := len(out); n == 0 || out[n-1].Topic != tp.Topic {
			out = append(out, kmsg.TxnMetadataValueTopic{Topic: tp.Topic})
		}
		last := &out[len(out)-1]
		last.Partitions = append(last.Partitions, tp.Partition)
	}
	return out
}

// Load implements coordinator.Shard. Kafka: TransactionStateManager.loadTransactionMetadata.
func (s *Shard) Load(r coordinator.LogRecord) error {
	if len(r.Key) < 2 {
		return fmt.Errorf("key of %d bytes", len(r.Key))
	}
	if v := int16(binary.BigEndian.Uint16(r.Key)); v != keyVersion {
		return fmt.Errorf("key version %d", v)
	}
	var k kmsg.TxnMetadataKey
	if err := k.ReadFrom(r.Key); err != nil {
		return fmt.Errorf("transactional id: %w", err)
	}
	if r.Value == nil {
		delete(s.ids, k.TransactionalID)
		return nil
	}
	var v kmsg.TxnMetadataValue
	v.Default()
	if err := v.ReadFrom(r.Value); err != nil {
		return fmt.Errorf("transaction: %w", err)
	}
	if v.State < 0 || State(v.State) > PrepareEpochFence {
		return fmt.Errorf("transaction state %d", v.State)
	}
	s.ids[k.TransactionalID] = &transaction{id: k.TransactionalID, values: restore(&v)}
	return nil
}

func restore(v *kmsg.TxnMetadataValue) values {
	out := values{
		state: State(v.State), producerID: v.ProducerID, epoch: v.ProducerEpoch,
		lastProducerID: v.PreviousProducerID, lastEpoch: noEpoch,
		timeout: time.Duration(v.TimeoutMillis) * time.Millisecond,
		start:   v.StartTimestamp, updated: v.LastUpdateTimestamp,
	}
	for _, t := range v.Topics {
		for _, p := range t.Partitions {
			if out.partitions == nil {
				out.partitions = map[metadata.TopicPartition]bool{}
			}
			out.partitions[metadata.TopicPartition{Topic: t.Topic, Partition: p}] = true
		}
	}
	return out
}

// LoadMarker implements coordinator.Shard. The topic has no transactions of its own.
func (s *Shard) LoadMarker(coordinator.Marker) {}
