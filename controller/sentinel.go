package controller

import (
	"context"
	"errors"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/metadata"
	"jackdaw/peer"
	"jackdaw/zkstore"
	"jackdaw/zkstore/znode"
)

// sentinel watches the broker that is controller, over a connection of its own. When that broker's process is gone the seat is
// freed by deleting the controller znode, as administrators do, on the condition that no other term has begun. A controller
// that lives all the same hears of it from ZooKeeper and may stand for election again; what it still writes under its old
// epoch fails.
type sentinel struct {
	session *zkstore.Session
	broker  metadata.Broker
	// version is that of the controller epoch's znode, which no other term has.
	version int32
	// gone is set by the event loop when the process of the controller is gone.
	gone bool
	stop context.CancelFunc
}

// watchOver has the controller watched.
func (c *Controller) watchOver(ctx context.Context, s *zkstore.Session, id metadata.BrokerID) {
	if !c.cfg.FastFailover {
		return
	}
	w, err := findController(ctx, s, id)
	if err != nil {
		c.lg.Debug("the controller is not watched", "controller", id, "err", err)
		c.dismiss()
		return
	}
	if old := c.sentinel; old != nil && old.session == s && old.version == w.version && old.broker.Epoch == w.broker.Epoch {
		return
	}
	c.dismiss()
	c.sentinel = w
	c.startSentinel(w) //nolint:contextcheck // it outlives the event that it is started by
}

// errNoTerm says that what was read does not belong to one term of one controller.
var errNoTerm = errors.New("the controller is about to change")

// findController reads the registration of the controller and the version of its epoch. The version is read first: when the
// controller is then the same, it is that of its term or an older one, which fails every condition on it.
func findController(ctx context.Context, s *zkstore.Session, id metadata.BrokerID) (*sentinel, error) {
	_, version, err := s.ControllerEpoch(ctx)
	if err != nil {
		return nil, err
	}
	data, seat, err := s.Get(ctx, znode.ControllerPath)
	if err != nil {
		return nil, err
	}
	node, err := znode.DecodeController(data)
	if err != nil {
		return nil, err
	}
	data, st, err := s.Get(ctx, znode.BrokerPath(id))
	if err != nil {
		return nil, err
	}
	if node.Broker != id || st.EphemeralOwner != seat.EphemeralOwner {
		return nil, errNoTerm
	}
	info, err := znode.DecodeBroker(id, data)
	if err != nil {
		return nil, err
	}
	info.Epoch = st.CZxid
	return &sentinel{session: s, broker: info.Broker, version: version}, nil
}

func (c *Controller) startSentinel(w *sentinel) {
	ctx, cancel := context.WithCancel(c.senders.Context())
	w.stop = cancel
	c.senders.Go("controller-sentinel-"+strconv.Itoa(int(w.broker.ID)), func(context.Context) error {
		defer cancel()
		l := &line{dial: func(ctx context.Context) (*peer.Conn, error) { return c.cfg.Dial(ctx, w.broker) }}
		defer l.close()
		for ctx.Err() == nil {
			_, err := l.request(ctx, kmsg.NewPtrApiVersionsRequest())
			if err == nil {
				err = l.conn.Idle(ctx)
				if err != nil {
					l.lost(err)
				}
				continue
			}
			if l.dead() {
				return c.submit(ctx, "controller gone", func(ctx context.Context) { c.controllerGone(ctx, w) })
			}
			pause(ctx, c.cfg.RetryBackoff)
		}
		return nil
	})
}

// controllerGone frees the controller's seat. When this broker has won it meanwhile, what the sentinel saw makes the former
// controller a suspected broker.
func (c *Controller) controllerGone(ctx context.Context, w *sentinel) {
	if c.sentinel != w || c.session != w.session {
		return
	}
	w.gone = true
	if c.office != nil {
		c.inherit(c.office)
		c.drain(ctx)
		return
	}
	c.lg.Warn("the controller ended its connection and nobody listens at its address: its seat is freed before its session expires",
		"controller", w.broker.ID)
	_, err := w.session.Multi(ctx, zkstore.CheckOp(znode.ControllerEpochPath, w.version), zkstore.DeleteOp(znode.ControllerPath, zkstore.AnyVersion))
	if err != nil && !errors.Is(err, zkstore.ErrNoNode) && !errors.Is(err, zkstore.ErrBadVersion) {
		c.lg.Warn("the controller's seat was not freed", "controller", w.broker.ID, "err", err)
	}
	c.checkController(ctx)
}

// inherit makes the former controller a suspected broker of a new term when its process is known to be gone.
func (c *Controller) inherit(o *office) {
	if w := c.sentinel; w != nil && w.gone {
		c.suspect(o, w.broker)
		c.dismiss()
	}
}

// dismiss ends the watch over the controller.
func (c *Controller) dismiss() {
	if c.sentinel != nil {
		c.sentinel.stop()
		c.sentinel = nil
	}
}
