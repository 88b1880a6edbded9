package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// AddPartitionsToTxn (24), v0-5. Kafka: KafkaApis.handleAddPartitionsToTxnRequest. Since v4 for brokers, many at once and
// to verify (KIP-890 part 1).   Pipelined: no.   Cost: one record in __transaction_state, replicated; none to verify.
func (b *Broker) handleAddPartitionsToTxn(r *network.Request) {
	r.Respond(b.transactions.AddPartitions(r.Context(), r.Body.(*kmsg.AddPartitionsToTxnRequest), nil))
}
