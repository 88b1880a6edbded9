// Package budget bounds the bytes that are in flight: a connection reserves the size of a request before it reads it, and
// gives it back when the request is done. Those that wait are served in the order they came, so that a large request
// is not starved by small ones.
package budget
