package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
	"jackdaw/security/acl"
)

// DescribeTransactions (65), v0. Kafka: KafkaApis.handleDescribeTransactionsRequest; KIP-664.
// Pipelined: no.   Cost: the partitions of the transactions.
func (b *Broker) handleDescribeTransactions(r *network.Request) {
	req := r.Body.(*kmsg.DescribeTransactionsRequest)
	if b.authorizer == nil {
		r.Respond(b.transactions.DescribeTransactions(r.Context(), req))
		return
	}
	allowed := *req
	allowed.TransactionalIDs = slices.DeleteFunc(slices.Clone(req.TransactionalIDs), func(id string) bool {
		return b.denied(r, acl.Describe, acl.TransactionalID, id) != nil
	})
	found := b.transactions.DescribeTransactions(r.Context(), &allowed).TransactionStates
	resp := req.ResponseKind().(*kmsg.DescribeTransactionsResponse)
	for _, id := range req.TransactionalIDs {
		state := kmsg.NewDescribeTransactionsResponseTransactionState()
		state.TransactionalID, state.ErrorCode = id, kerr.TransactionalIDAuthorizationFailed.Code
		if len(found) > 0 && found[0].TransactionalID == id {
			state, found = found[0], found[1:]
			state.Topics = slices.DeleteFunc(state.Topics, func(t kmsg.DescribeTransactionsResponseTransactionStateTopic) bool {
				return b.denied(r, acl.Describe, acl.Topic, t.Topic) != nil
			})
		}
		resp.TransactionStates = append(resp.TransactionStates, state)
	}
	r.Respond(resp)
}
