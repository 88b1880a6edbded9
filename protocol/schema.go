package protocol

// node is a field of a schema.
type node struct{}
