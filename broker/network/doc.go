// Package network serves Kafka's connections: listeners, frames, limits, the order of responses.
//
// A connection has a reader goroutine. It reads a frame, decodes it, calls the Handler, and sends the answer itself if
// that is there when the handler returns. While a request is in work the connection is muted: nothing more is read from
// it, as in Apache Kafka, so that a peer that does not read its answers cannot make more of them. A handler may lift the
// mute for its request (Request.Unmute), as Produce does while it waits for replicas; how many requests may so be in
// work is bounded. The first Unmute starts the connection's second goroutine, the writer, which sends what becomes
// ready while the reader is at the next request. Answers always go out in the order of the requests.
//
// Produce requests that have come as a whole when the one before them was read make a run, which is handled at once. The reader
// waits for nothing while it has one.
//
// Under TLS the reader makes the handshake before it reads the first frame; a peer that takes too long for it is closed.
//
// Memory. Nothing is believed that has not arrived: a frame's memory grows with its bytes, and what kmsg is going to
// allocate for a body is estimated before it does. Both are reserved from a budget.Budget, when there is one.
// Request.Body's record bytes alias the frame, whose owner is the connection; see Request for how long.
//
// Record bytes in answers stay in their files: see protocol.Part. They are sent by sendfile from explicit offsets; small
// ranges, and connections under TLS, are copied.
//
// Locks: Server.mu and Conn.mu are never held together, nor while anything is read, written or called back.
package network
