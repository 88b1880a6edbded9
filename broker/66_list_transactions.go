package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// ListTransactions (66), v0-1. Kafka: KafkaApis.handleListTransactionsRequest; KIP-664, KIP-994.
// Pipelined: no.   Cost: all transactional ids that this broker coordinates.
func (b *Broker) handleListTransactions(r *network.Request) {
	resp := b.transactions.ListTransactions(r.Context(), r.Body.(*kmsg.ListTransactionsRequest))
	resp.TransactionStates = slices.DeleteFunc(resp.TransactionStates, func(t kmsg.ListTransactionsResponseTransactionState) bool {
		return b.denied(r, acl.Describe, acl.TransactionalID, t.TransactionalID) != nil
	})
	r.Respond(resp)
}
