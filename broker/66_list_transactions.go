package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// ListTransactions (66), v0-1. Kafka: KafkaApis.handleListTransactionsRequest; KIP-664, KIP-994.
// Pipelined: no.   Cost: all transactional ids that this broker coordinates.
func (b *Broker) handleListTransactions(r *network.Request) {
	r.Respond(b.transactions.ListTransactions(r.Context(), r.Body.(*kmsg.ListTransactionsRequest)))
}
