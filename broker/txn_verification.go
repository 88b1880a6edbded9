package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/log"
	"jackdaw/metadata"
	"jackdaw/protocol"
	"jackdaw/protocol/record"
	"jackdaw/replication"
)

// First versions in which clients know TRANSACTION_ABORTABLE; before, they hear INVALID_TXN_STATE.
const (
	produceKnowsAbortable   = 11
	txnCommitKnowsAbortable = 4
)

// openVerifier makes what asks the coordinators of transactions.
func (b *Broker) openVerifier() {
	b.verifierLinks = newPeerLinks(func(ctx context.Context, to metadata.BrokerID) (replication.Leader, error) {
		link, err := b.dialLeader(ctx, to, fmt.Sprintf("AddPartitionsManager-client-%d", b.id))
		if err != nil {
			return nil, err
		}
		return newVerifierLink(ctx, link)
	})
	b.verifier = newTxnVerifier(b.parts, b.registry, b.transactionCoordinator, b.askCoordinator)
}

// transactionCoordinator finds the coordinator of an id, which must be there already.
func (b *Broker) transactionCoordinator(id string) (metadata.BrokerID, error) {
	broker, err := coordinatorIn(b.cache.Image(), txnTopic, id)
	return broker.ID, err
}

func (b *Broker) askCoordinator(
	ctx context.Context, to metadata.BrokerID, req *kmsg.AddPartitionsToTxnRequest,
) (*kmsg.AddPartitionsToTxnResponse, error) {
	if to == b.id {
		return b.transactions.AddPartitions(ctx, req, nil), nil
	}
	resp, err := b.verifierLinks.Request(ctx, to, req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.AddPartitionsToTxnResponse), nil
}

// verifiesTransactions is transaction.partition.verification.enable as it is now.
func (b *Broker) verifiesTransactions() bool { return b.topics.broker.Load().Transactions.Verify }

// unverified is a batch that waits for the coordinator.
type unverified struct {
	entry int // index in the entries of the request
	batch replication.TxnBatch
	guard log.VerificationGuard
}

// unverified lists the transactional batches of the request that may be the first of their transaction in a partition: the coordinator
// has to be asked about them. Kafka: ReplicaManager.maybeStartTransactionVerificationForPartitions.
func (c *produceCall) unverified() (waiting []unverified) {
	for i := range c.entries {
		e := &c.entries[i]
		b, _, err := record.Next(e.Records)
		if err != nil || b.Magic() != 2 || !b.IsTransactional() || !b.HasProducerID() {
			continue
		}
		x := unverified{entry: i, batch: replication.TxnBatch{
			TP: e.TP, ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), Sequence: b.BaseSequence(),
		}}
		var needed bool
		if x.guard, needed, e.Err = c.b.replicas.BeginVerification(x.batch); needed {
			waiting = append(waiting, x)
		}
	}
	return waiting
}

// awaitVerified makes sure that the batches belong to a transaction that is open and has their partitions, and puts the refusals
// into the entries. The connection goes no further meanwhile: a later batch of the producer must not overtake.
func (c *produceCall) awaitVerified(ctx context.Context, id string, waiting []unverified) {
	ctx, cancel := context.WithTimeout(ctx, c.b.cfg.Network.RequestTimeout)
	defer cancel()
	var tps []metadata.TopicPartition
	for _, x := range waiting {
		tps = append(tps, x.batch.TP)
	}
	first := waiting[0].batch // the producer is the same in all: see refuseProduce
	errs := c.b.verifier.Verify(ctx, id, first.ProducerID, first.ProducerEpoch, tps)
	for i, x := range waiting {
		if errs[i] != nil {
			c.entries[x.entry].Err = produceVerifyError(errs[i], c.resp.Version)
			continue
		}
		c.b.replicas.ConfirmVerification(x.batch, x.guard)
	}
}

// produceVerifyError is what a producer hears when its transaction could not be verified. Errors that go away are
// NOT_ENOUGH_REPLICAS, which every client knows to retry at without new metadata. Kafka: ReplicaManager.handleProduceAppend.
func produceVerifyError(err error, version int16) error {
	if version < produceKnowsAbortable && errors.Is(err, kerr.TransactionAbortable) {
		err = kerr.InvalidTxnState
	}
	if errors.Is(err, kerr.InvalidTxnState) {
		return protocol.WithMessage(kerr.InvalidTxnState, "Partition was not added to the transaction")
	}
	for _, passing := range []*kerr.Error{
		kerr.ConcurrentTransactions, kerr.NetworkException, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator,
	} {
		if errors.Is(err, passing) {
			return protocol.WithMessage(kerr.NotEnoughReplicas,
				"Unable to verify the partition has been added to the transaction. Underlying error: "+passing.Message)
		}
	}
	return err
}

// refuseMixedProducers refuses a transactional request with batches of more than one producer.
func refuseMixedProducers(req *kmsg.ProduceRequest) error {
	producer, epoch, known := int64(0), int16(0), false
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			b, _, err := record.Next(req.Topics[i].Partitions[j].Records)
			if err != nil || b.Magic() != 2 || !b.IsTransactional() || !b.HasProducerID() {
				continue
			}
			if known && (b.ProducerID() != producer || b.ProducerEpoch() != epoch) {
				return protocol.WithMessage(kerr.InvalidProducerIDMapping, "Transactional records contained more than one producer ID")
			}
			producer, epoch, known = b.ProducerID(), b.ProducerEpoch(), true
		}
	}
	return nil
}

// verifyTxnOffsets makes sure that the partition of __consumer_offsets is part of the open transaction that commits offsets.
// Kafka: GroupCoordinator.handleTxnCommitOffsets, GroupMetadataManager.maybeConvertOffsetCommitError.
func (b *Broker) verifyTxnOffsets(ctx context.Context, partition int32, req *kmsg.TxnOffsetCommitRequest) error {
	if !b.verifiesTransactions() {
		return nil
	}
	batch := replication.TxnBatch{
		TP:         metadata.TopicPartition{Topic: groupTopic, Partition: partition},
		ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch, Sequence: -1,
	}
	guard, needed, err := b.replicas.BeginVerification(batch)
	if err == nil && needed {
		ctx, cancel := context.WithTimeout(ctx, b.cfg.Network.RequestTimeout)
		defer cancel()
		err = b.verifier.Verify(ctx, req.TransactionalID, batch.ProducerID, batch.ProducerEpoch, []metadata.TopicPartition{batch.TP})[0]
	}
	switch {
	case err == nil:
		if needed {
			b.replicas.ConfirmVerification(batch, guard)
		}
		return nil
	case errors.Is(err, kerr.NetworkException):
		return kerr.CoordinatorLoadInProgress
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return kerr.CoordinatorNotAvailable
	case errors.Is(err, kerr.NotLeaderForPartition), errors.Is(err, kerr.KafkaStorageError):
		return kerr.NotCoordinator
	case req.Version < txnCommitKnowsAbortable && errors.Is(err, kerr.TransactionAbortable):
		return kerr.InvalidTxnState
	default:
		return err
	}
}
