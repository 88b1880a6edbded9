// Package broker wires a Kafka broker together: it reads requests from broker/network, hands each to the lower package
// that knows the matter, and builds the response.
//
// One file per API, NN_name.go, where NN is the API key: the directory listing is the API table. A handler checks
// versions and shape, calls one lower package and builds the response; it decides nothing about replicas, groups or files.
//
// Handlers run on the goroutine of their connection. Those that wait (acks=all, long polls, joins) answer later, from
// the goroutine that completes the wait; network.Request takes exactly one answer.
//
// Lifecycle: New checks the configuration against the data directories, Run opens everything in order (log, ZooKeeper,
// listeners, controller) and blocks until its context ends, then stops in the reverse order with a controlled shutdown.
package broker
