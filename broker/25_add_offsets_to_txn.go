package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// AddOffsetsToTxn (25), v0-4. Kafka: KafkaApis.handleAddOffsetsToTxnRequest.
// Pipelined: no.   Cost: one record in __transaction_state, replicated.
func (b *Broker) handleAddOffsetsToTxn(r *network.Request) {
	req := r.Body.(*kmsg.AddOffsetsToTxnRequest)
	if b.refused(r, b.denied(r, acl.Write, acl.TransactionalID, req.TransactionalID)) ||
		b.refused(r, b.denied(r, acl.Read, acl.Group, req.Group)) {
		return
	}
	r.Respond(b.transactions.AddOffsets(r.Context(), req))
}
