package coordinator

import "time"

// pending is a write that is in the log and not known to be committed.
type pending struct {
	tag      any
	last     int64 // offset of its last record
	deadline time.Time
	told     bool // the shard has heard Late
	done     bool // the shard has heard Committed
}

// toTell reports whether the shard is to hear Late now, which it does once at most and never after Committed.
func (p *pending) toTell() bool {
	if p.told || p.done {
		return false
	}
	p.told = true
	return true
}

// settlement is what the log said of a write.
type settlement struct {
	p   *pending
	err error
}

// inFlight is the queue of writes by rising offset, which is also the order of their deadlines.
type inFlight struct {
	q    []*pending
	next int // index in q of the first that may not have been told to be late
}

func (f *inFlight) len() int { return len(f.q) }

func (f *inFlight) push(p *pending) { f.q = append(f.q, p) }

// committed takes the oldest write off the queue if it is not beyond offset last, else it returns nil.
func (f *inFlight) committed(last int64) *pending {
	if len(f.q) == 0 || f.q[0].last > last {
		return nil
	}
	p := f.q[0]
	p.done = true
	f.q[0] = nil
	f.q = f.q[1:]
	f.next = max(0, f.next-1)
	return p
}

// deadline is when the next write becomes late; zero when there is none.
func (f *inFlight) deadline() time.Time {
	for f.next < len(f.q) && f.q[f.next].told {
		f.next++
	}
	if f.next == len(f.q) {
		return time.Time{}
	}
	return f.q[f.next].deadline
}

// late returns a write whose deadline has passed and marks it as told, or nil.
func (f *inFlight) late(now time.Time) *pending {
	d := f.deadline()
	if d.IsZero() || d.After(now) {
		return nil
	}
	p := f.q[f.next]
	p.told = true
	return p
}
