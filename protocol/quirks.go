package protocol

// kmsg puts two fields of StopReplica v4 the wrong way round: Kafka sends controller id, isKRaftController, controller
// epoch (StopReplicaRequest.json; seen on the wire of 3.9.2), kmsg 1.15 reads and writes the epoch before the flag.
// Both fixed fields stand at the beginning of the body, behind the controller id, so they can be exchanged in place.
const (
	stopReplicaKey     = int16(5)
	stopReplicaSwapped = int16(4) // the first version with the flag
	stopReplicaFlag    = 4        // where Kafka has the flag, kmsg the epoch
)

// kmsgOrder turns the body of a request as Kafka sends it into what kmsg reads. It changes body.
func kmsgOrder(key, version int16, body []byte) {
	if key != stopReplicaKey || version < stopReplicaSwapped || len(body) < stopReplicaFlag+5 {
		return
	}
	p := body[stopReplicaFlag:]
	flag := p[0]
	copy(p[:4], p[1:5])
	p[4] = flag
}

// kafkaOrder is the way back of kmsgOrder, for requests to other brokers.
func kafkaOrder(key, version int16, body []byte) {
	if key != stopReplicaKey || version < stopReplicaSwapped || len(body) < stopReplicaFlag+5 {
		return
	}
	p := body[stopReplicaFlag:]
	flag := p[4]
	copy(p[1:5], p[:4])
	p[0] = flag
}
