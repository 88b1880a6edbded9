package zktree

import "strconv"

// Code is an error code of ZooKeeper's protocol. Codes other than OK are errors.
type Code int32

// The codes that a server sends. ZooKeeper: KeeperException.Code.
const (
	OK                      Code = 0
	SystemError             Code = -1
	RuntimeInconsistency    Code = -2
	MarshallingError        Code = -5
	Unimplemented           Code = -6
	BadArguments            Code = -8
	NoNode                  Code = -101
	NoAuth                  Code = -102
	BadVersion              Code = -103
	NoChildrenForEphemerals Code = -108
	NodeExists              Code = -110
	NotEmpty                Code = -111
	SessionExpired          Code = -112
	InvalidACL              Code = -114
	AuthFailed              Code = -115
	SessionMoved            Code = -118
	NoWatcher               Code = -121
)

// Error implements error.
func (c Code) Error() string {
	switch c {
	case OK:
		return "ok"
	case SystemError:
		return "system error"
	case RuntimeInconsistency:
		return "runtime inconsistency"
	case MarshallingError:
		return "marshaling error"
	case Unimplemented:
		return "unimplemented"
	case BadArguments:
		return "bad arguments"
	case NoNode:
		return "no node"
	case NoAuth:
		return "not authorized"
	case BadVersion:
		return "bad version"
	case NoChildrenForEphemerals:
		return "no children for ephemerals"
	case NodeExists:
		return "node exists"
	case NotEmpty:
		return "directory not empty"
	case SessionExpired:
		return "session expired"
	case InvalidACL:
		return "invalid acl"
	case AuthFailed:
		return "auth failed"
	case SessionMoved:
		return "session moved"
	case NoWatcher:
		return "no such watcher"
	default:
		return "code " + strconv.Itoa(int(c))
	}
}
