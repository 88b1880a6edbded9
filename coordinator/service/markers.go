package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/coordinator/txn"
	"jackdaw/internal/metrics"
	"jackdaw/internal/run"
	"jackdaw/metadata"
)

// MarkerConfig says how transaction markers reach the leaders of partitions.
type MarkerConfig struct {
	// Leader returns the leader of a partition, metadata.NoBroker while there is none. exists is false when the topic or the
	// partition is not there (any more), which ends the wait for its marker. Called from many goroutines.
	Leader func(tp metadata.TopicPartition) (leader metadata.BrokerID, exists bool)
	// Write sends markers to a broker, which may be this one. The sender has one call in work for each broker.
	Write func(ctx context.Context, to metadata.BrokerID, req *kmsg.WriteTxnMarkersRequest) (*kmsg.WriteTxnMarkersResponse, error)
	// Retry is the pause before markers that were not written are sent again, 100 ms if it is 0. No key.
	Retry time.Duration
}

// maxMarkers bounds the markers of one request.
const maxMarkers = 1000

// markerSender writes the markers of decided transactions to the leaders of their partitions. It tries until each partition
// has its marker or is gone, or the coordinator resigns; leaders move, so each try looks for the leader anew.
// Kafka: TransactionMarkerChannelManager.
type markerSender struct {
	cfg MarkerConfig
	lg  *slog.Logger

	mu struct {
		sync.Mutex
		tasks *run.Group // nil before start
		// queues are the markers for each broker; a broker has an entry while a goroutine works on it.
		queues map[metadata.BrokerID][]delivery
		// parked wait for the next try.
		parked []delivery
		// jobs by partition of __transaction_state.
		jobs map[int32]map[*markerJob]bool
	}
	wake chan struct{} // of capacity 1: something is parked
}

// markerJob is one transaction. Its fields left and over are guarded by markerSender.mu.
type markerJob struct {
	partition int32
	epoch     metadata.LeaderEpoch
	m         txn.Markers
	left      int  // partitions without marker
	over      bool // finished, or given up
	written   func([]metadata.TopicPartition)
}

// delivery is a part of a job: partitions with one leader.
type delivery struct {
	job *markerJob
	tps []metadata.TopicPartition
}

func newMarkerSender(cfg MarkerConfig, lg *slog.Logger, reg prometheus.Registerer) *markerSender {
	if cfg.Retry == 0 {
		cfg.Retry = 100 * time.Millisecond
	}
	s := &markerSender{cfg: cfg, lg: lg.With("component", "transaction-markers"), wake: make(chan struct{}, 1)}
	s.mu.queues = map[metadata.BrokerID][]delivery{}
	s.mu.jobs = map[int32]map[*markerJob]bool{}
	bean := metrics.MBean{Domain: "kafka.coordinator.transaction", Type: "TransactionMarkerChannelManager", Name: "UnknownDestinationQueueSize"}
	metrics.NewGaugeFunc(reg, bean, "Markers that wait for a leader, or to be sent again.", s.waiting)
	return s
}

// waiting counts what is parked.
func (s *markerSender) waiting() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return float64(len(s.mu.parked))
}

// start runs the sender's goroutines in tasks.
func (s *markerSender) start(tasks *run.Group) {
	s.mu.Lock()
	s.mu.tasks = tasks
	s.mu.Unlock()
	tasks.Go("transaction-marker-retry", s.retry)
}

// send begins a job of a coordinator partition. written is called, from any goroutine, with the partitions that have their
// marker or are gone: once for each of them, and never after the job was given up.
func (s *markerSender) send(partition int32, epoch metadata.LeaderEpoch, m txn.Markers, written func([]metadata.TopicPartition)) {
	job := &markerJob{partition: partition, epoch: epoch, m: m, left: len(m.Partitions), written: written}
	s.mu.Lock()
	if s.mu.jobs[partition] == nil {
		s.mu.jobs[partition] = map[*markerJob]bool{}
	}
	s.mu.jobs[partition][job] = true
	s.mu.Unlock()
	s.route(delivery{job, m.Partitions})
}

// drop gives up the jobs of a partition from before an epoch; with NoEpoch all of them.
func (s *markerSender) drop(partition int32, epoch metadata.LeaderEpoch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for job := range s.mu.jobs[partition] {
		if epoch == metadata.NoEpoch || job.epoch < epoch {
			s.endLocked(job)
		}
	}
}

func (s *markerSender) endLocked(job *markerJob) {
	job.over = true
	delete(s.mu.jobs[job.partition], job)
	if len(s.mu.jobs[job.partition]) == 0 {
		delete(s.mu.jobs, job.partition)
	}
}

// route queues a delivery for the leaders of its partitions, and parks those that have none.
func (s *markerSender) route(d delivery) {
	byLeader := map[metadata.BrokerID][]metadata.TopicPartition{}
	var gone []metadata.TopicPartition
	for _, tp := range d.tps {
		leader, exists := s.cfg.Leader(tp)
		if !exists {
			s.lg.Info("no marker for a partition that is gone", "topic", tp.Topic, "partition", tp.Partition,
				"transactionalID", d.job.m.TransactionalID)
			gone = append(gone, tp)
			continue
		}
		byLeader[leader] = append(byLeader[leader], tp)
	}
	s.written(d.job, gone)
	for leader, tps := range byLeader {
		if leader < 0 {
			s.park(delivery{d.job, tps})
			continue
		}
		s.enqueue(leader, delivery{d.job, tps})
	}
}

// enqueue queues a delivery for a broker, and starts to work on its queue.
func (s *markerSender) enqueue(leader metadata.BrokerID, d delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.job.over || s.mu.tasks == nil {
		return
	}
	q, working := s.mu.queues[leader]
	s.mu.queues[leader] = append(q, d)
	if !working {
		s.mu.tasks.Go("transaction-markers", func(ctx context.Context) error {
			s.work(ctx, leader)
			return nil
		})
	}
}

func (s *markerSender) park(d delivery) {
	s.mu.Lock()
	if !d.job.over {
		s.mu.parked = append(s.mu.parked, d)
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// retry routes what is parked again, after a pause.
func (s *markerSender) retry(ctx context.Context) error {
	pause := time.NewTimer(s.cfg.Retry)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		}
		pause.Reset(s.cfg.Retry)
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
		s.mu.Lock()
		parked := s.mu.parked
		s.mu.parked = nil
		s.mu.Unlock()
		for _, d := range parked {
			s.route(d)
		}
	}
}

// written tells of partitions of a job that need no marker any more.
func (s *markerSender) written(job *markerJob, tps []metadata.TopicPartition) {
	if len(tps) == 0 {
		return
	}
	s.mu.Lock()
	over := job.over
	if job.left -= len(tps); job.left == 0 && !over {
		s.endLocked(job)
	}
	s.mu.Unlock()
	if !over {
		job.written(tps)
	}
}

// giveUp ends a job whose markers the partitions refuse: a newer coordinator or producer is there.
func (s *markerSender) giveUp(job *markerJob, tp metadata.TopicPartition, err error) {
	s.mu.Lock()
	first := !job.over
	if first {
		s.endLocked(job)
	}
	s.mu.Unlock()
	if first {
		s.lg.Warn("markers refused", "transactionalID", job.m.TransactionalID, "producerID", job.m.ProducerID,
			"producerEpoch", job.m.ProducerEpoch, "topic", tp.Topic, "partition", tp.Partition, "err", err)
	}
}

// work sends what is queued for a broker, one request after the other, until nothing is.
func (s *markerSender) work(ctx context.Context, leader metadata.BrokerID) {
	for ctx.Err() == nil {
		batch := s.take(leader)
		if len(batch) == 0 {
			return
		}
		resp, err := s.cfg.Write(ctx, leader, markersRequest(batch))
		if err != nil {
			s.lg.Debug("markers not sent", "broker", leader, "err", err)
			for _, d := range batch {
				s.park(d)
			}
			continue
		}
		codes := codesByProducer(resp)
		for _, d := range batch {
			s.settle(d, codes[d.job.m.ProducerID])
		}
	}
}

// take removes up to maxMarkers deliveries from the queue of a broker; when it is empty the broker's goroutine must end.
func (s *markerSender) take(leader metadata.BrokerID) []delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	for q := s.mu.queues[leader]; len(q) > 0; {
		n := min(len(q), maxMarkers)
		var batch []delivery
		for _, d := range q[:n] {
			if !d.job.over {
				batch = append(batch, d)
			}
		}
		q = q[n:]
		s.mu.queues[leader] = q
		if len(batch) > 0 {
			return batch
		}
	}
	delete(s.mu.queues, leader)
	return nil
}

func markersRequest(batch []delivery) *kmsg.WriteTxnMarkersRequest {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version = 1
	for _, d := range batch {
		m := kmsg.NewWriteTxnMarkersRequestMarker()
		m.ProducerID, m.ProducerEpoch, m.Committed = d.job.m.ProducerID, d.job.m.ProducerEpoch, d.job.m.Commit
		m.CoordinatorEpoch = int32(d.job.m.CoordinatorEpoch)
		for _, tp := range d.tps {
			if n := len(m.Topics); n == 0 || m.Topics[n-1].Topic != tp.Topic {
				m.Topics = append(m.Topics, kmsg.WriteTxnMarkersRequestMarkerTopic{Topic: tp.Topic})
			}
			last := &m.Topics[len(m.Topics)-1]
			last.Partitions = append(last.Partitions, tp.Partition)
		}
		req.Markers = append(req.Markers, m)
	}
	return req
}

func codesByProducer(resp *kmsg.WriteTxnMarkersResponse) map[int64]map[metadata.TopicPartition]int16 {
	out := map[int64]map[metadata.TopicPartition]int16{}
	for _, m := range resp.Markers {
		codes := out[m.ProducerID]
		if codes == nil {
			codes = map[metadata.TopicPartition]int16{}
			out[m.ProducerID] = codes
		}
		for _, t := range m.Topics {
			for _, p := range t.Partitions {
				codes[metadata.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = p.ErrorCode
			}
		}
	}
	return out
}

// settle goes through the answer for a delivery: what is written counts, what may succeed later is parked.
// Kafka: TransactionMarkerRequestCompletionHandler.
func (s *markerSender) settle(d delivery, codes map[metadata.TopicPartition]int16) {
	var written, again []metadata.TopicPartition
	for _, tp := range d.tps {
		code, answered := codes[tp]
		err := kerr.ErrorForCode(code)
		switch {
		case !answered:
			again = append(again, tp)
		case err == nil, errors.Is(err, kerr.UnsupportedForMessageFormat): // an old format has no transactions to end
			written = append(written, tp)
		case errors.Is(err, kerr.InvalidProducerEpoch), errors.Is(err, kerr.TransactionCoordinatorFenced):
			s.giveUp(d.job, tp, err)
			return
		default:
			s.lg.Debug("marker not written", "topic", tp.Topic, "partition", tp.Partition, "err", err)
			again = append(again, tp)
		}
	}
	s.written(d.job, written)
	if len(again) > 0 {
		s.park(delivery{d.job, again})
	}
}
