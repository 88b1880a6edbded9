package coordinator

import "context"

// call queues an operation and waits for its answer.
func (l *loop[S]) call(ctx context.Context, op Operation[S]) (any, error) {
	t, ch, err := l.register()
	if err != nil {
		return nil, err
	}
	ops := l.ops
	for {
		select {
		case ops <- queued[S]{t, op}:
			ops = nil // a nil channel is never ready: wait for the answer only
		case a := <-ch:
			return a.body, a.err
		case <-ctx.Done():
			l.forget(t)
			return nil, context.Cause(ctx)
		}
	}
}

// register opens a ticket.
func (l *loop[S]) register() (Ticket, <-chan answer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.err != nil {
		return NoTicket, nil, l.mu.err
	}
	l.mu.last++
	ch := make(chan answer, 1)
	l.mu.waiting[l.mu.last] = ch
	return l.mu.last, ch, nil
}

func (l *loop[S]) forget(t Ticket) {
	l.mu.Lock()
	delete(l.mu.waiting, t)
	l.mu.Unlock()
}

// reply answers a ticket, if somebody still waits for it.
func (l *loop[S]) reply(r Reply) {
	l.mu.Lock()
	ch := l.mu.waiting[r.To]
	delete(l.mu.waiting, r.To)
	l.mu.Unlock()
	if ch != nil {
		ch <- answer{body: r.Body}
	}
}

// stop ends the loop and answers everybody who waits with err. Only the first call has an effect.
func (l *loop[S]) stop(err error) {
	l.mu.Lock()
	if l.mu.err != nil {
		l.mu.Unlock()
		return
	}
	l.mu.err = err
	waiting := l.mu.waiting
	l.mu.waiting = nil
	l.mu.settled, l.mu.posted = nil, nil
	if l.mu.cancel != nil {
		l.mu.cancel()
	}
	l.mu.Unlock()
	for _, ch := range waiting {
		ch <- answer{err: err}
	}
}
