// Package network serves Kafka's connections: listeners, frames, limits, order of responses.
//
// Each connection has two goroutines. The reader reads a frame, decodes it and calls the Handler on the same goroutine;
// the writer sends the responses in the order of the requests, whatever the order they become ready in. While a request
// is in work the connection is muted: nothing more is read from it, as Apache Kafka does, so that a peer that does not
// read its responses cannot make more of them. A handler may lift the mute for its request (Request.Unmute), which Produce does while it
// waits for replicas; the number of requests so in work on a connection is bounded.
package network
