package zkserver

import (
	"crypto/rand"
	"fmt"
	"time"

	"jackdaw/zkstore/zktree"
)

// lengthError tells that a message is longer than is allowed.
type lengthError struct{ n, most int }

// Error implements error.
func (e *lengthError) Error() string {
	return fmt.Sprintf("message of %d bytes, at most %d are allowed", e.n, e.most)
}

// seenError tells that a client knows a later tree than there is, so that it must have talked to another.
type seenError struct{ seen, have int64 }

// Error implements error.
func (e *seenError) Error() string {
	return fmt.Sprintf("client has seen zxid 0x%x, the last here is 0x%x: is this another data directory?", e.seen, e.have)
}

// connectRequest is what a client sends first. ZooKeeper: ConnectRequest.
type connectRequest struct {
	lastZxid  int64
	timeoutMs int32
	session   zktree.SessionID
	password  []byte
	// hasReadOnly is false for clients older than 3.4 and for go-zookeeper, which then expect no such field back.
	hasReadOnly bool
}

func decodeConnect(b []byte) (connectRequest, error) {
	d := decoder{b: b}
	d.int32() // protocol version, always 0
	r := connectRequest{lastZxid: d.int64(), timeoutMs: d.int32(), session: zktree.SessionID(d.int64()), password: d.bytes()}
	if len(d.b) > 0 {
		d.bool()
		r.hasReadOnly = true
	}
	if d.bad || len(d.b) > 0 {
		return r, errMalformed
	}
	return r, nil
}

// connect gives a connection its session, a new one or that of an earlier connection. ok is false when the session is
// over, which the client is told before the connection ends.
func (s *Server) connect(c *conn, b []byte) (ok bool, err error) {
	req, err := decodeConnect(b)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.dead != nil {
		return false, s.mu.dead
	}
	if have := s.mu.tree.Zxid(); req.lastZxid > have {
		s.lg.Warn("client refused", "addr", c.addr, "err", &seenError{req.lastZxid, have})
		return false, &seenError{req.lastZxid, have}
	}
	if req.session == 0 {
		s.openSessionLocked(c, req)
		return true, nil
	}
	timeout, ok := s.mu.tree.Attach(req.session, req.password)
	if !ok {
		s.sendLocked(c, connectFrame(req, 0, 0, make([]byte, zktree.PasswordLen)))
		return false, nil
	}
	if old := s.mu.bySession[req.session]; old != nil {
		old.abort()
	}
	s.attachLocked(c, req, req.session, timeout, req.password)
	return true, nil
}

// openSessionLocked makes a new session.
func (s *Server) openSessionLocked(c *conn, req connectRequest) {
	asked := time.Duration(req.timeoutMs) * time.Millisecond
	timeout := min(max(asked, 2*s.opts.Tick), 20*s.opts.Tick)
	s.mu.lastID++
	tx := zktree.Txn{Kind: zktree.KindOpenSession, Session: s.mu.lastID, TimeoutMs: int32(timeout.Milliseconds())}
	_, _ = rand.Read(tx.Password[:]) // never fails
	s.applyLocked(&tx)
	s.attachLocked(c, req, tx.Session, timeout, tx.Password[:])
}

// attachLocked binds a session to a connection and answers the handshake.
func (s *Server) attachLocked(c *conn, req connectRequest, id zktree.SessionID, timeout time.Duration, password []byte) {
	c.session = id
	s.mu.bySession[id] = c
	s.mu.tree.Touch(id, s.opts.Now())
	s.sendLocked(c, connectFrame(req, id, timeout, password))
}

// connectFrame is the answer to the handshake; session 0 says that the session is over.
func connectFrame(req connectRequest, id zktree.SessionID, timeout time.Duration, password []byte) []byte {
	e := frame()
	e.int32(0)
	e.int32(int32(timeout.Milliseconds()))
	e.int64(int64(id))
	e.bytes(password)
	if req.hasReadOnly {
		e.bool(false)
	}
	return e.finish()
}

// eventFrame is the message of a watch event.
func eventFrame(n zktree.Notice) []byte {
	const syncConnected = 3
	e := frame()
	e.int32(xidNotify)
	e.int64(-1)
	e.int32(int32(zktree.OK))
	e.int32(int32(n.Type))
	e.int32(syncConnected)
	e.string(n.Path)
	return e.finish()
}

// request is one request of a session, and the answer that is being made.
type request struct {
	s   *Server
	c   *conn
	xid int32
	op  opcode
	in  decoder
	out *encoder
	// last ends the connection after the answer.
	last bool
}

// handle does one request. It reports whether the connection ends after the answer.
func (s *Server) handle(c *conn, b []byte) (last bool) {
	start := s.opts.Now()
	r := &request{s: s, c: c, in: decoder{b: b}, out: frame()}
	r.xid, r.op = r.in.int32(), opcode(r.in.int32())
	if r.in.bad {
		return true
	}
	s.stats.received.Add(1)
	r.out.b = append(r.out.b, make([]byte, 16)...) // the header, filled in at the end
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.dead != nil {
		return true
	}
	var code zktree.Code
	if s.mu.tree.Touch(c.session, start) && s.mu.bySession[c.session] == c {
		code = r.do()
	} else {
		code, r.last = zktree.SessionExpired, true
	}
	if r.op == opPing {
		r.xid = xidPing
	}
	s.sendLocked(c, r.answer(code))
	s.stats.latency(s.opts.Now().Sub(start))
	return r.last
}

// answer completes the frame. An error has no body, but that of a multi.
func (r *request) answer(code zktree.Code) []byte {
	const headEnd = 4 + 16
	if code != zktree.OK {
		r.out.b = r.out.b[:headEnd]
	}
	h := encoder{b: r.out.b[4:4]}
	h.int32(r.xid)
	h.int64(r.s.mu.tree.Zxid())
	h.int32(int32(code))
	return r.out.finish()
}
