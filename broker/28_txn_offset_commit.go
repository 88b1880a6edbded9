package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// TxnOffsetCommit (28), v0-4. Kafka: KafkaApis.handleTxnOffsetCommitRequest. Group members since v3 (KIP-447).
// Pipelined: no.   Cost: one transactional batch in __consumer_offsets, replicated.
func (b *Broker) handleTxnOffsetCommit(r *network.Request) {
	req := r.Body.(*kmsg.TxnOffsetCommitRequest)
	if b.refused(r, b.denied(r, acl.Write, acl.TransactionalID, req.TransactionalID)) ||
		b.refused(r, b.denied(r, acl.Read, acl.Group, req.Group)) {
		return
	}
	r.Respond(b.groups.TxnOffsetCommit(r.Context(), req, b.deniedTopics(r, acl.Read)))
}
