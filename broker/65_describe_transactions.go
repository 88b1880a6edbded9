package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// DescribeTransactions (65), v0. Kafka: KafkaApis.handleDescribeTransactionsRequest; KIP-664.
// Pipelined: no.   Cost: the partitions of the transactions.
func (b *Broker) handleDescribeTransactions(r *network.Request) {
	r.Respond(b.transactions.DescribeTransactions(r.Context(), r.Body.(*kmsg.DescribeTransactionsRequest)))
}
