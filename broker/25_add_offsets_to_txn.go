package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// AddOffsetsToTxn (25), v0-4. Kafka: KafkaApis.handleAddOffsetsToTxnRequest.
// Pipelined: no.   Cost: one record in __transaction_state, replicated.
func (b *Broker) handleAddOffsetsToTxn(r *network.Request) {
	r.Respond(b.transactions.AddOffsets(r.Context(), r.Body.(*kmsg.AddOffsetsToTxnRequest)))
}
