package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// TxnOffsetCommit (28), v0-4. Kafka: KafkaApis.handleTxnOffsetCommitRequest. Group members since v3 (KIP-447).
// Pipelined: no.   Cost: one transactional batch in __consumer_offsets, replicated.
func (b *Broker) handleTxnOffsetCommit(r *network.Request) {
	r.Respond(b.groups.TxnOffsetCommit(r.Context(), r.Body.(*kmsg.TxnOffsetCommitRequest)))
}
