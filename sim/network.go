package sim

import (
	"errors"
	"time"

	"jackdaw/metadata"
)

// keeperID stands for ZooKeeper where links are named, clientID for all clients.
const (
	keeperID metadata.BrokerID = 0
	clientID metadata.BrokerID = -1
)

// Errors of a call. None of them tells whether the request was executed.
var (
	errTimeout = errors.New("no answer in time")
	errRefused = errors.New("connection refused")
	errReset   = errors.New("connection reset")
)

// link is a direction between two nodes.
type link struct{ from, to metadata.BrokerID }

// delay draws the time of a message. Most are fast; some take longer than their sender waits, so that a request is
// executed after its repetition on another connection.
func (w *world) delay() time.Duration {
	if w.calm {
		return w.between(50*time.Microsecond, 2*time.Millisecond)
	}
	switch n := w.rng.IntN(1000); {
	case n < 700:
		return w.between(50*time.Microsecond, time.Millisecond)
	case n < 920:
		return w.between(time.Millisecond, 20*time.Millisecond)
	case n < 990:
		return w.between(20*time.Millisecond, 250*time.Millisecond)
	default:
		return w.between(250*time.Millisecond, 2*time.Second)
	}
}

// between draws a duration of [from, to).
func (w *world) between(from, to time.Duration) time.Duration {
	return from + time.Duration(w.rng.Int64N(int64(to-from)))
}

// chance is true once in n times, never when the faults are over.
func (w *world) chance(n int) bool { return !w.calm && w.rng.IntN(n) == 0 }

// drops reports whether a message sent now is lost.
func (w *world) drops(from, to metadata.BrokerID) bool {
	return w.cut[link{from, to}] || w.chance(w.plan.lossOneIn)
}

// call is a request on a connection of its own: one answer, an error, or nothing for a caller that died. from is nil for
// a client. serve runs in the process that listens at the time of sending and calls answer once, now or later.
func (w *world) call(from *process, to metadata.BrokerID, timeout time.Duration, serve func(q *process, answer func(any)), done func(any, error)) {
	sender := clientID
	if from != nil {
		sender = from.id
	}
	var timer *event
	over := false
	finish := func(v any, err error) {
		if !over {
			over = true
			timer.cancel()
			done(v, err)
		}
	}
	timer = w.after(from, timeout, func() { finish(nil, errTimeout) })
	q := w.host(to).proc
	if q == nil {
		w.after(from, w.delay(), func() { finish(nil, errRefused) })
		return
	}
	if w.drops(sender, to) {
		return
	}
	answered := false
	answer := func(v any) {
		if answered || w.drops(to, sender) {
			answered = true
			return
		}
		answered = true
		w.after(from, w.delay(), func() { finish(v, nil) })
	}
	w.post(q, w.delay(), func() { serve(q, answer) }, func() { w.after(from, w.delay(), func() { finish(nil, errReset) }) })
}
