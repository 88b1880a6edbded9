package shardtest

import (
	"time"

	"jackdaw/coordinator"
)

// Driver is a shard with its log. Set Shard and Now, then call Start. What is nil of the functions is not called.
type Driver[S coordinator.Shard] struct {
	Shard S
	Now   time.Time
	// Log is what was appended.
	Log []Entry
	// Hold keeps what is appended from being committed until Release.
	Hold bool

	// Refuse is asked before each append; its error is why the log refuses it.
	Refuse func() error
	// Wrote is told of each record.
	Wrote func(offset int64, w coordinator.Write, r coordinator.Record)
	// Replied is told of each reply.
	Replied func(r coordinator.Reply)
	// Asked is told of what goes outside.
	Asked func(request any)
	// Skipped is told of records that a load does not understand.
	Skipped func(offset int64, err error)
	// Around runs each tick that Advance comes to.
	Around func(tick func())

	inFlight []any
}

// Entry is a record or a marker in the log.
type Entry struct {
	Record coordinator.LogRecord
	Marker *coordinator.Marker
}

// Start ends the load of an empty log.
func (d *Driver[S]) Start() { d.Do(d.Shard.Loaded(d.Now)) }

// Do carries out effects and those that come of them.
func (d *Driver[S]) Do(e coordinator.Effects) {
	for todo := []coordinator.Effects{e}; len(todo) > 0; todo = todo[1:] {
		for _, w := range todo[0].Writes {
			todo = append(todo, d.append(w)...)
		}
		for _, r := range todo[0].Replies {
			if d.Replied != nil {
				d.Replied(r)
			}
		}
		for _, o := range todo[0].Outside {
			if d.Asked != nil {
				d.Asked(o)
			}
		}
	}
}

func (d *Driver[S]) append(w coordinator.Write) []coordinator.Effects {
	if d.Refuse != nil {
		if err := d.Refuse(); err != nil {
			return []coordinator.Effects{d.Shard.Rejected(d.Now, w.Tag, err)}
		}
	}
	first := int64(len(d.Log))
	for _, r := range w.Records {
		l := coordinator.LogRecord{
			Offset: int64(len(d.Log)), Timestamp: w.Timestamp, ProducerID: -1, ProducerEpoch: -1, Transactional: w.Transactional,
			Key: r.Key, Value: r.Value,
		}
		if w.Transactional {
			l.ProducerID, l.ProducerEpoch = w.Producer.ID, w.Producer.Epoch
		}
		if d.Wrote != nil {
			d.Wrote(l.Offset, w, r)
		}
		d.Log = append(d.Log, Entry{Record: l})
	}
	d.Shard.Appended(d.Now, w.Tag, first)
	d.inFlight = append(d.inFlight, w.Tag)
	if d.Hold {
		return nil
	}
	return d.commit()
}

func (d *Driver[S]) commit() (es []coordinator.Effects) {
	tags := d.inFlight
	d.inFlight = nil
	for _, tag := range tags {
		es = append(es, d.Shard.Committed(d.Now, tag))
	}
	return es
}

// Mark appends the end of a transaction to the log, where it gets its offset, and returns that. The shard is not told.
func (d *Driver[S]) Mark(m coordinator.Marker) int64 {
	m.Offset = int64(len(d.Log))
	d.Log = append(d.Log, Entry{Marker: &m})
	return m.Offset
}

// Late tells of all that is held that it takes too long.
func (d *Driver[S]) Late(err error) {
	for _, tag := range d.inFlight {
		d.Do(d.Shard.Late(d.Now, tag, err))
	}
}

// Release ends Hold and commits what was held.
func (d *Driver[S]) Release() {
	d.Hold = false
	d.Settle()
}

// Settle commits all that is appended.
func (d *Driver[S]) Settle() {
	for len(d.inFlight) > 0 {
		for _, e := range d.commit() {
			d.Do(e)
		}
	}
}

// Advance moves the clock, with a tick at each deadline on the way.
func (d *Driver[S]) Advance(by time.Duration) {
	end := d.Now.Add(by)
	for next := d.Shard.Deadline(); !next.IsZero() && !next.After(end); next = d.Shard.Deadline() {
		if next.After(d.Now) {
			d.Now = next
		}
		tick := func() { d.Do(d.Shard.Tick(d.Now)) }
		if d.Around != nil {
			d.Around(tick)
			continue
		}
		tick()
	}
	d.Now = end
}

// Reload gives the log to another shard, as after a fail-over. What was not committed is by then.
func (d *Driver[S]) Reload(fresh S) {
	d.Shard, d.inFlight = fresh, nil
	for i := range d.Log {
		e := &d.Log[i]
		if e.Marker != nil {
			d.Shard.LoadMarker(*e.Marker)
			continue
		}
		if err := d.Shard.Load(e.Record); err != nil && d.Skipped != nil {
			d.Skipped(e.Record.Offset, err)
		}
	}
	d.Start()
}
