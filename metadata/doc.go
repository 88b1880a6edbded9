// Package metadata holds the vocabulary that all layers share: brokers, topics, partitions, epochs, endpoints, and
// Image, the immutable picture of the cluster that a broker answers Metadata requests from.
//
// Everything here is a value. An Image is never changed after it was made; Apply returns a new one that shares what
// did not change, so readers need no lock.
package metadata
