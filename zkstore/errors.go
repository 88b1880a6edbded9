package zkstore

import (
	"errors"
	"fmt"

	"jackdaw/metadata"
)

// Results of single operations. They come wrapped with the operation and the path.
var (
	ErrNoNode                  = errors.New("node does not exist")
	ErrNodeExists              = errors.New("node exists")
	ErrBadVersion              = errors.New("version conflict")
	ErrNotEmpty                = errors.New("node has children")
	ErrNoChildrenForEphemerals = errors.New("ephemeral nodes may not have children")
	ErrNoAuth                  = errors.New("not authorized by zookeeper")
	// ErrSessionExpired ends every operation of a session that is over.
	ErrSessionExpired = errors.New("zookeeper session expired")
	// ErrConnectionLoss is seen only by operations that can neither be repeated nor be resolved by reading back.
	ErrConnectionLoss = errors.New("connection to zookeeper lost")
	// ErrControllerMoved means that another controller was elected since; nothing was changed.
	ErrControllerMoved = errors.New("controller moved to another broker")
	// ErrTooLarge means that a request is longer than ZooKeeper takes (jute.maxbuffer).
	ErrTooLarge = errors.New("request is larger than jute.maxbuffer")
	// ErrRolledBack is the result of an operation of a multi that failed because of another one.
	ErrRolledBack = errors.New("another operation of the transaction failed")
)

// DuplicateBrokerError means that another live process has registered the same broker id.
type DuplicateBrokerError struct {
	ID metadata.BrokerID
	// Owner is the ZooKeeper session that holds the registration.
	Owner int64
}

// Error implements error.
func (e *DuplicateBrokerError) Error() string {
	return fmt.Sprintf("broker id %d is registered by another process (zookeeper session 0x%x): broker.id must be unique in the cluster", e.ID, e.Owner)
}
