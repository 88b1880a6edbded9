package network

import (
	"log/slog"
	"sync"
	"time"
)

// event is a kind of thing a peer can cause as often as it likes.
type event int

const (
	eventSize event = iota
	eventMalformed
	eventUnsupported
	eventClosed
	eventHandshake
	eventAuthentication
	eventPerIP
	eventAccept
	eventIdle
	eventKinds
)

func (e event) message() string {
	switch e {
	case eventSize:
		return "connection closed: frame size not allowed"
	case eventMalformed:
		return "connection closed: malformed request"
	case eventUnsupported:
		return "connection closed: API or version not served"
	case eventClosed:
		return "connection closed: request cannot be answered"
	case eventHandshake:
		return "connection closed: TLS handshake failed"
	case eventAuthentication:
		return "connection closed: authentication failed"
	case eventPerIP:
		return "connection rejected: too many from its address"
	case eventAccept:
		return "accept failed"
	default:
		return "connection closed: idle"
	}
}

// eventsPerSecond is how many lines of one kind are logged in a second. The next line tells how many were left out.
const eventsPerSecond = 10

// eventLog logs what peers cause, at a bounded rate.
type eventLog struct {
	lg *slog.Logger
	mu struct {
		sync.Mutex
		kinds [eventKinds]struct {
			second  int64
			lines   int
			skipped int
		}
	}
}

// log writes a line about a connection, or counts it as left out. c may be nil.
func (l *eventLog) log(e event, c *Conn, err error) {
	id := ""
	if c != nil {
		id = c.id
	}
	l.logAt(e, id, err, time.Now())
}

func (l *eventLog) logAt(e event, conn string, err error, now time.Time) {
	skipped, ok := l.admit(e, now)
	if !ok {
		return
	}
	write := l.lg.Info
	if e == eventIdle {
		write = l.lg.Debug
	}
	attrs := []any{"conn", conn, "err", err}
	if skipped > 0 {
		attrs = append([]any{"skipped", skipped}, attrs...)
	}
	write(e.message(), attrs...)
}

// admit tells whether a line may be written now, and how many were not since the last.
func (l *eventLog) admit(e event, now time.Time) (skipped int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := &l.mu.kinds[e]
	if s := now.Unix(); s != k.second {
		k.second, k.lines = s, 0
	}
	if k.lines >= eventsPerSecond {
		k.skipped++
		return 0, false
	}
	k.lines++
	skipped, k.skipped = k.skipped, 0
	return skipped, true
}
