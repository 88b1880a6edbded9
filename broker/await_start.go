package broker

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"jackdaw/broker/network"
)

// errNotStarted ends the connections of clients that waited for a start that failed.
var errNotStarted = errors.New("the broker stopped before it had started")

// awaitStart holds a client's request until the broker has started. Until then it has not been told which topics there are,
// and clients that hear UNKNOWN_TOPIC_OR_PARTITION a few times give up: franz-go fails records after five. It returns an
// error when the request is not to be answered any more.
//
// Differs from Kafka, which answers from an empty cache between its registration and the first UpdateMetadata
// (SocketServer.enableRequestProcessing).
func (b *Broker) awaitStart(r *network.Request) error {
	if b.hasStarted() || neededToStart(r.Body) {
		return nil
	}
	select {
	case <-b.started:
	case <-r.Context().Done():
		return r.Context().Err()
	}
	if !b.hasStarted() {
		return errNotStarted
	}
	return nil
}

func (b *Broker) hasStarted() bool {
	select {
	case <-b.ready:
		return true
	default:
		return false
	}
}

// neededToStart tells what brokers may ask of one that starts, and what every connection begins with.
func neededToStart(body kmsg.Request) bool {
	switch req := body.(type) {
	case *kmsg.ApiVersionsRequest, *kmsg.SASLHandshakeRequest, *kmsg.SASLAuthenticateRequest:
		return true
	case *kmsg.LeaderAndISRRequest, *kmsg.StopReplicaRequest, *kmsg.UpdateMetadataRequest, *kmsg.ControlledShutdownRequest,
		*kmsg.AlterPartitionRequest, *kmsg.AllocateProducerIDsRequest, *kmsg.OffsetForLeaderEpochRequest:
		return true
	case *kmsg.FetchRequest:
		return req.ReplicaID >= 0 || req.ReplicaState.ID >= 0
	case *kmsg.ListOffsetsRequest:
		return req.ReplicaID >= 0
	}
	return false
}
