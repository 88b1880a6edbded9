package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/internal/run"
	"jackdaw/metadata"
)

// txnVerifier asks the coordinators of transactions whether partitions are part of them. It has one request at work for each
// coordinator; what comes meanwhile goes with the next one. Kafka: AddPartitionsToTxnManager; KIP-890 part 1.
type txnVerifier struct {
	// coordinator finds the coordinator of a transactional id.
	coordinator func(id string) (metadata.BrokerID, error)
	// ask sends a request to a broker, which may be this one.
	ask func(ctx context.Context, to metadata.BrokerID, req *kmsg.AddPartitionsToTxnRequest) (*kmsg.AddPartitionsToTxnResponse, error)
	// tasks runs a goroutine for each coordinator while there is something to ask.
	tasks *run.Group
	m     *verifierMetrics

	mu struct {
		sync.Mutex
		// queues has an entry for each broker that a goroutine works on.
		queues map[metadata.BrokerID][]*verification
	}
}

// verification is a producer's question.
type verification struct {
	id       string
	producer int64
	epoch    int16
	tps      []metadata.TopicPartition
	// done takes one error for each of tps; it has room for them.
	done chan []error
}

func newTxnVerifier(
	tasks *run.Group, reg prometheus.Registerer, coordinator func(string) (metadata.BrokerID, error),
	ask func(context.Context, metadata.BrokerID, *kmsg.AddPartitionsToTxnRequest) (*kmsg.AddPartitionsToTxnResponse, error),
) *txnVerifier {
	v := &txnVerifier{coordinator: coordinator, ask: ask, tasks: tasks, m: newVerifierMetrics(reg)}
	v.mu.queues = map[metadata.BrokerID][]*verification{}
	return v
}

// Verify returns nil for each partition that is part of the open transaction of the producer. Errors are those of
// AddPartitionsToTxn, with INVALID_PRODUCER_EPOCH for PRODUCER_FENCED, COORDINATOR_NOT_AVAILABLE without coordinator, and
// NETWORK_EXCEPTION when it does not answer before ctx ends.
func (v *txnVerifier) Verify(ctx context.Context, id string, producer int64, epoch int16, tps []metadata.TopicPartition) []error {
	began := time.Now()
	errs := v.verify(ctx, id, producer, epoch, tps)
	v.m.took.Observe(float64(time.Since(began)) / float64(time.Millisecond))
	for _, err := range errs {
		if err != nil {
			v.m.failures.Inc()
		}
	}
	return errs
}

func (v *txnVerifier) verify(ctx context.Context, id string, producer int64, epoch int16, tps []metadata.TopicPartition) []error {
	to, err := v.coordinator(id)
	if err != nil {
		return slices.Repeat([]error{kerr.CoordinatorNotAvailable}, len(tps))
	}
	x := &verification{id: id, producer: producer, epoch: epoch, tps: tps, done: make(chan []error, 1)}
	v.enqueue(to, x)
	select {
	case errs := <-x.done:
		return errs
	case <-ctx.Done():
		return slices.Repeat([]error{kerr.NetworkException}, len(tps))
	}
}

func (v *txnVerifier) enqueue(to metadata.BrokerID, x *verification) {
	v.mu.Lock()
	defer v.mu.Unlock()
	q, working := v.mu.queues[to]
	v.mu.queues[to] = append(q, x)
	if !working {
		v.tasks.Go("transaction-verifier", func(ctx context.Context) error {
			v.work(ctx, to)
			return nil
		})
	}
}

// work asks one coordinator until there is nothing more to ask.
func (v *txnVerifier) work(ctx context.Context, to metadata.BrokerID) {
	for batch := v.take(to); len(batch) > 0; batch = v.take(to) {
		resp, err := v.ask(ctx, to, verifyRequest(batch))
		for _, x := range batch {
			x.done <- x.answers(resp, err)
		}
	}
}

// take removes what can be asked together: everything, but only one producer for a transactional id. When there is nothing
// the broker's goroutine must end.
func (v *txnVerifier) take(to metadata.BrokerID) []*verification {
	v.mu.Lock()
	defer v.mu.Unlock()
	var batch, rest []*verification
	first := map[string]*verification{}
	for _, x := range v.mu.queues[to] {
		if f := first[x.id]; f != nil && (f.producer != x.producer || f.epoch != x.epoch) {
			rest = append(rest, x)
			continue
		}
		if first[x.id] == nil {
			first[x.id] = x
		}
		batch = append(batch, x)
	}
	v.mu.queues[to] = rest
	if len(batch) == 0 {
		delete(v.mu.queues, to)
	}
	return batch
}

// verifyRequest has one transaction for each transactional id.
func verifyRequest(batch []*verification) *kmsg.AddPartitionsToTxnRequest {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version = lastVerifyVersion
	index := map[string]int{}
	for _, x := range batch {
		i, ok := index[x.id]
		if !ok {
			i = len(req.Transactions)
			index[x.id] = i
			req.Transactions = append(req.Transactions, kmsg.AddPartitionsToTxnRequestTransaction{
				TransactionalID: x.id, ProducerID: x.producer, ProducerEpoch: x.epoch, VerifyOnly: true,
			})
		}
		t := &req.Transactions[i]
		for _, tp := range x.tps {
			addVerified(t, tp)
		}
	}
	return req
}

func addVerified(t *kmsg.AddPartitionsToTxnRequestTransaction, tp metadata.TopicPartition) {
	i := slices.IndexFunc(t.Topics, func(o kmsg.AddPartitionsToTxnRequestTransactionTopic) bool { return o.Topic == tp.Topic })
	if i < 0 {
		i = len(t.Topics)
		t.Topics = append(t.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: tp.Topic})
	}
	if !slices.Contains(t.Topics[i].Partitions, tp.Partition) {
		t.Topics[i].Partitions = append(t.Topics[i].Partitions, tp.Partition)
	}
}

// answers finds the answers for x in a response.
func (x *verification) answers(resp *kmsg.AddPartitionsToTxnResponse, err error) []error {
	out := slices.Repeat([]error{kerr.NetworkException}, len(x.tps))
	if err != nil {
		return out
	}
	if resp.ErrorCode != 0 {
		return slices.Repeat([]error{kerr.ErrorForCode(resp.ErrorCode)}, len(x.tps))
	}
	for _, t := range resp.Transactions {
		if t.TransactionalID != x.id {
			continue
		}
		for _, topic := range t.Topics {
			for _, p := range topic.Partitions {
				tp := metadata.TopicPartition{Topic: topic.Topic, Partition: p.Partition}
				if i := slices.Index(x.tps, tp); i >= 0 {
					out[i] = verifyError(kerr.ErrorForCode(p.ErrorCode))
				}
			}
		}
	}
	return out
}

func verifyError(err error) error {
	if errors.Is(err, kerr.ProducerFenced) {
		return fmt.Errorf("the coordinator has fenced the producer: %w", kerr.InvalidProducerEpoch)
	}
	return err
}
