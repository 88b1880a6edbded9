package cluster

// Become makes the broker, which must not run, one of another kind: on the same port, with the same server.properties, on
// the same data.
func (b *Broker) Become(kind Kind) error {
	b.Kind = kind
	return b.command()
}
