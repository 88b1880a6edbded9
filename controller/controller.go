package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"jackdaw/controller/state"
	"jackdaw/internal/run"
	"jackdaw/metadata"
	"jackdaw/peer"
	"jackdaw/zkstore"
)

const (
	// queueLength bounds the events that wait; callers wait for room.
	queueLength = 1024
	// firstRebalance is the time from taking office to the first look for imbalance, unless the interval is shorter.
	// Kafka: KafkaController.onControllerFailover.
	firstRebalance = 5 * time.Second
	// electionRetry is the pause after an election or a term that ended by an error of ZooKeeper.
	electionRetry = time.Second
	// statsInterval is how old the metrics of partitions may be: to count takes time in proportion to their number.
	statsInterval = 250 * time.Millisecond
)

// Config is what a Controller needs to know and to reach.
type Config struct {
	BrokerID metadata.BrokerID
	// InterBrokerListener names the listener that brokers reach each other by.
	InterBrokerListener string
	// IBP is inter.broker.protocol.version, for example 3.9-IV0. It chooses the versions of controller requests.
	IBP string
	// Dial connects to a broker. Each call makes a new connection.
	Dial func(ctx context.Context, b metadata.Broker) (*peer.Conn, error)
	// UncleanElection tells whether an out-of-sync replica of the topic may lead. It is called by the event loop and must
	// not block. When its answer changes to true, ElectMissing is to be called.
	UncleanElection func(topic string) bool
	// DeleteTopicEnable is delete.topic.enable.
	DeleteTopicEnable bool
	// AutoLeaderRebalance is auto.leader.rebalance.enable; ImbalancePercent and RebalanceInterval are
	// leader.imbalance.per.broker.percentage and leader.imbalance.check.interval.seconds.
	AutoLeaderRebalance bool
	ImbalancePercent    int
	RebalanceInterval   time.Duration
	// FastFailover is jackdaw.fast.failover.enable: a broker whose process is gone is treated as dead before its session expires.
	FastFailover bool
	// RetryBackoff is the pause before a request to a broker is sent again; 0 is 100 ms.
	RetryBackoff time.Duration
	// Logger and StateChange may be nil. StateChange receives what Kafka's state.change.logger does.
	Logger      *slog.Logger
	StateChange *slog.Logger
	Metrics     prometheus.Registerer
	// Now defaults to time.Now.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.StateChange == nil {
		c.StateChange = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.RetryBackoff <= 0 {
		c.RetryBackoff = 100 * time.Millisecond
	}
	if c.RebalanceInterval <= 0 {
		c.RebalanceInterval = 300 * time.Second
	}
	if c.IBP == "" {
		c.IBP = "3.9-IV0"
	}
	return c
}

// Controller is one broker's part in the election of the controller, and the controller itself while it is elected.
// Kafka: KafkaController.
type Controller struct {
	cfg     Config
	lg      *slog.Logger
	metrics *controllerMetrics
	events  chan event
	signals *signals
	answers chan answer
	active  atomic.Bool
	epoch   atomic.Int32
	// running is set while Run takes events.
	running atomic.Bool
	// stopped is closed when Run has returned.
	stopped  chan struct{}
	stopOnce sync.Once

	// What follows belongs to the event loop.

	ibp     state.IBP
	session *zkstore.Session
	// office is nil while this broker is not the controller.
	office  *office
	retired bool
	// sentinel watches the broker that is controller; nil while this broker is, or nobody.
	sentinel *sentinel
	senders  *run.Group
	// rebalance, retry and stats fire when a rebalance, an election or a count for the metrics is due.
	rebalance, retry, stats *time.Timer
	// dirty is set while stats runs.
	dirty bool
}

// office is what exists only while this broker is the controller.
type office struct {
	session  *zkstore.Session
	election zkstore.Election
	writer   *zkstore.ControllerWriter
	state    *state.State
	senders  map[metadata.BrokerID]*sender
	// probes look whether suspected brokers are back.
	probes map[metadata.BrokerID]*probe
	// legacy are the partitions of /admin/reassign_partitions that are not done yet.
	legacy map[metadata.TopicPartition]struct{}
}

// event is a piece of work for the loop.
type event struct {
	name string
	at   time.Time
	run  func(ctx context.Context)
}

// New allocates a controller; nothing happens before Run and SessionStarted.
func New(cfg Config) *Controller {
	cfg = cfg.withDefaults()
	c := &Controller{
		cfg:     cfg,
		lg:      cfg.Logger.With("component", "controller"),
		events:  make(chan event, queueLength),
		signals: newSignals(),
		answers: make(chan answer, queueLength),
		stopped: make(chan struct{}),
	}
	c.metrics = newMetrics(cfg.Metrics, c)
	return c
}

// Run is the event loop. It returns when ctx ends, after giving up the role.
func (c *Controller) Run(ctx context.Context) error {
	ibp, err := state.ParseIBP(c.cfg.IBP)
	if err != nil {
		return fmt.Errorf("inter.broker.protocol.version: %w", err)
	}
	c.ibp = ibp
	c.senders = run.New(ctx, c.cfg.Logger)
	c.running.Store(true)
	c.rebalance, c.retry, c.stats = stoppedTimer(), stoppedTimer(), stoppedTimer()
	defer func() {
		c.leave()
		c.dismiss()
		c.senders.Stop()
		c.stopOnce.Do(func() { close(c.stopped) })
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case ev := <-c.events:
			c.handle(ctx, ev)
		case <-c.signals.wake:
			c.handle(ctx, event{name: "zookeeper change", at: c.cfg.Now(), run: c.changed})
		case a := <-c.answers:
			c.handle(ctx, event{name: "broker answer", at: a.at, run: func(ctx context.Context) { c.answered(ctx, a) }})
		case <-c.rebalance.C:
			c.handle(ctx, event{name: "leader rebalance", at: c.cfg.Now(), run: c.rebalanceLeaders})
		case <-c.retry.C:
			c.handle(ctx, event{name: "election", at: c.cfg.Now(), run: c.checkController})
		case <-c.stats.C:
			c.publishStats()
		}
	}
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// handle runs one event and keeps count of it.
func (c *Controller) handle(ctx context.Context, ev event) {
	start := c.cfg.Now()
	c.metrics.queueTime.Observe(millis(start.Sub(ev.at)))
	ev.run(ctx)
	took := c.cfg.Now().Sub(start)
	c.metrics.busy.Add(took.Seconds())
	c.metrics.processing.WithLabelValues(ev.name).Observe(millis(took))
	if !c.dirty {
		c.dirty = true
		c.stats.Reset(statsInterval)
	}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// errStopped is the answer to callers after Run has ended.
var errStopped = errors.New("controller has stopped")

// submit puts an event into the queue.
func (c *Controller) submit(ctx context.Context, name string, f func(ctx context.Context)) error {
	select {
	case c.events <- event{name: name, at: c.cfg.Now(), run: f}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.stopped:
		return errStopped
	}
}

// do runs f in the loop and waits for it. f must not write to anything that the caller reads after an error, since it may
// run later still.
func (c *Controller) do(ctx context.Context, name string, f func(ctx context.Context)) error {
	done := make(chan struct{})
	if err := c.submit(ctx, name, func(ctx context.Context) { defer close(done); f(ctx) }); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.stopped:
		return errStopped
	}
}

// Active reports whether this broker is the controller.
func (c *Controller) Active() bool { return c.active.Load() }

// Epoch returns the epoch of the last term that this broker was controller for, 0 before any.
func (c *Controller) Epoch() int32 { return c.epoch.Load() }

// Resign gives the role up for good, before this broker closes its session.
func (c *Controller) Resign(ctx context.Context) error {
	var err error
	wait := c.do(ctx, "resignation", func(ctx context.Context) {
		c.retired = true
		if c.office == nil {
			return
		}
		o := c.office
		c.leave()
		err = o.session.Resign(ctx, o.election)
	})
	if wait != nil {
		if errors.Is(wait, errStopped) {
			return nil
		}
		return wait
	}
	return err
}

// ElectMissing elects leaders for partitions that have none, if there can be one by now. It is to be called when unclean
// elections were allowed for a topic, or by default.
func (c *Controller) ElectMissing(ctx context.Context) error {
	return c.submit(ctx, "unclean election allowed", func(ctx context.Context) {
		if c.office != nil {
			c.office.state.ElectMissing()
			c.drain(ctx)
		}
	})
}
