package zktree

// OpType is the kind of an operation.
type OpType uint8

// The operations of a transaction.
const (
	OpCreate OpType = iota + 1
	OpDelete
	OpSetData
	OpSetACL
	OpCheck
)

// Mode is the flag of a create.
type Mode int32

// The modes of ZooKeeper 3.4. Containers and TTL nodes are not supported.
const (
	Persistent           Mode = 0
	Ephemeral            Mode = 1
	PersistentSequential Mode = 2
	EphemeralSequential  Mode = 3
)

func (m Mode) valid() bool      { return m >= Persistent && m <= EphemeralSequential }
func (m Mode) ephemeral() bool  { return m&1 != 0 }
func (m Mode) sequential() bool { return m&2 != 0 }

// AnyVersion switches the version check of an operation off.
const AnyVersion int32 = -1

// Op is one operation. Fields that a type does not use are zero.
type Op struct {
	Type OpType
	Path string
	// Data is nil for null data, which is not the same as empty data.
	Data    []byte
	ACL     []ACL
	Mode    Mode
	Version int32
}

// Kind is the kind of a transaction.
type Kind uint8

// The kinds of transactions.
const (
	KindOps Kind = iota + 1
	KindOpenSession
	KindCloseSession
)

// PasswordLen is the length of a session's password.
const PasswordLen = 16

// Txn is one atomic change of the tree.
type Txn struct {
	// Zxid is given by Apply. In Replay it must be the one that Apply gave.
	Zxid int64
	// TimeMs becomes ctime and mtime of nodes, Unix milliseconds.
	TimeMs  int64
	Session SessionID
	Kind    Kind
	// Ops are all or none of KindOps.
	Ops []Op
	// TimeoutMs and Password belong to KindOpenSession.
	TimeoutMs int32
	Password  [PasswordLen]byte
}

// Result is the result of one Op.
type Result struct {
	Code Code
	// Path is the path made by a create.
	Path string
	// Stat is the state after a create, set or check.
	Stat Stat
}

// Outcome is what a transaction did.
type Outcome struct {
	// Changed tells that the tree was changed and the transaction has got a zxid. A transaction that changed nothing
	// need not be kept.
	Changed bool
	// Code is that of the first operation that failed, OK when none did.
	Code Code
	// Results has one for each Op. When one failed, those before it have code OK, those after it RuntimeInconsistency.
	Results []Result
	// Notices are the watch events for watchers, in order.
	Notices []Notice
}
