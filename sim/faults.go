package sim

import (
	"time"

	"jackdaw/metadata"
	"jackdaw/zkstore/zktree"
	"jackdaw/zkstore/znode"
)

// fault does one harmful thing and plans the next.
func (w *world) fault() {
	if w.calm {
		return
	}
	w.after(nil, w.between(w.plan.faultEvery/4, 2*w.plan.faultEvery), w.fault)
	h := w.hosts[w.rng.IntN(len(w.hosts))]
	if w.plan.coups && w.rng.IntN(5) == 0 {
		w.note("somebody deletes the controller node")
		w.keeper.apply(w.keeper.root, deleteOp(znode.ControllerPath, zktree.AnyVersion))
	}
	switch n := w.rng.IntN(100); {
	case n < 30:
		w.cutLink()
	case n < 48:
		w.stopHost(h)
	case n < 60:
		w.pauseHost(h)
	case n < 66:
		w.expireSession(h)
	case n < 72:
		w.shutDown(h)
	case n < 77:
		w.flush(h)
	case n < 79:
		w.suspect(h)
	default:
		w.admin.disturb()
	}
}

// length draws how long a fault lasts: often about as long as something that waits for its end.
func (w *world) length() time.Duration {
	switch w.rng.IntN(4) {
	case 0:
		return w.between(5*time.Millisecond, 100*time.Millisecond)
	case 1:
		return w.between(w.plan.lagMax/2, 2*w.plan.lagMax)
	case 2:
		return w.between(w.plan.session/2, 2*w.plan.session)
	default:
		return w.between(50*time.Millisecond, time.Second)
	}
}

// cutLink breaks a link between two nodes, in one direction or in both, or all links of a node.
func (w *world) cutLink() {
	any := func() metadata.BrokerID { return metadata.BrokerID(w.rng.IntN(len(w.hosts) + 1)) } // ZooKeeper among them
	a := metadata.BrokerID(w.rng.IntN(len(w.hosts)) + 1)
	var cuts []link
	switch b := any(); w.rng.IntN(4) {
	case 0:
		cuts = []link{{a, b}}
	case 1:
		cuts = []link{{b, a}}
	case 2:
		cuts = []link{{a, b}, {b, a}}
	default:
		for id := range metadata.BrokerID(len(w.hosts) + 1) {
			if id != a && (id != keeperID || w.rng.IntN(2) == 0) {
				cuts = append(cuts, link{a, id}, link{id, a})
			}
		}
	}
	d := w.length()
	w.note("cuts %v for %v", cuts, d)
	for _, l := range cuts {
		w.cut[l] = true
	}
	w.after(nil, d, func() {
		for _, l := range cuts {
			delete(w.cut, l)
		}
	})
}

// stopHost kills a broker or cuts its power, and starts it again after a while.
func (w *world) stopHost(h *host) {
	if h.proc == nil {
		return
	}
	h.power = w.plan.power && w.rng.IntN(2) == 0
	if h.power {
		h.cutPower()
	} else {
		h.crash()
	}
	w.after(nil, w.length(), h.boot)
}

func (w *world) pauseHost(h *host) {
	if h.proc == nil || h.proc.paused {
		return
	}
	p := h.proc
	h.pause()
	w.after(nil, w.length(), func() { h.resume(p) })
}

// expireSession ends a session although its broker is well.
func (w *world) expireSession(h *host) {
	if h.proc == nil || h.proc.session == nil {
		return
	}
	w.note("session %d of %d is ended", h.proc.session.id, h.id)
	w.result.Expiries++
	w.keeper.shut(h.proc.session.id)
}

// shutDown begins a controlled shutdown: the controller is asked until it has moved everything away, or for some time.
func (w *world) shutDown(h *host) {
	if h.proc == nil || h.proc.stopping || h.proc.paused {
		return
	}
	p := h.proc
	p.stopping = true
	p.note("asks for a controlled shutdown")
	w.askShutdown(h, p, 3)
}

func (w *world) askShutdown(h *host, p *process, attempts int) {
	stop := func() {
		if h.proc == p {
			h.power = false
			h.stop()
			w.after(nil, w.length(), h.boot)
		}
	}
	again := func() {
		if attempts == 0 {
			stop()
			return
		}
		w.after(p, 100*time.Millisecond, func() { w.askShutdown(h, p, attempts-1) })
	}
	to := p.image.Controller
	if to == metadata.NoBroker {
		again()
		return
	}
	w.call(p, to, alterTimeout, func(q *process, answer func(any)) { q.ctl.stopBroker(p.id, p.brokerEpoch, answer) }, func(v any, err error) {
		if remaining, ok := v.(int); err == nil && ok && remaining == 0 {
			stop()
			return
		}
		again()
	})
}

// flush makes everything durable that a broker has.
func (w *world) flush(h *host) {
	if h.proc == nil || h.proc.paused {
		return
	}
	for _, t := range h.proc.sorted() {
		if t.log == nil {
			continue
		}
		if err := t.log.Flush(); err != nil {
			w.violate("broker %d: flush %s: %v", h.id, t.tp, err)
		}
	}
}

// suspect makes the controller take a broker for dead that may be well, as its fast fail-over would after refused
// connections. It is taken back when a connection succeeds.
func (w *world) suspect(h *host) {
	c := w.admin.controller()
	if c == nil {
		return
	}
	w.note("controller %d suspects %d", c.p.id, h.id)
	c.run(func(o *office) {
		for _, b := range o.state.Brokers() {
			if b.ID != h.id || !o.state.Suspect(b.ID, b.Epoch) {
				continue
			}
			w.after(c.p, w.length(), func() {
				if c.office == o {
					c.run(func(o *office) { o.state.Clear(b.ID, b.Epoch) })
				}
			})
		}
	})
}
