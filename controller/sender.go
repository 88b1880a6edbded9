package controller

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/controller/state"
	"jackdaw/metadata"
	"jackdaw/peer"
)

// maxQueued bounds what waits for one broker. A broker that is so far behind (stopped, or cut off while its session lives) gets
// a summary instead: see sender.push.
const maxQueued = 10_000

// answer is a broker's response to a control request.
type answer struct {
	office *office
	broker metadata.Broker
	req    kmsg.Request
	resp   kmsg.Response
	at     time.Time
}

// sender brings control requests to one life of one broker, in order, one in flight, each again and again until it is
// answered or the broker is gone. While there is nothing to send it watches the connection. Kafka: RequestSendThread,
// ControllerChannelManager.
type sender struct {
	id      metadata.BrokerID
	epoch   int64
	backoff time.Duration
	dial    func(ctx context.Context, b metadata.Broker) (*peer.Conn, error)
	deliver func(ctx context.Context, a answer)
	// suspect is told when the process of the broker seems to be gone; nil when nobody wants to know.
	suspect func(ctx context.Context)
	now     func() time.Time
	lg      *slog.Logger
	stop    context.CancelFunc
	length  atomic.Int64

	mu struct {
		sync.Mutex
		// broker has the address to use, which may change during a life.
		broker metadata.Broker
		queue  []queued
		// wake ends the wait of a sender that has nothing to do; nil while it works.
		wake context.CancelFunc
	}
}

// queued is a request that waits.
type queued struct {
	body kmsg.Request
	at   time.Time
}

// push queues a request. false says that the queue was too long: only the requests to stop replicas were kept, and the broker
// must be sent everything else anew.
func (s *sender) push(b metadata.Broker, body kmsg.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.broker = b
	fits := len(s.mu.queue) < maxQueued
	if !fits {
		s.mu.queue = slices.DeleteFunc(s.mu.queue, func(q queued) bool {
			_, stop := q.body.(*kmsg.StopReplicaRequest)
			return !stop
		})
	}
	s.mu.queue = append(s.mu.queue, queued{body, s.now()})
	s.length.Store(int64(len(s.mu.queue)))
	if s.mu.wake != nil {
		s.mu.wake()
	}
	return fits
}

// pop returns the first request that waits.
func (s *sender) pop() (queued, metadata.Broker, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mu.queue) == 0 {
		return queued{}, metadata.Broker{}, false
	}
	q := s.mu.queue[0]
	s.mu.queue[0] = queued{}
	s.mu.queue = s.mu.queue[1:]
	s.length.Store(int64(len(s.mu.queue)))
	return q, s.mu.broker, true
}

func (s *sender) address() metadata.Broker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.broker
}

// run sends until ctx ends.
func (s *sender) run(ctx context.Context) error {
	l := &line{dial: func(ctx context.Context) (*peer.Conn, error) { return s.dial(ctx, s.address()) }}
	defer l.close()
	for ctx.Err() == nil {
		q, b, ok := s.pop()
		if !ok {
			s.idle(ctx, l)
			continue
		}
		resp := s.send(ctx, l, q.body)
		if resp == nil {
			return nil
		}
		s.report(b, q, resp)
		s.deliver(ctx, answer{broker: b, req: q.body, resp: resp, at: s.now()})
	}
	return nil
}

// send tries until there is an answer; nil when ctx ended.
func (s *sender) send(ctx context.Context, l *line, body kmsg.Request) kmsg.Response {
	for failures := 0; ; failures++ {
		resp, err := l.request(ctx, body)
		if err == nil {
			return resp
		}
		if ctx.Err() != nil {
			return nil
		}
		if failures == 0 {
			s.lg.Warn("control request failed, it is sent again until the broker answers", "request", kmsg.NameForKey(body.Key()), "err", err)
		}
		s.judge(ctx, l)
		if pause(ctx, s.backoff); ctx.Err() != nil {
			return nil
		}
	}
}

// idle waits until something is queued or ctx ends. Meanwhile it watches the connection, if it has ever been made.
func (s *sender) idle(ctx context.Context, l *line) {
	wait, wake := context.WithCancel(ctx)
	defer wake()
	s.mu.Lock()
	queued := len(s.mu.queue) > 0
	s.mu.wake = wake
	s.mu.Unlock()
	defer s.awake()
	if queued {
		return
	}
	for s.suspect != nil && wait.Err() == nil {
		if err := l.idle(wait); err != nil {
			s.judge(ctx, l)
			pause(wait, s.backoff)
		}
	}
	<-wait.Done()
}

func (s *sender) awake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.wake = nil
}

// judge reports a broker whose process is gone by all evidence. Nothing more is to be told of this life of it.
func (s *sender) judge(ctx context.Context, l *line) {
	if s.suspect != nil && l.dead() {
		s.suspect(ctx)
		s.suspect = nil
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// errorCode returns the error of a whole response.
func errorCode(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.LeaderAndISRResponse:
		return r.ErrorCode
	case *kmsg.UpdateMetadataResponse:
		return r.ErrorCode
	case *kmsg.StopReplicaResponse:
		return r.ErrorCode
	}
	return 0
}

// report logs refusals. A stale broker epoch means that the broker has registered anew.
func (s *sender) report(b metadata.Broker, q queued, resp kmsg.Response) {
	if code := errorCode(resp); code != 0 {
		s.lg.Warn("control request refused", "request", kmsg.NameForKey(q.body.Key()), "brokerEpoch", b.Epoch, "err", kerr.ErrorForCode(code))
	}
}

// dispatch queues requests at the senders of their brokers. A new life of a broker gets a new sender, so that nothing that was
// meant for the former one reaches it.
func (c *Controller) dispatch(o *office, requests []state.Request) {
	var behind []metadata.BrokerID
	for _, r := range requests {
		s := o.senders[r.Broker.ID]
		if s == nil || s.epoch != r.Broker.Epoch {
			if s != nil {
				s.stop()
			}
			s = c.startSender(o, r.Broker)
			o.senders[r.Broker.ID] = s
		}
		if !s.push(r.Broker, r.Body) && !slices.Contains(behind, r.Broker.ID) {
			behind = append(behind, r.Broker.ID)
		}
	}
	if len(behind) > 0 {
		c.lg.Warn("brokers do not take their control requests, what waits is replaced by the present state", "brokers", behind)
		o.state.Refresh(behind)
	}
}

func (c *Controller) startSender(o *office, b metadata.Broker) *sender {
	ctx, cancel := context.WithCancel(c.senders.Context())
	s := &sender{
		id: b.ID, epoch: b.Epoch, backoff: c.cfg.RetryBackoff, dial: c.cfg.Dial, now: c.cfg.Now, stop: cancel,
		lg: c.lg.With("to", b.ID),
	}
	if c.cfg.FastFailover && b.ID != c.cfg.BrokerID {
		s.suspect = func(ctx context.Context) { c.brokerGone(ctx, o, b) }
	}
	s.deliver = func(ctx context.Context, a answer) {
		a.office = o
		select {
		case c.answers <- a:
		case <-ctx.Done():
		}
	}
	c.senders.Go("controller-sender-"+strconv.Itoa(int(b.ID)), func(context.Context) error {
		defer cancel()
		return s.run(ctx)
	})
	return s
}

// retainSenders ends the senders of brokers that are gone.
func (c *Controller) retainSenders(o *office) {
	live := map[metadata.BrokerID]int64{}
	for _, b := range o.state.Brokers() {
		live[b.ID] = b.Epoch
	}
	for id, s := range o.senders {
		if epoch, ok := live[id]; !ok || epoch != s.epoch {
			s.stop()
			delete(o.senders, id)
			c.metrics.queueSize.DeleteLabelValues(strconv.Itoa(int(id)))
		}
	}
}

// answered lets the state react to a broker's answer. Answers from an earlier term are void.
func (c *Controller) answered(ctx context.Context, a answer) {
	o := c.office
	if o == nil || o != a.office {
		return
	}
	if errorCode(a.resp) == kerr.StaleControllerEpoch.Code {
		c.checkController(ctx) // the broker has heard of a later one
		return
	}
	switch resp := a.resp.(type) {
	case *kmsg.LeaderAndISRResponse:
		o.state.LeaderAndISRAnswered(a.broker, resp)
	case *kmsg.StopReplicaResponse:
		o.state.StopReplicaAnswered(a.broker.ID, a.req.(*kmsg.StopReplicaRequest), resp)
	default:
		return
	}
	c.drain(ctx)
}
