package metadata

// RecoveryState tells whether the leader came from an unclean election and has not yet confirmed its state (KIP-704).
type RecoveryState int8

const (
	// Recovered is the normal state.
	Recovered RecoveryState = 0
	// Recovering is the state after an unclean election, until the leader's next AlterPartition.
	Recovering RecoveryState = 1
)

// LeaderAndISR is the state of a partition as the controller decided it: the content of the state znode and of
// LeaderAndIsr requests. Kafka: LeaderAndIsr, LeaderIsrAndControllerEpoch.
type LeaderAndISR struct {
	// ControllerEpoch is the epoch of the controller that wrote the state.
	ControllerEpoch int32
	// Leader is NoBroker while the partition is offline.
	Leader      BrokerID
	LeaderEpoch LeaderEpoch
	// ISR lists the in-sync replicas in the order of the znode. It is shared: never changed in place.
	ISR      []BrokerID
	Recovery RecoveryState
	// PartitionEpoch is the ZooKeeper version of the state znode; each write is conditional on it.
	PartitionEpoch int32
}

// Endpoint is an address of a broker for one listener.
type Endpoint struct {
	// Listener is the listener's name, upper case as in Kafka, for example PLAINTEXT or EXTERNAL.
	Listener string
	// Protocol is the security protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
	Protocol string
	Host     string
	Port     int32
}

// Broker is a live broker as it registered itself.
type Broker struct {
	ID BrokerID
	// Epoch is the czxid of the registration znode (KIP-380), -1 where it is not known.
	Epoch     int64
	Endpoints []Endpoint
	// Rack is empty when the broker has none.
	Rack string
}

// Endpoint returns the address of the named listener.
func (b Broker) Endpoint(listener string) (Endpoint, bool) {
	for _, e := range b.Endpoints {
		if e.Listener == listener {
			return e, true
		}
	}
	return Endpoint{}, false
}
