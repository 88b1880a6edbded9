package zktree

import (
	"crypto/subtle"
	"time"
)

// session is one client's session.
type session struct {
	timeout  time.Duration
	password [PasswordLen]byte
	// deadline is when the session expires unless it is touched; zero until the first Touch after a start, which a
	// server makes for all sessions.
	deadline time.Time
}

// openSession adds a session.
func (t *Tree) openSession(tx *Txn) Outcome {
	if _, ok := t.sessions[tx.Session]; ok || tx.Session == 0 {
		return Outcome{Code: BadArguments}
	}
	t.undo, t.fired = t.undo[:0], t.fired[:0]
	t.sessions[tx.Session] = &session{
		timeout:  time.Duration(tx.TimeoutMs) * time.Millisecond,
		password: tx.Password,
	}
	return Outcome{Changed: true}
}

// Touch moves the deadline of a session to its timeout from now. It reports whether the session exists.
func (t *Tree) Touch(id SessionID, now time.Time) bool {
	s, ok := t.sessions[id]
	if ok {
		s.deadline = now.Add(s.timeout)
	}
	return ok
}

// TouchAll moves the deadlines of all sessions, when a server has started: no client could reach it before.
func (t *Tree) TouchAll(now time.Time) {
	for id := range t.sessions {
		t.Touch(id, now)
	}
}

// Expired returns the sessions whose deadline has passed. They live until a transaction closes them.
func (t *Tree) Expired(now time.Time) []SessionID {
	var out []SessionID
	for id, s := range t.sessions {
		if !s.deadline.After(now) {
			out = append(out, id)
		}
	}
	return out
}

// Attach reports the timeout of a session if it exists and the password is right.
func (t *Tree) Attach(id SessionID, password []byte) (timeout time.Duration, ok bool) {
	s, found := t.sessions[id]
	if !found || subtle.ConstantTimeCompare(s.password[:], password) != 1 {
		return 0, false
	}
	return s.timeout, true
}

// MaxSession is the largest id of a living session, 0 without any.
func (t *Tree) MaxSession() SessionID {
	var most SessionID
	for id := range t.sessions {
		most = max(most, id)
	}
	return most
}
