// Package service answers the requests of the coordinator APIs: it turns kmsg requests into operations on the shards of
// coordinator/group and coordinator/txn, waits, and builds the responses.
//
// Calls block until the answer is there or ctx ends, whichever is first; then the response has REQUEST_TIMED_OUT, and nobody
// is left to read it. Requests are not aliased after the call, nor by responses.
//
// Authority is the caller's. Where a request names topics, or many groups, it says which of them are denied.
package service
