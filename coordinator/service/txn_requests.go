package service

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator"
	"jackdaw/coordinator/txn"
	"jackdaw/metadata"
	"jackdaw/protocol"
)

// First versions in which clients know PRODUCER_FENCED; before, they hear INVALID_PRODUCER_EPOCH.
const (
	initKnowsFenced   = 4
	othersKnowFenced  = 2
	verifyKnowsAbort  = 5 // AddPartitionsToTxn with TRANSACTION_ABORTABLE; before, INVALID_TXN_STATE
	addManyTxns       = 4 // AddPartitionsToTxn with a list of transactions
	listKnowsDuration = 1
)

// fencedCode is the code of err for a client of a version.
func fencedCode(err error, version, knows int16) int16 {
	if version < knows && errors.Is(err, kerr.ProducerFenced) {
		err = kerr.InvalidProducerEpoch
	}
	return protocol.ErrorCode(err)
}

// InitProducerID answers InitProducerId 0-5, with and without a transactional id.
// Kafka: KafkaApis.handleInitProducerIdRequest.
func (x *Transactions) InitProducerID(ctx context.Context, req *kmsg.InitProducerIDRequest) *kmsg.InitProducerIDResponse {
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	res, err := x.initProducerID(ctx, req)
	if err == nil {
		err = res.Err
	}
	if err != nil {
		resp.ErrorCode = fencedCode(err, req.Version, initKnowsFenced)
		resp.ProducerID, resp.ProducerEpoch = -1, -1
		return resp
	}
	resp.ProducerID, resp.ProducerEpoch = res.ProducerID, res.Epoch
	return resp
}

func (x *Transactions) initProducerID(ctx context.Context, req *kmsg.InitProducerIDRequest) (txn.InitResult, error) {
	r := txn.InitRequest{Timeout: time.Duration(req.TransactionTimeoutMillis) * time.Millisecond, FreshID: -1}
	if req.Version >= 3 {
		switch hasID, hasEpoch := req.ProducerID != -1, req.ProducerEpoch != -1; {
		case hasID != hasEpoch:
			return txn.InitResult{}, kerr.InvalidRequest
		case hasID:
			r.Expected = &txn.Producer{ID: req.ProducerID, Epoch: req.ProducerEpoch}
		}
	}
	if req.TransactionalID == nil {
		id, err := x.freshID(ctx)
		return txn.InitResult{ProducerID: id}, err
	}
	if r.ID = *req.TransactionalID; r.ID == "" {
		return txn.InitResult{}, kerr.InvalidRequest
	}
	if err := x.cfg.CheckTimeout(r.Timeout); err != nil {
		return txn.InitResult{}, err // before the coordinator is looked for, as in Kafka
	}
	op := func(s *txn.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
		return s.InitProducerID(now, t, r)
	}
	res, err := call[txn.InitResult](ctx, x, r.ID, op)
	if err != nil || !res.NeedsID {
		return res, err
	}
	if r.FreshID, err = x.freshID(ctx); err != nil {
		return res, err
	}
	return call[txn.InitResult](ctx, x, r.ID, op)
}

func (x *Transactions) freshID(ctx context.Context) (int64, error) {
	id, err := x.cfg.ProducerIDs.Next(ctx)
	if err != nil {
		x.cfg.Logger.Debug("no producer id", "err", err)
		return -1, kerr.CoordinatorLoadInProgress
	}
	return id, nil
}

// AddPartitions answers AddPartitionsToTxn 0-5. denied tells of a topic that the client may not write to; nil denies none.
// Kafka: KafkaApis.handleAddPartitionsToTxnRequest.
func (x *Transactions) AddPartitions(
	ctx context.Context, req *kmsg.AddPartitionsToTxnRequest, denied func(topic string) bool,
) *kmsg.AddPartitionsToTxnResponse {
	resp := req.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	if req.Version >= addManyTxns {
		resp.Transactions = make([]kmsg.AddPartitionsToTxnResponseTransaction, len(req.Transactions))
		for i := range req.Transactions {
			resp.Transactions[i] = x.addTransaction(ctx, req.Version, &req.Transactions[i], denied)
		}
		return resp
	}
	one := kmsg.AddPartitionsToTxnRequestTransaction{
		TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch,
		Topics: make([]kmsg.AddPartitionsToTxnRequestTransactionTopic, len(req.Topics)),
	}
	for i, t := range req.Topics {
		one.Topics[i] = kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: t.Topic, Partitions: t.Partitions}
	}
	for _, t := range x.addTransaction(ctx, req.Version, &one, denied).Topics {
		out := kmsg.AddPartitionsToTxnResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			out.Partitions = append(out.Partitions, kmsg.AddPartitionsToTxnResponseTopicPartition{Partition: p.Partition, ErrorCode: p.ErrorCode})
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// addTransaction adds the partitions of one transaction, all or none, or verifies them.
func (x *Transactions) addTransaction(
	ctx context.Context, version int16, req *kmsg.AddPartitionsToTxnRequestTransaction, denied func(topic string) bool,
) kmsg.AddPartitionsToTxnResponseTransaction {
	var tps []metadata.TopicPartition
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			tps = append(tps, metadata.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	errs := x.refused(tps, denied)
	if errs == nil {
		errs = x.addOrVerify(ctx, req, tps)
	}
	resp := kmsg.AddPartitionsToTxnResponseTransaction{TransactionalID: req.TransactionalID}
	for _, t := range req.Topics {
		out := kmsg.AddPartitionsToTxnResponseTransactionTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			out.Partitions = append(out.Partitions, kmsg.AddPartitionsToTxnResponseTransactionTopicPartition{
				Partition: p, ErrorCode: addCode(errs[0], version),
			})
			errs = errs[1:]
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func addCode(err error, version int16) int16 {
	if version < verifyKnowsAbort && errors.Is(err, kerr.TransactionAbortable) {
		err = kerr.InvalidTxnState
	}
	return fencedCode(err, version, othersKnowFenced)
}

// refused returns nil if all partitions may be added. If not, those that may not have their error, and the others were not
// attempted.
func (x *Transactions) refused(tps []metadata.TopicPartition, denied func(topic string) bool) []error {
	errs, bad := make([]error, len(tps)), false
	for i, tp := range tps {
		switch {
		case denied != nil && denied(tp.Topic):
			errs[i], bad = kerr.TopicAuthorizationFailed, true
		case !x.cfg.PartitionExists(tp):
			errs[i], bad = kerr.UnknownTopicOrPartition, true
		default:
			errs[i] = kerr.OperationNotAttempted
		}
	}
	if !bad {
		return nil
	}
	return errs
}

func (x *Transactions) addOrVerify(
	ctx context.Context, req *kmsg.AddPartitionsToTxnRequestTransaction, tps []metadata.TopicPartition,
) []error {
	p := txn.Producer{ID: req.ProducerID, Epoch: req.ProducerEpoch}
	id := req.TransactionalID
	var errs []error
	var err error
	if req.VerifyOnly {
		errs, err = call[[]error](ctx, x, id, func(s *txn.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
			return s.VerifyPartitions(now, t, id, p, tps)
		})
	} else {
		err = x.add(ctx, id, p, tps)
	}
	if errs != nil {
		return errs
	}
	errs = make([]error, len(tps))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

func (x *Transactions) add(ctx context.Context, id string, p txn.Producer, tps []metadata.TopicPartition) error {
	if id == "" {
		return kerr.InvalidRequest
	}
	return x.callResult(ctx, id, func(s *txn.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
		return s.AddPartitions(now, t, id, p, tps)
	})
}

// AddOffsets answers AddOffsetsToTxn 0-4: the group's partition of __consumer_offsets joins the transaction.
// Kafka: KafkaApis.handleAddOffsetsToTxnRequest.
func (x *Transactions) AddOffsets(ctx context.Context, req *kmsg.AddOffsetsToTxnRequest) *kmsg.AddOffsetsToTxnResponse {
	resp := req.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
	tps := []metadata.TopicPartition{{Topic: GroupsTopic, Partition: x.cfg.GroupPartitionFor(req.Group)}}
	err := x.add(ctx, req.TransactionalID, txn.Producer{ID: req.ProducerID, Epoch: req.ProducerEpoch}, tps)
	resp.ErrorCode = fencedCode(err, req.Version, othersKnowFenced)
	return resp
}

// EndTxn answers EndTxn 0-4. Kafka: KafkaApis.handleEndTxnRequest.
func (x *Transactions) EndTxn(ctx context.Context, req *kmsg.EndTxnRequest) *kmsg.EndTxnResponse {
	resp := req.ResponseKind().(*kmsg.EndTxnResponse)
	id, p, commit := req.TransactionalID, txn.Producer{ID: req.ProducerID, Epoch: req.ProducerEpoch}, req.Commit
	var err error = kerr.InvalidRequest
	if id != "" {
		err = x.callResult(ctx, id, func(s *txn.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
			return s.EndTxn(now, t, id, p, commit)
		})
	}
	resp.ErrorCode = fencedCode(err, req.Version, othersKnowFenced)
	return resp
}

// DescribeTransactions answers DescribeTransactions 0. Topics that the client may not see are the caller's to take out.
// Kafka: KafkaApis.handleDescribeTransactionsRequest.
func (x *Transactions) DescribeTransactions(
	ctx context.Context, req *kmsg.DescribeTransactionsRequest,
) *kmsg.DescribeTransactionsResponse {
	resp := req.ResponseKind().(*kmsg.DescribeTransactionsResponse)
	resp.TransactionStates = make([]kmsg.DescribeTransactionsResponseTransactionState, len(req.TransactionalIDs))
	for i, id := range req.TransactionalIDs {
		d := txn.Description{Err: kerr.InvalidRequest}
		if id != "" {
			var err error
			d, err = call[txn.Description](ctx, x, id,
				func(s *txn.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
					return s.Describe(now, t, id)
				})
			if err != nil {
				d.Err = err
			}
		}
		resp.TransactionStates[i] = describedTxn(id, &d)
	}
	return resp
}

func describedTxn(id string, d *txn.Description) kmsg.DescribeTransactionsResponseTransactionState {
	out := kmsg.DescribeTransactionsResponseTransactionState{
		ErrorCode: protocol.ErrorCode(d.Err), TransactionalID: id, State: d.State, TimeoutMillis: int32(d.Timeout.Milliseconds()),
		StartTimestamp: d.Start, ProducerID: d.Producer.ID, ProducerEpoch: d.Producer.Epoch,
	}
	for _, tp := range d.Partitions {
		if n := len(out.Topics); n == 0 || out.Topics[n-1].Topic != tp.Topic {
			out.Topics = append(out.Topics, kmsg.DescribeTransactionsResponseTransactionStateTopic{Topic: tp.Topic})
		}
		last := &out.Topics[len(out.Topics)-1]
		last.Partitions = append(last.Partitions, tp.Partition)
	}
	return out
}

// ListTransactions answers ListTransactions 0-1 with the ids that this broker coordinates. Ids that the client may not see are the
// caller's to take out.
// Kafka: TransactionStateManager.listTransactionStates.
func (x *Transactions) ListTransactions(ctx context.Context, req *kmsg.ListTransactionsRequest) *kmsg.ListTransactionsResponse {
	resp := req.ResponseKind().(*kmsg.ListTransactionsResponse)
	resp.TransactionStates = []kmsg.ListTransactionsResponseTransactionState{}
	partitions, loading := x.rt.Active()
	if loading {
		resp.ErrorCode = protocol.ErrorCode(kerr.CoordinatorLoadInProgress)
		return resp
	}
	f := txn.Filter{ProducerIDs: append([]int64(nil), req.ProducerIDFilters...), OpenFor: -1}
	if req.Version >= listKnowsDuration && req.DurationFilterMillis >= 0 {
		f.OpenFor = time.Duration(req.DurationFilterMillis) * time.Millisecond
	}
	for _, name := range req.StateFilters {
		if st, ok := txn.ParseState(name); ok {
			f.States = append(f.States, st)
		} else {
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, name)
		}
	}
	if len(f.States) == 0 && len(req.StateFilters) > 0 {
		return resp // no state that there is
	}
	for _, p := range partitions {
		body, err := x.rt.Call(ctx, p, func(s *txn.Shard, now time.Time, t coordinator.Ticket) coordinator.Effects {
			return s.List(now, t, f)
		})
		if err != nil {
			continue // resigned meanwhile: its new coordinator lists them
		}
		for _, l := range body.([]txn.Listing) {
			resp.TransactionStates = append(resp.TransactionStates, kmsg.ListTransactionsResponseTransactionState{
				TransactionalID: l.ID, ProducerID: l.ProducerID, TransactionState: l.State,
			})
		}
	}
	return resp
}
