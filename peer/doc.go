// Package peer holds the connections a broker opens to other brokers: Conn, one connection with one request in flight,
// and ControllerChannel, which finds the active controller and asks until somebody answers.
//
// A Conn reuses its buffers: what Request returned is valid until the next Request of the same Conn. A Conn is used by one
// goroutine at a time, except Close, which any goroutine may call to end a Request that waits. The package starts no
// goroutine of its own.
//
// Errors tell how a connection failed (IsReset, IsRefused, IsTimeout), because they mean different things to who looks for
// dead brokers: a reset followed by a refusal says that nobody listens there any more, a time-out says nothing.
package peer
