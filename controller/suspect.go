package controller

import (
	"context"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
	"jackdaw/peer"
)

const (
	// probeInterval is how often the controller looks whether a suspected broker is back.
	probeInterval = 250 * time.Millisecond
	// probeTimeout bounds one look: a broker that does not answer in that time is not back.
	probeTimeout = 2 * time.Second
)

// brokerGone takes a sender's word that the process of a broker is gone.
//
// The interleavings that matter: the broker has registered anew meanwhile, which the state sees by the epoch; the term has ended,
// and o is not the office any more; another broker is elected controller right now, and the first write fails by its
// controller epoch. A broker that lives all the same is fenced by the leader epochs like any that a controller has lost sight of.
func (c *Controller) brokerGone(ctx context.Context, o *office, b metadata.Broker) {
	err := c.submit(ctx, "broker gone", func(ctx context.Context) {
		if c.office == o && c.suspect(o, b) {
			c.drain(ctx)
		}
	})
	if err != nil && ctx.Err() == nil {
		c.lg.Debug("suspicion not taken", "suspected", b.ID, "err", err)
	}
}

func (c *Controller) suspect(o *office, b metadata.Broker) bool {
	if !o.state.Suspect(b.ID, b.Epoch) {
		return false
	}
	c.metrics.suspected.Inc()
	c.lg.Warn("broker ended its connection and nobody listens at its address: treated as dead before its session expires",
		"suspected", b.ID, "brokerEpoch", b.Epoch)
	return true
}

// probe looks again and again whether a suspected broker answers.
type probe struct {
	epoch int64
	stop  context.CancelFunc
}

// tendProbes has one probe for each suspected broker.
func (c *Controller) tendProbes(o *office) {
	suspects := map[metadata.BrokerID]int64{}
	for _, b := range o.state.Suspects() {
		suspects[b.ID] = b.Epoch
		if o.probes[b.ID] == nil {
			o.probes[b.ID] = c.startProbe(o, b)
		}
	}
	for id, p := range o.probes {
		if epoch, ok := suspects[id]; !ok || epoch != p.epoch {
			p.stop()
			delete(o.probes, id)
		}
	}
}

func (c *Controller) startProbe(o *office, b metadata.Broker) *probe {
	ctx, cancel := context.WithCancel(c.senders.Context())
	c.senders.Go("controller-probe-"+strconv.Itoa(int(b.ID)), func(context.Context) error {
		defer cancel()
		for {
			if pause(ctx, probeInterval); ctx.Err() != nil {
				return nil
			}
			if !c.responds(ctx, b) {
				continue
			}
			return c.submit(ctx, "broker back", func(ctx context.Context) {
				if c.office == o && o.state.Clear(b.ID, b.Epoch) {
					c.lg.Info("suspected broker answers again", "suspected", b.ID, "brokerEpoch", b.Epoch)
					c.drain(ctx)
				}
			})
		}
	})
	return &probe{epoch: b.Epoch, stop: cancel}
}

// responds reports whether the broker accepts a connection and answers on it.
func (c *Controller) responds(ctx context.Context, b metadata.Broker) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	l := line{dial: func(ctx context.Context) (*peer.Conn, error) { return c.cfg.Dial(ctx, b) }}
	defer l.close()
	_, err := l.request(ctx, kmsg.NewPtrApiVersionsRequest())
	return err == nil
}
