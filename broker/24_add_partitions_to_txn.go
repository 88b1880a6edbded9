package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// AddPartitionsToTxn (24), v0-5. Kafka: KafkaApis.handleAddPartitionsToTxnRequest. Since v4 for brokers, many at once and
// to verify (KIP-890 part 1).   Pipelined: no.   Cost: one record in __transaction_state, replicated; none to verify.
func (b *Broker) handleAddPartitionsToTxn(r *network.Request) {
	req := r.Body.(*kmsg.AddPartitionsToTxnRequest)
	if req.Version >= 4 {
		if !b.refused(r, b.deniedCluster(r, acl.ClusterAction)) {
			r.Respond(b.transactions.AddPartitions(r.Context(), req, nil))
		}
		return
	}
	if b.refused(r, b.denied(r, acl.Write, acl.TransactionalID, req.TransactionalID)) {
		return
	}
	r.Respond(b.transactions.AddPartitions(r.Context(), req, b.deniedInTxn(r)))
}

// deniedInTxn tells which topics the producer of a request may not write to; the internal ones are always denied to him, where
// there is an authorizer.
func (b *Broker) deniedInTxn(r *network.Request) func(topic string) bool {
	denied := b.deniedTopics(r, acl.Write)
	if denied == nil {
		return nil
	}
	return func(topic string) bool { return isInternalTopic(topic) || denied(topic) }
}
