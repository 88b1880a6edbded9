package zkstore

import "github.com/go-zookeeper/zk"

// Mode tells what kind of node to create.
type Mode int32

// The four kinds of nodes that Kafka uses.
const (
	Persistent           Mode = 0
	Ephemeral            Mode = zk.FlagEphemeral
	PersistentSequential Mode = zk.FlagSequence
	EphemeralSequential  Mode = zk.FlagEphemeral | zk.FlagSequence
)

// AnyVersion makes a write unconditional.
const AnyVersion int32 = -1

// Op is one operation of a Multi; made by CreateOp, SetOp, DeleteOp and CheckOp.
type Op struct {
	kind    opKind
	path    string
	data    []byte
	version int32
	mode    Mode
}

type opKind int

const (
	opCreate opKind = iota
	opSet
	opDelete
	opCheck
)

// CreateOp creates a node. Nil data is null data, not empty.
func CreateOp(path string, data []byte, mode Mode) Op {
	return Op{kind: opCreate, path: path, data: data, mode: mode}
}

// SetOp sets the data of a node that is at version.
func SetOp(path string, data []byte, version int32) Op {
	return Op{kind: opSet, path: path, data: data, version: version}
}

// DeleteOp deletes a node that is at version.
func DeleteOp(path string, version int32) Op { return Op{kind: opDelete, path: path, version: version} }

// CheckOp fails the transaction unless the node is at version.
func CheckOp(path string, version int32) Op { return Op{kind: opCheck, path: path, version: version} }

// OpResult is the result of one Op.
type OpResult struct {
	// Path is the path that a create made, with its sequence number.
	Path string
	// Stat is the state after a set.
	Stat Stat
	Err  error
}

// EventType is the kind of an Event.
type EventType int

const (
	// NodeCreated comes to watches of ExistsW on a node that was not there.
	NodeCreated EventType = iota + 1
	// NodeDeleted comes to all watches on the node.
	NodeDeleted
	// NodeDataChanged comes to watches of GetW and ExistsW.
	NodeDataChanged
	// NodeChildrenChanged comes to watches of ChildrenW.
	NodeChildrenChanged
	// Reconnected comes to all watches when the session has got a new connection: what changed meanwhile may have been
	// missed, read again.
	Reconnected
	// SessionOver comes to all watches when the session is over.
	SessionOver
)

// Event tells that something was changed; a watch gives one event and is gone.
type Event struct {
	Type EventType
	// Path is the node; empty for Reconnected and SessionOver.
	Path string
}

// GetResult is the result of reading one node of many.
type GetResult struct {
	Data []byte
	Stat Stat
	// Err is ErrNoNode when there is no node.
	Err error
}
