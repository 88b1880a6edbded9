// Package bench generates load for a broker at little cost of its own: each request is encoded once and the same bytes
// are sent over and over, so that nearly all of the machine's work is the broker's. It speaks Kafka's protocol at
// versions that Apache Kafka 3.9 and Jackdaw both serve (Produce v7, Fetch v11, Metadata v7, CreateTopics v4,
// DeleteTopics v3) and sees nothing of the packages that it measures.
//
// A Load says what to do and Run does it. Every connection is one goroutine (two for Latency), which ends with the run.
// Package rig starts the brokers, package report lays out the figures.
package bench
