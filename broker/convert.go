package broker

import (
	"unsafe"

	"jackdaw/metadata"
	"jackdaw/protocol"
)

// brokerIDs reads the ids of a wire array in place: BrokerID has the layout of int32. The result shares the array, which
// a decoded request owns and nobody changes.
func brokerIDs(ids []int32) []metadata.BrokerID {
	if ids == nil {
		return nil
	}
	return unsafe.Slice((*metadata.BrokerID)(unsafe.SliceData(ids)), len(ids))
}

// wireIDs is the way back of brokerIDs. It never returns nil: arrays of replicas are not nullable.
func wireIDs(ids []metadata.BrokerID) []int32 {
	if len(ids) == 0 {
		return []int32{}
	}
	return unsafe.Slice((*int32)(unsafe.SliceData(ids)), len(ids))
}

// securityProtocols are the wire ids of security protocols. Kafka: SecurityProtocol.
var securityProtocols = map[int16]string{0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}

// optional turns an absent string, held as "", into the null of the wire.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// value reads a nullable string, null as "".
func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// errorText is ErrorMessage for the answers in which Kafka has an empty text, and not null, when all is well.
func errorText(err error) *string {
	if err == nil {
		return new(string)
	}
	return protocol.ErrorMessage(err)
}
