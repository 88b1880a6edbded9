package broker

import "jackdaw/broker/network"

// Envelope (58), v0. Kafka: KafkaApis.handleEnvelope; KIP-590. Requests are forwarded with KRaft only; the connection is closed, as Kafka does.
// Pipelined: no.   Cost: none.
func (b *Broker) handleEnvelope(r *network.Request) { r.Close(nil) }
