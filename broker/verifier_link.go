package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/replication"
)

// Versions of AddPartitionsToTxn that brokers speak: the first has verifyOnly, the last knows TRANSACTION_ABORTABLE.
const (
	firstVerifyVersion = 4
	lastVerifyVersion  = 5
)

// verifierLink is a connection for verifications, at the version that the other broker knows: 5 since Kafka 3.8, 4 since 3.6.
// A broker that is older verifies nothing and coordinates for producers that do without, so what it is asked for passes.
// Kafka: AddPartitionsToTxnManager, AddPartitionsToTxnHandler.onComplete (versionMismatch).
type verifierLink struct {
	replication.Leader
	version int16
}

// newVerifierLink asks the other broker what it knows. The connection is closed when that fails.
func newVerifierLink(ctx context.Context, link replication.Leader) (*verifierLink, error) {
	req := kmsg.NewPtrApiVersionsRequest() // version 0, which every broker answers
	resp, err := link.Request(ctx, req)
	if err == nil {
		err = kerr.ErrorForCode(resp.(*kmsg.ApiVersionsResponse).ErrorCode)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("versions of the coordinator: %w", err), link.Close())
	}
	l := &verifierLink{Leader: link, version: -1}
	for _, k := range resp.(*kmsg.ApiVersionsResponse).ApiKeys {
		if k.ApiKey == kmsg.AddPartitionsToTxn.Int16() {
			l.version = min(k.MaxVersion, lastVerifyVersion)
		}
	}
	return l, nil
}

// Request implements replication.Leader for AddPartitionsToTxn.
func (l *verifierLink) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	verify := req.(*kmsg.AddPartitionsToTxnRequest)
	if l.version < firstVerifyVersion {
		return allVerified(verify), nil
	}
	verify.Version = l.version
	return l.Leader.Request(ctx, verify)
}

// allVerified is the answer that every partition is part of its transaction.
func allVerified(req *kmsg.AddPartitionsToTxnRequest) *kmsg.AddPartitionsToTxnResponse {
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	for _, x := range req.Transactions {
		out := kmsg.AddPartitionsToTxnResponseTransaction{TransactionalID: x.TransactionalID}
		for _, t := range x.Topics {
			topic := kmsg.AddPartitionsToTxnResponseTransactionTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				topic.Partitions = append(topic.Partitions, kmsg.AddPartitionsToTxnResponseTransactionTopicPartition{Partition: p})
			}
			out.Topics = append(out.Topics, topic)
		}
		resp.Transactions = append(resp.Transactions, out)
	}
	return resp
}
