package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/internal/run"
	"jackdaw/metadata"
)

// stopTimeout bounds each step of the stop that waits for somebody else.
const stopTimeout = 10 * time.Second

// stop ends what start opened, in the order in which nothing is missed by what still runs. It works after a start that
// failed half way.
func (b *Broker) stop(parts *run.Group) error {
	ctx := context.Background()
	if b.brokerEpoch.Load() >= 0 && b.cfg.ControlledShutdown && parts.Context().Err() == nil {
		b.controlledShutdown(ctx)
	}
	var errs []error
	step := func(name string, f func(context.Context) error) {
		ctx, cancel := context.WithTimeout(ctx, stopTimeout)
		defer cancel()
		if err := f(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", name, err))
		}
	}
	// Nothing can be waited for any more: joins and long polls are answered now.
	if b.stopCoordinators != nil {
		b.stopCoordinators()
		b.replicas.Drain()
	}
	if b.network != nil {
		step("network", b.network.Close)
	}
	if b.controller != nil {
		step("controller", b.controller.Resign)
	}
	if b.replicas != nil {
		step("replicas", b.replicas.Close)
	}
	if b.toController != nil {
		step("controller channel", func(context.Context) error { return b.toController.Close() })
	}
	if b.logsOpen {
		// Flushing may take long on a slow disk, and must not be cut short.
		if err := b.logs.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop logs: %w", err))
		}
	}
	if b.zk != nil {
		b.zk.Close()
	}
	parts.Stop()
	if b.zkServer != nil {
		errs = append(errs, b.zkServer.Close())
	}
	b.said.Info(fmt.Sprintf("[KafkaServer id=%d] shut down completed", b.id)) //nolint:sloglint // Kafka's line, which scripts wait for
	return errors.Join(errs...)
}

// controlledShutdown asks the controller to move leaders away before anything stops. It gives up after its retries:
// then the controller sees the end of the session. Kafka: KafkaServer.controlledShutdown.
//
// Differs from Kafka: it does not sit out its retries when the partitions that are left have no other replica alive, or when
// ZooKeeper is not reached, without which no leader can be elected.
func (b *Broker) controlledShutdown(ctx context.Context) {
	for attempt := range b.cfg.ShutdownRetries + 1 {
		if attempt > 0 {
			b.log.Warn("trying controlled shutdown again", "attempt", attempt+1)
			time.Sleep(b.cfg.ShutdownBackoff)
		}
		remaining, err := b.askControlledShutdown(ctx)
		if err == nil && len(remaining) == 0 {
			b.log.Info("controlled shutdown succeeded")
			return
		}
		b.log.Info("controlled shutdown not complete", "partitions", len(remaining), "err", err)
		if err != nil && !b.hasZooKeeper() {
			break
		}
		if err == nil && !anyOther(b.cache.Image(), b.id, remaining) {
			b.log.Warn("no other replica of these partitions is alive, they have no leader until this broker returns", "partitions", len(remaining))
			return
		}
	}
	b.log.Warn("going on with an unclean shutdown: leaders move when the zookeeper session ends")
}

func (b *Broker) hasZooKeeper() bool {
	session := b.zk.Session()
	return session != nil && session.Connected()
}

// blindTimeout is how long a controller is waited for that may not reach ZooKeeper any more than this broker does.
const blindTimeout = 2 * time.Second

func (b *Broker) askControlledShutdown(ctx context.Context) ([]kmsg.ControlledShutdownResponsePartitionsRemaining, error) {
	limit := min(b.cfg.Controller.SocketTimeout, stopTimeout)
	if !b.hasZooKeeper() {
		limit = min(limit, blindTimeout)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req := kmsg.NewPtrControlledShutdownRequest()
	req.SetVersion(3)
	req.BrokerID, req.BrokerEpoch = int32(b.id), b.brokerEpoch.Load()
	resp, err := b.toController.Request(ctx, req)
	if err != nil {
		return nil, err
	}
	out := resp.(*kmsg.ControlledShutdownResponse)
	return out.PartitionsRemaining, kerr.ErrorForCode(out.ErrorCode)
}

// anyOther reports whether another replica of any of the partitions is alive, so that it may yet come to lead.
func anyOther(image *metadata.Image, self metadata.BrokerID, remaining []kmsg.ControlledShutdownResponsePartitionsRemaining) bool {
	for _, r := range remaining {
		p, ok := image.Partition(metadata.TopicPartition{Topic: r.Topic, Partition: r.Partition})
		if !ok {
			return true // it is not known yet
		}
		for _, id := range p.Replicas {
			if id != self && image.IsAlive(id) {
				return true
			}
		}
	}
	return false
}
