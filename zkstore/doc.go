// Package zkstore is Jackdaw's view of ZooKeeper: sessions, and typed reads, conditional writes and watches of the
// nodes that package znode describes.
//
// # Sessions
//
// A Client has at most one Session at a time. A session that is lost, because ZooKeeper says so or because nothing was
// heard for the session timeout, never comes back: its Done channel is closed, the hooks of OnSession are told in
// reverse order, and only when all have returned is the next session opened and are they told in order. So nothing that
// was begun under one session can write under another, as long as callers keep to the Session that they were given.
//
// # Connection loss
//
// A session outlives its connections. An operation that is cut off is tried again on the next connection; a write that
// may have been applied before the cut is resolved by reading back. An operation therefore ends in its result, in
// ErrSessionExpired or in the end of its context, and takes as long as that.
//
// # Controller writes
//
// ControllerWriter guards each write with the ZooKeeper version of /controller_epoch at its election, in one multi; a
// controller that was deposed meanwhile gets ErrControllerMoved and has changed nothing.
//
// Goroutines: one that owns the session, two of the ZooKeeper library for each connection, MaxInFlight for a pipelined
// call, all ended by Close. No lock is held while a hook or a callback runs.
package zkstore
