// Package wire speaks Kafka's protocol one request at a time, with no client library's opinion in between: the version is the
// caller's, the connection is the caller's, and record batches are built byte by byte, right or wrong.
package wire
