package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// EndTxn (26), v0-4. Kafka: KafkaApis.handleEndTxnRequest. Answers when the decision is stored; markers follow.
// Pipelined: no.   Cost: one record in __transaction_state, replicated, and later a marker a partition.
func (b *Broker) handleEndTxn(r *network.Request) {
	req := r.Body.(*kmsg.EndTxnRequest)
	if b.refused(r, b.denied(r, acl.Write, acl.TransactionalID, req.TransactionalID)) {
		return
	}
	r.Respond(b.transactions.EndTxn(r.Context(), req))
}
